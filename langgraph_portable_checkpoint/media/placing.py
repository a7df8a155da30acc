"""The media walk under a policy, in the form that storage calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage, BaseMessageChunk

from langgraph_portable_checkpoint.envelope.media_types import OCTET_STREAM
from langgraph_portable_checkpoint.media.encodings import encode
from langgraph_portable_checkpoint.media.holes import Hole, Missing, Path, Whole
from langgraph_portable_checkpoint.media.leaves import KnownLeaves
from langgraph_portable_checkpoint.media.policy import MediaPolicy, unavailable_text
from langgraph_portable_checkpoint.media.stand_ins import any_stand
from langgraph_portable_checkpoint.media.standing_places import holds_stand_in, stand_again, stand_ins
from langgraph_portable_checkpoint.media.strip import Taken, strip, take_out
from langgraph_portable_checkpoint.media.table import new_record
from langgraph_portable_checkpoint.media.walk import fill, replace_at


class PolicyWalk:
    """Takes media out of values as one policy says, and puts them back."""

    def __init__(self, policy: MediaPolicy) -> None:
        self.policy = policy
        self.known = KnownLeaves()

    def take_out(self, value: Any, home: bytes | None = None) -> Taken:
        """Take media and nested messages out of a value, and say what was stripped; the very same object if nothing."""
        return take_out(value, self.policy, known=self.known, home=home)

    def strip(self, value: Any, home: bytes | None = None) -> Taken:
        """Strip a value that is then stored in pieces; the very same object if nothing is to be stripped."""
        return strip(value, self.policy, known=self.known, home=home)

    def stand_ins(self, value: Any) -> dict[Path, str]:
        """Find the texts of a value that stand for media, outside of messages."""
        return stand_ins(value)

    def any_stand(self) -> bool:
        """Tell at once whether anything in this process may stand for a medium; mostly nothing does."""
        return any_stand()

    def holds_stand_in(self, value: Any) -> bool:
        """Tell whether something in a value or message stands for a medium, so that it is not what its texts say."""
        return holds_stand_in(value.__dict__ if isinstance(value, BaseMessage) else value)

    def stand_again(self, value: Any, known: Mapping[Path, str]) -> Any:
        """Put them where a value has equal texts at the same places; the very same object if nowhere."""
        return stand_again(value, known)

    def with_empty_texts(self, fields: dict[str, Any], holes: Sequence[Hole]) -> Any:
        """Put empty text in the place of media in a message's content, so that its blocks still say what they are."""
        texts = [hole for hole in holes if hole.kind == "media" and hole.encoding != "bytes"]
        return replace_at(fields, {hole.path: _empty for hole in texts if hole.path[0] == "content"})

    def fill(self, value: Any, holes: Sequence[Hole], resolve: Callable[[Hole], Any]) -> Any:
        """Put them back."""
        return fill(value, holes, resolve)

    def fill_message(
        self, message: BaseMessage, holes: Sequence[Hole], resolve: Callable[[Hole], Any]
    ) -> BaseMessage | None:
        """Put media back into a message that was decoded without them, sparing them a way through the serializer.

        Returns:
            A copy; None when a hole is where validation looks (a whole field, what is no entry of a block of the
            content, of a call what is not in its arguments, and of a chunk's, which are made of its text, all): then
            the fields have to be filled before the message is made.
        """
        made_of_text = _CALLS if isinstance(message, BaseMessageChunk) else ()
        if any(_is_validated(hole.path) or hole.path[0] in made_of_text for hole in holes):
            return None
        fields = fill(dict(message.__dict__), holes, resolve)
        return message.model_copy(update={name: fields[name] for name in {str(hole.path[0]) for hole in holes}})

    def from_wire(self, wire: Any, *, where: str) -> Hole:
        """Read a hole."""
        return Hole.from_wire(wire, where=where)

    def spell(self, hole: Hole, data: bytes) -> Whole:
        """Spell bytes as they stand in a hole's place, for many places at once."""
        return Whole(encode(data, hole.encoding, hole.prefix))

    def describe(
        self, data: bytes, mime_type: str | None, *, sha256: str, store: str, ref: str | None
    ) -> dict[str, Any]:
        """Make the media table's record of bytes whose digest is known."""
        return new_record(data, mime_type, digest=sha256, store=store, ref=ref).to_wire()

    def placeholder(self, hole: Hole, *, reference: bool = False, home: bytes | None = None) -> Missing:
        """Give what stands for media that is not there, or, as a `reference`, that was not asked for."""
        return Missing(_reference(hole) if reference else unavailable_text(hole.mime_type, hole.size_bytes), home)


def _empty(_: Any) -> str:
    return ""


def _is_validated(path: Path) -> bool:
    """Tell whether LangChain looks at, and may change, what stands at a place of a message."""
    if path[0] == "content":
        return len(path) < 3 or isinstance(path[2], int)
    if path[0] in _CALLS:
        return len(path) < 4 or path[2] != "args"
    return len(path) < 2


_CALLS: Final = ("tool_calls", "invalid_tool_calls", "tool_call_chunks")


def _reference(hole: Hole) -> str:
    name = hole.ref.hex() if isinstance(hole.ref, bytes) else str(hole.ref)
    return f"[{hole.mime_type or OCTET_STREAM}, {hole.size_bytes} B, kept as {name}]"
