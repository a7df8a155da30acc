"""The contract of a dialect: names, options, the target table, findings, and the protocol itself.

Owns `Dialect`, `Target` (what a provider accepts, as data), `ExportOptions` and `Finding`. Knows no provider and no
LangChain. How an export runs:

1. `export.py` reads messages to envelopes and wraps each as `Placed` (envelope, index, turn).
2. `normalise.normalise(conversation, target, options=..., report=...)` makes it fit `dialect.target(options)`: pairing,
   order, ids, roles, media, reasoning, server tools. It is the only place that does so; a dialect states what it
   needs in its `Target` and does not repair histories itself. It never changes its input.
3. `dialect.render(conversation, options, report)` spells the result in the native shape, and reports only what the
   shape cannot say (a citation, a cache hint).

What a renderer may rely on after step 2: tool messages follow the assistant message whose calls they answer, directly
and completely; every tool_call has an id that fits `target.call_id`; media blocks are allowed for their role and hold
`base64` or `data` (bytes), `url` or `file_id` as the table says; reasoning and server-tool blocks that are left may be
replayed. A block that still has `raw` is unchanged: emit `raw` verbatim if its origin's `api` is yours (`native()`).
A block or envelope that the normaliser changed has lost `raw` and `raw_content`. `placed.part(at)` names the
message and the path under which the report knows a block: blocks may have been dropped or merged before.

How an import runs: `dialect.parse(payload, options, report)` returns envelopes with `origin` (provider, api, model
where known) on every message, `raw` on every block that came from a native block, and native message fields without a
neutral place under `extras[<dialect name>]`. An envelope that came out of the same native message as the envelope
before it has `extras["joined"] = True`. A payload that is not of this dialect raises MalformedHistoryError with all
problems, each with its JSON path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args, get_origin, get_type_hints, runtime_checkable

from ..envelope.model import Block, MessageEnvelope
from .beside import says_more
from .models import name_of_profile
from .report import LossKind, Placed, Report

ENTRY_POINT_GROUP: Final = "langgraph_portable_checkpoint.dialects"

MediaSource = Literal["base64", "url", "file_id"]


@dataclass(frozen=True, kw_only=True)
class IdRule:
    """Which ids or names a target takes, and how to make one that fits.

    A new id is `prefix` + the first characters of a base-62 digest of the old one, `digest_length` of them.
    """

    pattern: re.Pattern[str]
    max_length: int
    prefix: str = "call_"
    digest_length: int = 24

    def accepts(self, value: object) -> bool:
        """True if the target takes `value` as it is."""
        return isinstance(value, str) and len(value) <= self.max_length and self.pattern.fullmatch(value) is not None


@dataclass(frozen=True, kw_only=True)
class MediaRule:
    """Which media of one type a target takes in messages of one role.

    `mime_types` are patterns for `re.fullmatch`; empty means any. `schemes` are the URL schemes that may stay.
    """

    sources: frozenset[MediaSource] = frozenset({"base64", "url"})
    mime_types: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("https", "http")

    def takes_mime(self, mime_type: str | None) -> bool:
        """True if the mime type fits; an unknown one fits only where any does."""
        return not self.mime_types or _fits_any(self.mime_types, mime_type or "")


@lru_cache(maxsize=1024)
def _fits_any(patterns: tuple[str, ...], mime_type: str) -> bool:
    return any(re.fullmatch(pattern, mime_type) for pattern in patterns)


@dataclass(frozen=True, kw_only=True)
class ReasoningRule:
    """Where reasoning of the target's own origin may be replayed.

    Attributes:
        replay: "never", "same-model" (model family), "same-provider", or "any" (no opaque part; plain text field).
        needs: Keys of a reasoning block's `extras`, one of which must be there ("signature", "redacted_data").
        bound_to_prefix: Models that bind blocks to everything before them (A12c): after the first change nothing that
            follows is replayed. An unknown model counts as one of them.
        required_with_calls: The target refuses assistant calls without a reasoning field (H1): an empty one is made.
    """

    replay: Literal["never", "same-model", "same-provider", "any"] = "never"
    needs: tuple[str, ...] = ()
    bound_to_prefix: re.Pattern[str] | None = None
    required_with_calls: bool = False


@dataclass(frozen=True, kw_only=True)
class Target:
    """What one target accepts: the table that drives the shared normaliser. The defaults accept everything.

    Attributes:
        dialect: Name of the dialect, written into every loss.
        providers: Provider words whose opaque values this target may get back.
        api: Wire API word as in `Origin.api`; decides whether `raw` may be emitted.
        rules: Rule id per concern of the normaliser (its `CONCERNS`), for the report: {"dangling_call": "A6"}.
        system: "anywhere" (a role like others), "leading" (only before all others), "apart" (own parameter, leading).
        mid_system: What becomes of a system message later on: "keep", "user" (same text, user role), or "after-user"
            (kept where a user message stands before it, else user role).
        starts_with_user: The first message that is not system must be user; one is made otherwise.
        alternates: user and assistant must alternate; runs are merged. Tool messages count as user.
        ends_with_user: With `for_next_turn=False` the last message must be user or tool; one is made otherwise.
        call_id: Ids of tool calls; None means any string is good and none is fine too.
        unique_call_ids: "request" or "step" (Kimi counts anew in every turn).
        tool_name: Names of tools.
        message_name: `name` of messages; None keeps any.
        speakers: Messages may say who speaks. Else such names are left out and reported; those of tools follow from
            the calls.
        result_names: Results may name their tool. Else a name that is not the call's is left out and reported.
        tells_result_names: Its own histories have such names here and there: each that is left out is reported.
        results: "directly" behind the message with their calls, or anywhere "later".
        result_order: "any", or "call": results stand in the order of their calls.
        tool_status: There is a native error flag for tool results. Else the text is kept, the flag reported.
        invalid_arguments: Calls whose arguments are not a JSON object may stand as they are.
        text_arguments: Arguments are sent as JSON text, in which integers of any length may stand.
        plain_arguments: Arguments that no request can hold (NaN, lone surrogates) count as invalid; without it the
            renderer deals with them.
        tools: The target knows calls and results; else they become text.
        text_with_calls: Assistant text and calls may stand in one message.
        own_text_with_calls: They may where the message is the target's own.
        calls_last: Nothing may stand behind a message's calls.
        blank_text: Texts without a non-space character may stand.
        media: Rules by (role, type); a missing entry means not supported. None: everything is.
        tool_media: "keep" as `media` says, or "user": what tool messages may not hold, by `media` or the model's
            profile, is moved into a user message behind the results.
        reasoning: See `ReasoningRule`; None: everything stays (neutral dialects).
        server_tools: Items of the provider's own tools may be replayed to it: "pairs" (call and result blocks of one
            message, complete), "items" (each stands for itself), or "never". "any" for neutral dialects.
        typed_results: Results of server tools need their own type word, which ends so: one whose integration lost it
            is no half. None: they need none.
        item_ids: Ids of items are valid only together with the reasoning they came with (R1b).
        refusal: There is a native form for refusals; else they become text.
        non_standard: Blocks of unknown type may stand: "any", "same-api", or "never".
        native_parts: Types of such blocks that this API alone knows: they may stand where no origin is known, as in
            messages that an application wrote itself.
        known_parts: Types of parts that have a neutral form, or that other APIs have: one that could not be read, and
            stands as a part of unknown type, holds what the API refuses.
        own_parts: Native media, by role and type, that go back to the provider they came from, whatever `media` says.
        part_roles: Roles in whose messages blocks of such a type may stand, where these are not all.
        pairs: Calls and results must match. False only for neutral dialects that keep history as it is.
        keeps_empty: An empty history is a valid payload.
    """

    dialect: str
    providers: frozenset[str] = frozenset()
    api: str = ""
    model: str | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    system: Literal["anywhere", "leading", "apart"] = "anywhere"
    mid_system: Literal["keep", "user", "after-user"] = "keep"
    starts_with_user: bool = False
    alternates: bool = False
    ends_with_user: bool = False
    call_id: IdRule | None = None
    unique_call_ids: Literal["request", "step"] = "request"
    tool_name: IdRule | None = None
    message_name: IdRule | None = None
    speakers: bool = True
    result_names: bool = True
    tells_result_names: bool = False
    results: Literal["directly", "later"] = "directly"
    result_order: Literal["any", "call"] = "any"
    tool_status: bool = True
    invalid_arguments: bool = True
    text_arguments: bool = False
    plain_arguments: bool = False
    tools: bool = True
    text_with_calls: bool = True
    own_text_with_calls: bool = True
    calls_last: bool = False
    blank_text: bool = True
    media: Mapping[tuple[str, str], MediaRule] | None = None
    tool_media: Literal["keep", "user"] = "keep"
    reasoning: ReasoningRule | None = None
    server_tools: Literal["any", "pairs", "items", "never"] = "any"
    typed_results: str | None = None
    item_ids: bool = False
    refusal: bool = True
    non_standard: Literal["any", "same-api", "never"] = "any"
    native_parts: frozenset[str] = frozenset()
    known_parts: frozenset[str] = frozenset()
    own_parts: frozenset[tuple[str, str]] = frozenset()
    part_roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    pairs: bool = True
    keeps_empty: bool = False

    def rule(self, concern: str) -> str:
        """Return the rule id to report for a concern of the normaliser; the concern's own name if there is none."""
        return self.rules.get(concern, concern)


class UnreadMedium(NamedTuple):
    """A medium that a message holds elsewhere than in a part, and that was not read: a text stands there."""

    path: str
    """Where in the message, for example "tool_calls"."""
    detail: str
    """What it is: mime type and size."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How to export. Every field has a default that loses least and is accepted on the first request.

    Attributes:
        model: Target model: a name, or a langchain-core ModelProfile, as `ChatAnthropic(...).profile` is one. Either
            decides roles and reasoning; only a profile says which media the model reads and whether it calls tools.
        profile: Host or platform within a dialect: "groq" for openai-chat, "vertex" for google.
        incomplete: Calls without result: "drop" (a trailing one ends the export at the last complete turn, or if there
            is none, before its own message; other calls without result go), "trim" (the same, but a trailing one always
            costs its own message only),
            "synthesize" (an error result that says so), or "raise" IncompatibleHistoryError.
        orphans: Results without a call: "drop", or "text" (a user message that quotes them).
        pending: Ids of calls that wait for a human. Their turn is left out and reported; they are never answered.
        reasoning: "same-origin" replays where the target says so and drops the rest, "drop", or "text".
        prefix_intact: False if the caller knows that the system prompt, the tools or earlier messages are not those
            that the model saw; reasoning that the provider binds to its prefix is then dropped.
        missing_signature: Google: "skip" (documented dummy), "text", or "raise", for calls without a signature.
        on_unsupported_part: "placeholder" (text), "drop" or "raise" UnsupportedPartError; unknown parts are such too.
        server_tools: What becomes of other providers' server-tool items: "drop", or "text" (a summary).
        resolve_media: False reads no blob; such parts become placeholders.
        load_media: Returns the bytes of a MediaRef dict; given by the caller that knows the media store.
        unread_media: Media that messages hold elsewhere than in parts and that were not read, by the message's
            position; each is reported. Given by the caller that read the messages.
        store: Responses: False (stateless) replays only reasoning that carries its encrypted content; True also
            reasoning that the server knows by id.
        account: Account hint of the target, compared with `Origin.account` where both are known.
        for_next_turn: True if the caller appends the next user message; False if the payload is sent as it is.
        integration: True where the payload goes to a LangChain integration as messages, and not to the provider's SDK:
            what integrations leave out, or mistake, of that provider's own history is spelled so that they do not.
        strict: Raise LossyExportError instead of returning a lossy export.
        extra: Options of third-party dialects.
    """

    model: str | Mapping[str, Any] | None = None
    profile: str | None = None
    incomplete: Literal["drop", "trim", "synthesize", "raise"] = "drop"
    orphans: Literal["drop", "text"] = "drop"
    pending: frozenset[str] = frozenset()
    reasoning: Literal["same-origin", "drop", "text"] = "same-origin"
    prefix_intact: bool = True
    missing_signature: Literal["skip", "text", "raise"] = "skip"
    on_unsupported_part: Literal["placeholder", "drop", "raise"] = "placeholder"
    server_tools: Literal["drop", "text"] = "drop"
    resolve_media: bool = True
    load_media: Callable[[Mapping[str, Any]], bytes] | None = None
    unread_media: Mapping[int, tuple[UnreadMedium, ...]] = field(default_factory=dict)
    store: bool = False
    account: str | None = None
    for_next_turn: bool = True
    integration: bool = False
    strict: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a value that an option does not take.

        Raises:
            TypeError: An option is of another type; names the option.
            ValueError: An option has none of its values; names the option.
        """
        for name, (fits, wanted) in _OPTION_TYPES.items():
            if not fits(getattr(self, name)):
                raise TypeError(f"{name}={getattr(self, name)!r:.80} is not {wanted}")
        for name, words in _option_words().items():
            value = getattr(self, name)
            if value not in words:
                raise ValueError(f"{name}={value!r} is none of {', '.join(map(repr, words))}")

    @property
    def model_name(self) -> str | None:
        """Name of the target model, where one is known."""
        return name_of_profile(self.model) if isinstance(self.model, Mapping) else self.model


def _are_ids(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and isinstance(value, Collection)


_FLAG: Final = (lambda value: isinstance(value, bool), "True or False")
_TEXT: Final = (lambda value: value is None or isinstance(value, str), "a text or None")
_OPTION_TYPES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "model": (lambda value: value is None or isinstance(value, (str, Mapping)), "a model's name or its ModelProfile"),
    "pending": (_are_ids, "a set of call ids"),
    "load_media": (lambda value: value is None or callable(value), "a function"),
    **dict.fromkeys(("extra", "unread_media"), (lambda value: isinstance(value, Mapping), "a mapping")),
    **dict.fromkeys(("profile", "account"), _TEXT),
    **dict.fromkeys(("prefix_intact", "resolve_media", "store", "for_next_turn", "integration", "strict"), _FLAG),
}


@cache
def _option_words() -> Mapping[str, tuple[Any, ...]]:
    """Return the values of each option that takes one of several words."""
    hints = get_type_hints(ExportOptions)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """How to import.

    Attributes:
        profile: Host or platform, as for export; else guessed from the payload.
        model: Model to record as origin where the payload names none.
        account: Account hint to record as origin.
    """

    profile: str | None = None
    model: str | None = None
    account: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One breach of a rule in a native history: rule id, JSON path ("messages[3].content[0].id"), what is wrong."""

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.path}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A provider's rule: what it demands and where that is written."""

    id: str
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """One row of a dialect's field map: a neutral word and its native spelling."""

    neutral: str
    native: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class DeclaredLoss:
    """A loss that a dialect may report. A reported loss that no dialect declares is a defect."""

    rule: str
    kind: LossKind
    when: str


@runtime_checkable
class Dialect(Protocol):
    """One native form of histories, both directions where it has both.

    `writes` is False for import-only dialects, whose `render` raises. `FIELD_MAP`, `RULES` and `LOSSES` are the tables
    that docs/dialects.md is made of; `LOSSES` names only the renderer's and the parser's own losses, those of the
    normaliser follow from `target`.
    """

    name: str
    title: str
    providers: tuple[str, ...]
    profiles: tuple[str, ...]
    writes: bool
    FIELD_MAP: tuple[Field, ...]
    RULES: tuple[Rule, ...]
    LOSSES: tuple[DeclaredLoss, ...]

    def target(self, options: ExportOptions) -> Target:
        """Describe what the target accepts, for this profile and model."""

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Spell a normalised conversation as keyword arguments of the SDK's call."""

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a native history.

        Raises:
            MalformedHistoryError: It is none; carries every problem with its JSON path.
        """

    def recognises(self, payload: Any) -> float:
        """Say how sure it is that `payload` is of this dialect: 0.0 (no) to 1.0 (certain). Never raises."""

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check a native history, ours or anyone's, against the rules. Never raises on bad input."""


def native(block: Block, envelope: MessageEnvelope, *, api: str) -> Any | None:
    """Return the block's raw form if it is unchanged and was written for this API, else None."""
    raw = block.get("raw")
    if raw is None:
        return None
    origin = block.get("origin") or envelope.get("origin") or {}
    return raw if origin.get("api") == api else None


def is_foreign(envelope: MessageEnvelope, api: str) -> bool:
    """True if a message is known to be another API's, so that the native forms of its blocks count for nothing here."""
    origin = envelope.get("origin")
    return origin is not None and origin.get("api", api) != api


def plain_text(envelope: MessageEnvelope, *, foreign: bool = False) -> str | None:
    """Return the text of a message that is one text and nothing else: no citations, no hints, no native form but a
    foreign one.
    """
    content = envelope["content"]
    return _text_of(content[0], foreign=foreign) if len(content) == 1 else None


def text_and_calls(envelope: MessageEnvelope, *, foreign: bool = False) -> tuple[str | None, list[Block]] | None:
    """Return text and calls of a message that is at most one plain text, then calls; None for any other."""
    content = envelope["content"]
    text = None
    if content and content[0]["type"] == "text":
        text, content = _text_of(content[0], foreign=foreign), content[1:]
        if text is None:
            return None
    for block in content:
        if block["type"] != "tool_call" or says_more(block):
            return None
    return text, content


def _text_of(block: Block, *, foreign: bool) -> str | None:
    if block["type"] != "text":
        return None
    if len(block) != 2 and not (foreign and len(block) == 3 and "raw" in block and not says_more(block)):
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None


def without_raw(block: Block, **changes: Any) -> Block:
    """Copy a block with changes; the copy no longer claims to be the native block."""
    copy: dict[str, Any] = {**block, **changes}
    copy.pop("raw", None)
    return copy  # type: ignore[return-value]  # a TypedDict built key by key


def blocks_of(envelope: MessageEnvelope, *types: str) -> Iterable[Block]:
    """Yield the envelope's blocks of the given types, in order."""
    return (block for block in envelope["content"] if block["type"] in types)
