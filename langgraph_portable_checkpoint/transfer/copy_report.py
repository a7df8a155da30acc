"""What a copy of threads says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from .steps import Place

Outcome = Literal["copied", "completed", "unchanged", "skipped"]
MAX_DIFFERENCES: Final = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """A checkpoint that does not compare equal after the copy, or a medium that cannot be read.

    Attributes:
        checkpoint_ns, checkpoint_id: The checkpoint; of a medium, the oldest that holds it. Empty where none does.
        detail: What is not as it should be, and for media why. Never holds contents.
    """

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    detail: str


@dataclass(slots=True)
class CopyReport:
    """What a copy did.

    Attributes:
        copied, completed, unchanged, skipped: Threads that are new in the target, that were there in part and are whole
            now, that were there already, and that were left alone: because the target has another thread of that id,
            because the copy that was to take its place did not compare equal, or because media of it cannot be read.
        checkpoints, writes: How many were stored. Writes of threads that are copied as they are stored are not counted.
        respelled: Threads whose channel versions were numbers and are texts now, since the target makes and needs such.
        stripped: Threads of which the target's media policy took media, told when `verify` is on; the threads' media
            reports say which.
        uploads_left_out: Recorded uploads to providers that the target, not being a saver of ours, has no place for.
        differences: Checkpoints that do not compare equal, with where, and media that cannot be read, with where and
            why; at most 1,000 are kept.
        renamed: Source thread id -> target thread id, where they differ.
    """

    copied: int = 0
    completed: int = 0
    unchanged: int = 0
    skipped: int = 0
    checkpoints: int = 0
    writes: int = 0
    respelled: int = 0
    stripped: int = 0
    uploads_left_out: int = 0
    differences: list[Difference] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """How many threads were looked at."""
        return self.copied + self.completed + self.unchanged + self.skipped

    @property
    def equal(self) -> bool:
        """Whether all that was compared is the same on both sides."""
        return not self.differences

    def count(self, outcome: Outcome) -> None:
        """Count one thread."""
        setattr(self, outcome, getattr(self, outcome) + 1)

    def note(self, thread_id: str, place: Place, detail: str) -> None:
        """Keep a difference."""
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(Difference(thread_id, place.checkpoint_ns, place.checkpoint_id, detail))
