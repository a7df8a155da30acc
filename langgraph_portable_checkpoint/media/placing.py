"""The media walk under a policy, in the form that storage calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langgraph_portable_checkpoint.media.holes import Hole, Missing
from langgraph_portable_checkpoint.media.leaves import KnownLeaves
from langgraph_portable_checkpoint.media.policy import MediaPolicy, unavailable_text
from langgraph_portable_checkpoint.media.strip import take_out
from langgraph_portable_checkpoint.media.walk import fill


class PolicyWalk:
    """Takes media out of values as one policy says, and puts them back."""

    def __init__(self, policy: MediaPolicy) -> None:
        self.policy = policy
        self.known = KnownLeaves()

    def punch(self, value: Any) -> tuple[Any, Sequence[Hole]]:
        """Take media and nested messages out of a value; the very same object and () when there are none."""
        taken = take_out(value, self.policy, self.known)
        return taken.value, taken.holes

    def fill(self, value: Any, holes: Sequence[Hole], resolve: Callable[[Hole], Any]) -> Any:
        """Put them back."""
        return fill(value, holes, resolve)

    def from_wire(self, wire: Any, *, where: str) -> Hole:
        """Read a hole."""
        return Hole.from_wire(wire, where=where)

    def placeholder(self, hole: Hole) -> Missing:
        """Give what stands for media that is not there."""
        return Missing(unavailable_text(hole.mime_type, hole.size_bytes))
