"""Messages of which media were not read, or cannot be: what stands for a part becomes a reference, the rest is told.

A read puts texts where media are that it does not have. An export must not tell them as what was said: a part of a
message becomes a neutral block with a reference, of which each target tells; what stands anywhere else (in arguments,
in what a provider's own tool gave) stays a text, and is named beside the message.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from ..dialects.base import UnreadMedium
from ..dialects.beside import MEDIA_PARTS
from ..dialects.native_parts import neutral_form
from ..dialects.responses_read import lift_items
from ..envelope.media_types import OCTET_STREAM
from ..envelope.model import Block, MessageEnvelope
from ..envelope.read import read_message
from ..media.holes import Hole, Path
from ..media.stand_ins import part_behind, stands_for
from ..media.walk import replace_at

Messages = list[BaseMessage | MessageEnvelope]
_UNREAD: Final = "unread"
"""Where an envelope keeps what else of it was not read, until the conversation is whole."""


def referring(messages: Sequence[BaseMessage | MessageEnvelope], names: Set[bytes] | None) -> Messages:
    """Turn what stands for media into references; messages with any become envelopes, for `take_unread`.

    Args:
        messages: As they were read.
        names: Media that cannot be had; None: whatever was not read.
    """
    if names is not None and not names:
        return [*messages]
    return [message if isinstance(message, dict) else _referring(message, names) for message in messages]


def take_unread(messages: Sequence[BaseMessage | MessageEnvelope]) -> Mapping[int, tuple[UnreadMedium, ...]]:
    """Take out of messages what else of each was not read, by position."""
    noted = {at: message for at, message in enumerate(messages) if isinstance(message, dict) and _UNREAD in message}
    return {at: cast(Any, message).pop(_UNREAD) for at, message in noted.items()}


def _referring(message: BaseMessage, names: Set[bytes] | None) -> BaseMessage | MessageEnvelope:
    if not any(names is None or hole.ref in names for _, hole in _holes_in(message.__dict__)):
        return message
    marking = _Marking()
    marked = message.model_copy(update=marking.marked(message.__dict__))
    envelope = lift_items(read_message(marked))
    content = [found for block in envelope["content"] if (found := marking.referred(block)) is not None]
    kept = {key: value for key, value in envelope.items() if key != "raw_content"}
    told = {hole.ref for hole in marking.told}
    rest = {hole.ref: _unread(path, hole) for path, hole in _holes_in(message.__dict__) if hole.ref not in told}
    return cast(MessageEnvelope, {**kept, "content": content, **({_UNREAD: tuple(rest.values())} if rest else {})})


def _holes_in(value: Any, path: str = "") -> Iterator[tuple[str, Hole]]:
    """List the media that texts and bytes of a message's fields stand for, each with its field or part."""
    standing = stands_for(value)
    if standing is not None:
        yield from ((path, hole) for hole in standing.holes)
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _holes_in(each, path or str(key))
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield from _holes_in(each, f"content[{at}]" if path == "content" else path)


def _unread(path: str, hole: Hole) -> UnreadMedium:
    return UnreadMedium(path, f"{hole.mime_type or OCTET_STREAM}, {hole.size_bytes} B")


@dataclass
class _Marking:
    """Puts marks in the place of the media of parts, which tell of each block that is read of them what it lacks."""

    marks: dict[str, Hole] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: os.urandom(_SECRET_BYTES))
    """What marks begin with: no text of a message can hold one that nobody has made yet."""
    told: list[Hole] = field(default_factory=list)
    """Media that blocks refer to."""

    def marked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that hold parts, or audio that a model spoke, with marks in the place of their media."""
        content, beside = fields["content"], fields["additional_kwargs"]
        changed: dict[str, Any] = {}
        if isinstance(content, list):
            changed["content"] = [self._part(part) for part in content]
        if "audio" in beside:
            changed["additional_kwargs"] = {**beside, "audio": self._audio(beside["audio"])}
        if fields.get("artifact") is not None:
            changed["artifact"] = _with_texts(fields["artifact"])
        return changed

    def _part(self, part: Any) -> Any:
        standing = part_behind(part) if isinstance(part, dict) else None
        if standing is None:
            return part
        marks: dict[Path, Callable[[Any], Any]] = {hole.path: self._mark(hole) for hole in standing.holes}
        return replace_at(standing.part, marks)

    def _audio(self, spoken: Any) -> Any:
        data = spoken.get("data") if isinstance(spoken, dict) else spoken
        standing = stands_for(data)
        if standing is None:
            return spoken
        mark = self._mark(standing.holes[0])(None)
        return {**spoken, "data": mark} if isinstance(spoken, dict) else mark

    def _mark(self, hole: Hole) -> Callable[[Any], Any]:
        data = self._secret + len(self.marks).to_bytes(_NUMBER_BYTES, "big")
        text = base64.b64encode(data).decode()
        self.marks[text] = hole
        mark: Any = {"bytes": data, "data-url": f"{hole.prefix}{text}"}.get(hole.encoding, text)
        return lambda _: mark

    def referred(self, block: Block) -> Block | None:
        """Return a block with a reference for its mark; None for an item of a provider's tool, which is lost."""
        hole = next((self.marks[mark] for mark in self._in(block) if mark in self.marks), None)
        if hole is None:
            return block
        (block, *more) = (neutral_form(block["value"]) if block["type"] == "non_standard" else ()) or (block,)
        kept = {key: value for key, value in block.items() if key not in ("base64", "data", "url", "raw")}
        if block["type"] not in MEDIA_PARTS or more:
            return None
        if "file_id" in kept:
            return cast(Block, kept)
        self.told.append(hole)
        media = {"ref": hole.ref, "mime_type": hole.mime_type, "size_bytes": hole.size_bytes}
        return cast(Block, {**kept, "mime_type": hole.mime_type, "media": media})

    def _in(self, value: Any) -> Iterator[str]:
        """Yield what looks like marks in a value, as base64 or as bytes."""
        if isinstance(value, str):
            begins = base64.b64encode(self._secret).decode()
            found = value.find(begins)
            if found >= 0:
                yield value[found : found + _MARK_CHARS]
        elif isinstance(value, bytes) and value.startswith(self._secret):
            yield base64.b64encode(value).decode()
        below = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for each in below:
            yield from self._in(each)


_SECRET_BYTES: Final = 15
_NUMBER_BYTES: Final = 3
_MARK_CHARS: Final = (_SECRET_BYTES + _NUMBER_BYTES) // 3 * 4
"""A mark in base64, which needs no padding and begins with the secret's own."""


def _with_texts(value: Any) -> Any:
    """Return a value with texts for bytes that only say what is missing, which would be taken for a file's."""
    if isinstance(value, bytes):
        return value.decode() if stands_for(value) is not None else value
    if type(value) is dict:
        return {key: _with_texts(each) for key, each in value.items()}
    return [_with_texts(each) for each in value] if type(value) is list else value
