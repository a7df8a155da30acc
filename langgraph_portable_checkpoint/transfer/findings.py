"""What a look at a thread finds, and how it is noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..errors import PortableCheckpointError
from ..storage.layout import split_place

Severity = Literal["error", "note"]
Kind = Literal[
    "key",
    "digest key",
    "item",
    "missing item",
    "record",
    "index",
    "write",
    "blob",
    "media record",
    "turn log",
    "time to live",
    "registry",
    "run index",
    "orphan items",
]
"""What a finding is about."""

UNREADABLE: Final = (PortableCheckpointError, ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What opening damaged bytes raises."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        severity: "error", or "note" for what costs nothing but space or is made good on reading.
        where: The checkpoint, digest, key or turn.
        detail: What is wrong with it. Never holds contents.
    """

    thread_id: str
    kind: Kind
    where: str
    detail: str
    severity: Severity = "error"


class Findings:
    """The findings about one thread, in the order in which they were made.

    Attributes:
        found: All of them.
    """

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.found: list[Finding] = []

    def add(self, kind: Kind, where: str, detail: str, *, severity: Severity = "error") -> None:
        """Note a finding."""
        self.found.append(Finding(self.thread_id, kind, where, detail, severity))

    def attempt(self, kind: Kind, where: str, open_: Callable[[], Any]) -> Any:
        """Open something; a failure is a finding, and gives None."""
        try:
            return open_()
        except UNREADABLE as error:
            reason = getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
            self.add(kind, where, f"it cannot be read: {reason}"[:300])
            return None

    def has(self, *kinds: Kind) -> bool:
        """Tell whether there are findings of some kinds."""
        return any(finding.kind in kinds for finding in self.found)


def named(place: bytes) -> str:
    """Show a place as a finding says it."""
    try:
        ns, checkpoint_id = split_place(place)
    except UnicodeDecodeError:
        return f"checkpoint {place!r}"
    return f"checkpoint {checkpoint_id!r}" + (f" (namespace {ns!r})" if ns else "")
