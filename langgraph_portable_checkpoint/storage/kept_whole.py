"""What is stored whole, by the serializer, with its media in it: without those that the policy strips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage

from .codec import Walk

_SENDS: Final = "pending_sends"
Tell = Callable[[Iterable[dict[str, Any]], Any], None]


class KeptWhole:
    """Strips what an encoder stores whole; what is too large for the policy is refused (`MediaTooLargeError`).

    Args:
        walk: The media room.
        home: The thread whose media may have texts that stand for them.
        tell: Takes the reports of what was stripped, and the id of the message that it was in.
    """

    def __init__(self, walk: Walk, home: bytes | None, tell: Tell) -> None:
        self.walk = walk
        self.home = home
        self.tell = tell

    def message(self, message: BaseMessage) -> BaseMessage:
        """Return a message, or a copy without what was stripped."""
        fields = message.model_dump()
        self.walk.take_out(fields, self.home)  # refuses what is too large
        taken = self.walk.strip(fields, self.home)
        self.tell([report.to_wire() for report in taken.reports], message.id)
        changed = {name: value for name, value in taken.value.items() if value is not fields[name]}
        return message.model_copy(update=changed) if changed else message

    def rest(self, checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        """Return what there is of a checkpoint beside its channel values.

        Before 1.0, LangGraph had the tasks that it sends to nodes in there.
        """
        rest = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        if rest.get(_SENDS):
            rest[_SENDS] = self._value(rest[_SENDS])
        return rest

    def _value(self, value: Any) -> Any:
        taken = self.walk.take_out(value, self.home)
        told = [report.to_wire() for report in taken.reports]
        self.tell([report for report in told if report["reason"] == "stripped"], None)
        return self.walk.fill(taken.value, taken.holes, self._put_back)

    def _put_back(self, hole: Any) -> Any:
        if hole.kind == "message":
            return self.message(hole.message)
        return self.walk.placeholder(hole, home=self.home) if hole.data is None else hole.data
