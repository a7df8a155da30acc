"""Hosts of Chat Completions and what each takes beyond, or short of, OpenAI: a table.

Source: rules C* and H*; docs of each host as named there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .base import IdRule, MediaRule

_ANY: Final = re.compile("[^\ud800-\udfff]+")
_DATA: Final = MediaRule(sources=frozenset({"base64"}))
_DATA_OR_URL: Final = MediaRule(sources=frozenset({"base64", "url"}))
IMAGES: Final = (r"image/(png|jpeg|jpg|webp|gif)",)
_IMAGE: Final = MediaRule(sources=frozenset({"base64", "url"}), mime_types=IMAGES)
_IMAGE_DATA: Final = MediaRule(sources=frozenset({"base64"}), mime_types=IMAGES)
_SOUND: Final = MediaRule(sources=frozenset({"base64"}), mime_types=(r"audio/(wav|x-wav|wave|mp3|mpeg)",))
_FILE: Final = MediaRule(sources=frozenset({"base64", "file_id"}))

_COMMON_KEYS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_CALL_ID: Final = IdRule(pattern=_ANY, max_length=64)
CHAT_NAME: Final = IdRule(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), max_length=64, prefix="tool_")
SPEAKER: Final = IdRule(pattern=re.compile(r"[^\s<|\\/>]{1,64}"), max_length=64, prefix="name_")

ReasoningField = Literal["", "reasoning_content", "reasoning", "reasoning_details"]


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host of Chat Completions.

    Attributes:
        providers: Provider words whose reasoning may go back to it.
        reasoning: Field of assistant messages that takes reasoning; "" if none does (unknown keys are refused).
        requires_reasoning: Assistant messages with calls need the field, empty if need be (H1).
        keys: Keys a message may have.
        media: What user messages take, by block type. Assistant audio by id is OpenAI's alone.
        call_id: Ids of calls.
        step_ids: Call ids start anew in every turn (Kimi).
        strict_arguments: Arguments must be a JSON object (C9).
        text_parts: Content may be a list of text parts.
        developer: The role "developer" is known (C13).
        refusal: The field "refusal" is known.
        tool_names: Tool messages may carry their tool's name.
        call_keys: Keys that a call may have beside its function; what such a host gave, it wants back.
        custom_calls: Calls with a text for input are known, as custom tools make them.
        part_keys: Hints that a part of content may have.
        tools: The host knows calls and results (H4).
        alternates: Behind the system messages, user and assistant messages alternate, a user's first and last (H3).
    """

    providers: tuple[str, ...]
    reasoning: ReasoningField = ""
    requires_reasoning: bool = False
    keys: frozenset[str] = _COMMON_KEYS | {"name"}
    media: Mapping[str, MediaRule]
    call_id: IdRule = _CALL_ID
    step_ids: bool = False
    strict_arguments: bool = True
    text_parts: bool = True
    developer: bool = False
    refusal: bool = False
    tool_names: bool = False
    call_keys: frozenset[str] = frozenset()
    custom_calls: bool = False
    part_keys: tuple[str, ...] = ()
    tools: bool = True
    alternates: bool = False


PART_KEYS: Final = ("prompt_cache_breakpoint",)
"""Hints that OpenAI takes with parts of content. Source: openai 3.57, chat_completion_content_part_text_param.py."""
_OPENAI_KEYS: Final = _COMMON_KEYS | {"name", "refusal", "audio", "function_call"}

HOSTS: Final[Mapping[str, Host]] = {
    "openai": Host(
        providers=("openai",),
        keys=_OPENAI_KEYS,
        media={"image": _IMAGE, "audio": _SOUND, "file": _FILE},
        call_id=IdRule(pattern=_ANY, max_length=40),
        strict_arguments=False,
        developer=True,
        refusal=True,
        custom_calls=True,
        part_keys=PART_KEYS,
    ),
    "fireworks": Host(
        providers=("fireworks",),
        reasoning="reasoning_content",
        keys=_COMMON_KEYS | {"reasoning_content"},
        media={"image": _IMAGE, "video": _DATA_OR_URL},
    ),
    "groq": Host(
        providers=("groq",),
        reasoning="reasoning",
        keys=_COMMON_KEYS | {"name", "reasoning"},
        media={"image": _IMAGE},
    ),
    "deepseek": Host(
        providers=("deepseek",),
        tool_names=True,
        reasoning="reasoning_content",
        requires_reasoning=True,
        keys=_COMMON_KEYS | {"name", "reasoning_content", "prefix"},
        media={},
        text_parts=False,
    ),
    "moonshot": Host(
        providers=("moonshot",),
        tool_names=True,
        reasoning="reasoning_content",
        requires_reasoning=True,
        keys=_COMMON_KEYS | {"name", "reasoning_content", "partial"},
        media={"image": _IMAGE_DATA, "video": _DATA},
        step_ids=True,
    ),
    "vllm": Host(
        providers=("vllm",),
        tool_names=True,
        reasoning="reasoning",
        keys=_COMMON_KEYS | {"name", "reasoning"},
        media={"image": _DATA_OR_URL, "audio": _SOUND, "video": _DATA_OR_URL},
        call_id=IdRule(pattern=_ANY, max_length=256),
    ),
    "openrouter": Host(
        providers=("openrouter",),
        tool_names=True,
        reasoning="reasoning_details",
        keys=_COMMON_KEYS | {"name", "refusal", "reasoning", "reasoning_details", "annotations"},
        media={"image": _IMAGE, "audio": _SOUND, "file": _DATA_OR_URL, "video": _DATA_OR_URL},
        call_id=IdRule(pattern=_ANY, max_length=256),
        developer=True,
        refusal=True,
    ),
    # ollama/ollama openai/openai.go: parts are texts and images in data URLs, arguments are parsed.
    "ollama": Host(
        providers=("ollama",),
        tool_names=True,
        reasoning="reasoning",
        keys=_COMMON_KEYS | {"name", "reasoning"},
        media={"image": MediaRule(sources=frozenset({"base64"}), mime_types=(r"image/(jpeg|jpg|png|webp)",))},
    ),
    # perplexityai/api-discussion #265; langchain-perplexity 1.4 bind_tools.
    "perplexity": Host(
        providers=("perplexity",),
        keys=frozenset({"role", "content"}),
        media={"image": _IMAGE},
        tools=False,
        alternates=True,
    ),
    # What the hosts have in common: for all others that speak Chat Completions.
    "compatible": Host(
        providers=("unknown",),
        keys=_COMMON_KEYS,
        # ai.google.dev/gemini-api/docs/thought-signatures: Gemini's endpoint signs calls there, and wants it back.
        call_keys=frozenset({"extra_content"}),
        media={"image": _IMAGE_DATA},
        call_id=IdRule(pattern=re.compile(r"[a-zA-Z0-9_-]+"), max_length=40),
    ),
}
"""By profile name. The provider word of what a host answers is the first of `providers`."""


def host_of(profile: str | None) -> Host:
    """Return the host of a profile; OpenAI itself where none is named.

    Raises:
        LookupError: There is no such profile.
    """
    return HOSTS[profile or "openai"]
