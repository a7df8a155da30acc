"""The turn envelope's vocabulary: what one turn's record holds, as typed dicts that msgpack and JSON can carry.

Owns the names of the fields and the bounds on their size. Knows no storage and no LangChain. `docs/format.md` and
`schemas/turn-envelope.schema.json` say the same in prose and as a schema. Unknown fields are kept by everything here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NotRequired, TypedDict

from langgraph_portable_checkpoint.envelope.facts import MessageFact

TURN_VERSION: Final = 1

PAGE_MESSAGES: Final = 64
"""Most messages that a record lists itself. Older ones of a longer turn move to pages, which never change again, so
what a superstep writes of a turn has a bound however long the turn gets."""

MAX_QUESTIONS: Final = 8
MAX_RUN_IDS: Final = 32
MAX_MODELS: Final = 32
MAX_PAST_ERRORS: Final = 4
MAX_INTERRUPTS: Final = 64
MAX_NAME: Final = 256
"""Most characters of a provider's, model's, response's or error type's name; what is longer is cut."""
MAX_TEXT: Final = 4096
"""Most characters of an error's message, and of an interrupt's value as JSON."""

Entry = list[Any]
"""One message of a turn: [ref, message id or None]. The ref is the item's 16-byte digest."""


class ModelUse(TypedDict):
    """What one model did in a turn. Provider and model are null where the messages do not tell."""

    provider: str | None
    model: str | None
    requests: int
    usage: dict[str, Any]


class MediaUse(TypedDict):
    """One media part of a turn's messages."""

    message: int
    """The message's number within the turn, from 0."""
    ref: str | None
    mime_type: str | None
    size_bytes: int | None


class TurnError(TypedDict):
    """Why a turn failed."""

    type: str
    message: str
    failed_at: str


class TurnPage(TypedDict):
    """Sixty-four consecutive messages of a long turn. Written once, never changed."""

    v: int
    turn: int
    page: int
    """From 0; holds the turn's messages [64 * page, 64 * (page + 1))."""
    messages: list[Entry]
    media: list[MediaUse]


class TurnRecord(TypedDict):
    """One turn of a thread. Times are ISO 8601 in UTC with microseconds, so they sort as text."""

    v: int
    thread_id: str
    turn: int
    """From 0."""
    status: str
    """open, complete, interrupted or failed."""
    phase: str
    """How far it got, whatever stopped it: asked, working (tools were asked for) or answered."""
    started_at: str
    updated_at: str
    """Never before `started_at`, and never earlier than it was, also when clocks go backwards."""
    count: int
    """How many messages the turn has, those on pages included."""
    messages: list[Entry]
    """The last messages of the turn, in order: messages [64 * pages, count)."""
    pages: NotRequired[int]
    """How many pages come before `messages`; absent means none."""
    question: list[int]
    """Numbers (within the turn) of the messages that the user typed; the last eight of them."""
    models: list[ModelUse]
    """In order of first use. What exceeds 32 models is added up under nulls."""
    usage: dict[str, Any]
    """Sum over all models: input_tokens, output_tokens, total_tokens and *_token_details."""
    cost: NotRequired[float]
    """Sum of what the messages say they cost, in their unit; absent when none says."""
    media: list[MediaUse]
    """Media of the messages listed here; that of earlier messages is on their pages."""
    media_total: NotRequired[dict[str, int]]
    """`count` and `size_bytes` over the whole turn; absent means no media."""
    run_ids: list[str]
    """The last 32 runs that wrote to the turn."""
    error: TurnError | None
    past_errors: NotRequired[list[TurnError]]
    """Errors that the turn got over (it was retried or went on); the last four."""
    interrupts: list[dict[str, Any]]
    """What the turn waits for, at most 64: `id`, and `value` if small and plain, else `omitted` with its type."""
    open_calls: NotRequired[list[str | None]]
    """Ids of the latest tool calls that nothing has answered yet; absent means none."""
    response_id: NotRequired[str]
    """The provider's id of the last response, so that a response in several messages is counted once."""
    channel: NotRequired[str]
    """The channel that holds the conversation; absent means `messages`."""
    checkpoint: dict[str, str]
    """`ns` and `id` of the last checkpoint that wrote this turn."""
    framework: dict[str, str]
    """`name` and `version`."""
    writer: dict[str, str]
    """`package` and `version`."""


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """One message as the turn log sees it: where it is stored, its id, and its fact."""

    ref: bytes
    id: str | None
    fact: MessageFact


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who writes a turn, when, and at which checkpoint."""

    thread_id: str
    at: datetime
    """Aware."""
    checkpoint_id: str
    framework: tuple[str, str]
    """Name and version."""
    writer: tuple[str, str]
    """Package and version."""
    checkpoint_ns: str = ""
    run_id: str | None = None
    channel: str = "messages"
