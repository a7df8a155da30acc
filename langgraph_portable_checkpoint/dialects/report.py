"""What an export or an import changed: losses, the reports that collect them, and the two results.

Owns `Loss`, its closed set of kinds, `Report` (the collector that normaliser and dialects write into), `Export` and
`Imported`. Knows no dialect and no provider. Contract: whatever goes in and does not come out is a `Loss`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from ..envelope.model import MessageEnvelope, Origin

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

LossKind = Literal[
    "dropped", "re-keyed", "placeholder", "synthesized", "reordered", "merged", "moved", "downgraded", "unresolved"
]
LOSS_KINDS: Final[Mapping[LossKind, str]] = {
    "dropped": "Content of the history is not in the result.",
    "re-keyed": "An id or name was replaced by one that the target accepts; calls and results still match.",
    "placeholder": "A part was replaced by a text that says what stood there.",
    "synthesized": "The result holds something that the history does not: a tool result, a user message, a signature.",
    "reordered": "Content stands in another order than in the history.",
    "merged": "Several messages or blocks became one.",
    "moved": "Content went to another message or another parameter.",
    "downgraded": "Content is there, but says less: a role, a flag, a detail or a structure was lost.",
    "unresolved": "Something could not be settled here: media without bytes, a call that waits for a human.",
}


@dataclass(frozen=True, kw_only=True)
class Loss:
    """One difference between a history and what became of it.

    Attributes:
        rule: Rule id as in docs/dialects.md ("A6", "C7"), the reason for the change.
        kind: One of `LOSS_KINDS`.
        turn: 0-based turn in the source; None where it has none.
        message: 0-based position of the message in the source; None for the history as a whole.
        path: Where in that message, for example "content[2].id".
        action: What was done, in words.
        detail: Facts that help: the old and the new id, a mime type. Never message text.
        origin: Provider word of the message concerned, "" if unknown.
        target: Dialect that was written (export) or read (import).
    """

    rule: str
    kind: LossKind
    action: str
    turn: int | None = None
    message: int | None = None
    path: str = ""
    detail: str = ""
    origin: str = ""
    target: str = ""

    def __str__(self) -> str:
        where = "history" if self.message is None else f"message {self.message}"
        where += f" {self.path}" if self.path else ""
        return f"[{self.rule}] {self.kind} at {where}: {self.action}" + (f" ({self.detail})" if self.detail else "")


_new_loss: Final[Callable[[type[Loss]], Loss]] = object.__new__

Spot = tuple[int | None, int]
"""A source message's index, and the position of a block in its content."""


@dataclass(slots=True)
class Placed:
    """A message envelope with its place in the source history; what normaliser and renderers work on.

    `index` counts source messages from 0. A synthesized message carries the place of the message that caused it. Nobody
    changes one; it is not frozen, since there is one per message and a frozen one takes four times as long to make.
    """

    envelope: MessageEnvelope
    index: int | None = None
    turn: int | None = None
    spots: tuple[Spot, ...] | None = None
    """Where each block of the content stood; None: all stand as they stood in the source."""

    def having(self, envelope: MessageEnvelope) -> Placed:
        """Return another envelope in the same place."""
        return Placed(envelope, self.index, self.turn, self.spots)

    def all_spots(self) -> tuple[Spot, ...]:
        """Return where each block of the content stood in the source."""
        if self.spots is not None:
            return self.spots
        return tuple([(self.index, at) for at in range(len(self.envelope["content"]))])

    def part(self, at: int) -> tuple[Placed, str]:
        """Return the message and the path, as the report names them, of the block that is now at a position."""
        if self.spots is None:
            return self, f"content[{at}]"
        index, block = self.spots[at]
        message = self if index == self.index else Placed(self.envelope, index, self.turn)
        return message, f"content[{block}]"


class Report:
    """Collects the losses of one export or import."""

    def __init__(self, *, target: str = "") -> None:
        self.target = target
        self._losses: list[Loss] = []

    def add(
        self, rule: str, kind: LossKind, *, action: str, at: Placed | None = None, path: str = "", detail: str = ""
    ) -> None:
        """Record one loss; `at` gives turn, message and origin."""
        known = at.envelope.get("origin") if at is not None else None
        loss = _new_loss(Loss)
        # A frozen class sets its fields one by one; an export may have a loss for every message.
        object.__setattr__(
            loss,
            "__dict__",
            {
                "rule": rule,
                "kind": kind,
                "action": action,
                "turn": None if at is None else at.turn,
                "message": None if at is None else at.index,
                "path": path,
                "detail": detail,
                "origin": known.get("provider", "") if known else "",
                "target": self.target,
            },
        )
        self._losses.append(loss)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._losses)

    def __len__(self) -> int:
        return len(self._losses)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All losses, in the order in which they were found."""
        return tuple(self._losses)


@dataclass(frozen=True, kw_only=True)
class Export:
    """A history in a target's own form, and what it cost.

    Attributes:
        payload: Keyword arguments of the call that the target's own SDK takes, or for a JSONL dialect
            `{"lines": [...]}`.
        report: Every loss. Empty means lossless.
        target: Name of the dialect.
        pending: Ids (as in the history) of calls that wait for a human; they were not answered here.
    """

    payload: dict[str, Any]
    report: tuple[Loss, ...]
    target: str
    pending: tuple[str, ...] = ()

    @property
    def lossless(self) -> bool:
        """True if nothing was changed or left out."""
        return not self.report

    def lines(self) -> Iterator[str]:
        """Yield the payload as JSON Lines without newlines: one per entry of its list, in order."""
        for entry in self.payload.get("lines") or next(
            (value for value in self.payload.values() if isinstance(value, list)), []
        ):
            yield json.dumps(entry, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A provider's history, read.

    Attributes:
        envelopes: The history as message envelopes, with raw content in memory.
        report: What could not be taken over, and repairs made while reading.
        origin: Provider, model and API of the payload, as far as known.
        settings: Keys of the payload that were not read as its history (tools, temperature), verbatim.
        dialect: Name of the dialect that read the payload.
    """

    envelopes: Sequence[MessageEnvelope]
    report: tuple[Loss, ...]
    origin: Origin
    dialect: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def messages(self) -> list[BaseMessage]:
        """The history as LangChain messages."""
        from ..envelope.write import write_message

        return [write_message(envelope) for envelope in self.envelopes]
