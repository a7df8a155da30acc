"""The neutral vocabulary: message envelopes and content blocks, as JSON-able typed dicts.

Owns the words that every other room speaks. Knows nothing of LangChain, Redis or any provider. A block is a
plain dict with a `type` from `BLOCK_TYPES`; keys that are absent mean "not known". Values are JSON types, except
that media may hold `bytes` under `data` in memory (never in JSON). Anything a provider gave that has no neutral
place is kept verbatim under `extras` (a dict) or as a `non_standard` block (`value`); nothing is dropped here.

Two keys exist in memory only and are never part of the published format:

- block `raw`: the native block, verbatim, as the producing provider or integration gave it;
- envelope `raw_content`: the native `content` of the whole message where it is not simply the list of raws.

They let an unchanged history go back to its own provider byte for byte.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

ENVELOPE_VERSION: Final = 1

Role = Literal["system", "user", "assistant", "tool", "other"]
ROLES: Final = ("system", "user", "assistant", "tool", "other")

BLOCK_TYPES: Final = (
    "text",
    "reasoning",
    "refusal",
    "tool_call",
    "invalid_tool_call",
    "image",
    "audio",
    "video",
    "file",
    "text-plain",
    "server_tool_call",
    "server_tool_result",
    "non_standard",
)
MEDIA_TYPES: Final = ("image", "audio", "video", "file")


class Origin(TypedDict, total=False):
    """Who produced a message or an opaque value; decides where it may be replayed."""

    provider: str
    """Our provider word: "openai", "anthropic", "google", "google-vertex", "bedrock", "mistral", "groq",
    "fireworks", "deepseek", "moonshot", "vllm", "openrouter", "xai", or the integration's own word."""
    model: str
    """The model that really answered, as the provider spells it."""
    api: str
    """The wire API: "chat", "responses", "messages", "generate-content", "converse"."""
    response_id: str
    account: str
    """An account or key hint, where known; some opaque values are bound to it."""


class Block(TypedDict):
    """One content block. The keys in use depend on `type`; see the table in docs/format.md.

    - text: `text`, `annotations` (list of Citation dicts, LangChain v1 shape)
    - reasoning: `reasoning` (str, may be ""), `extras` may hold `signature`, `encrypted_content`, `redacted_data`,
      `summary` (list of str), `id` stays in `id`
    - refusal: `refusal`
    - tool_call: `id` (str or absent), `name`, `args` (dict). `arguments` is added when the provider sent a JSON string
      whose exact spelling matters
    - invalid_tool_call: `id`, `name`, `args` (str or absent), `error`
    - image, audio, video, file: `mime_type`, and one of `base64`, `data`, `url`, `file_id`, `media` (a MediaRef dict);
      `filename`, `detail`
    - text-plain: `text`, `mime_type`, `title`, `context`, or the media sources above
    - server_tool_call: `id`, `name`, `args`
    - server_tool_result: `tool_call_id`, `status`, `output`
    - non_standard: `value`
    """

    type: str
    id: NotRequired[str | None]
    text: NotRequired[str]
    annotations: NotRequired[list[dict[str, Any]]]
    reasoning: NotRequired[str]
    refusal: NotRequired[str]
    name: NotRequired[str | None]
    args: NotRequired[Any]
    arguments: NotRequired[str]
    error: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]
    status: NotRequired[str]
    output: NotRequired[Any]
    mime_type: NotRequired[str]
    base64: NotRequired[str]
    data: NotRequired[bytes]
    url: NotRequired[str]
    file_id: NotRequired[str]
    media: NotRequired[dict[str, Any]]
    filename: NotRequired[str]
    detail: NotRequired[str]
    title: NotRequired[str]
    context: NotRequired[str]
    value: NotRequired[Any]
    origin: NotRequired[Origin]
    """Only where it differs from the message's own origin."""
    cache_hint: NotRequired[Any]
    """The provider's cache marker (Anthropic cache_control, Bedrock cachePoint, ...), verbatim."""
    extras: NotRequired[dict[str, Any]]
    raw: NotRequired[Any]
    """In memory only; see the module docstring."""


class MessageEnvelope(TypedDict):
    """One message, vendor-neutral. Absent optional keys mean "not known"."""

    v: int
    role: Role
    content: list[Block]
    id: NotRequired[str | None]
    name: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]
    """role "tool" only: the call that this message answers."""
    status: NotRequired[str | None]
    """role "tool" only: "success" or "error"."""
    origin: NotRequired[Origin]
    usage: NotRequired[dict[str, Any]]
    """LangChain's UsageMetadata shape: input_tokens, output_tokens, total_tokens, *_token_details."""
    stop_reason: NotRequired[str | None]
    artifact: NotRequired[Any]
    """role "tool" only: what the tool returned beside its content, when JSON-able."""
    typed_by_user: NotRequired[bool]
    """False on user messages that a framework wrote (LangChain `lc_source`, Claude Code isMeta, summaries)."""
    role_detail: NotRequired[str]
    """The native role where it says more than `role` ("developer", "function", a chat role, a LangChain class)."""
    created_at: NotRequired[str]
    """ISO 8601, UTC, where the source carried a time."""
    state: NotRequired[Any]
    """What the framework's exact message needs beyond the neutral part; see envelope/exact.py."""
    raw_content: NotRequired[Any]
    """In memory only; see the module docstring."""
    extras: NotRequired[dict[str, Any]]
    """Message-level fields of the source that have no neutral place, verbatim."""
