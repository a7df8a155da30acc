"""Holes: the places of a value whose content is stored elsewhere, and what may be put there.

Owns the wire form of a hole and of its path. Knows nothing of how values are walked; `walk` describes the paths.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.encodings import ENCODINGS
from langgraph_portable_checkpoint.media.leaves import Leaf

Step = str | int | tuple[int]
Path = tuple[Step, ...]


class Whole(NamedTuple):
    """What stands in a hole's place, spelled already."""

    value: str | bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Hole:
    """One place of a value that is stored elsewhere.

    Attributes:
        kind: "media" or "message".
        path: Where the value holds None in its stead.
        encoding: Of media: "bytes", "base64", "base64url" or "data-url"; how `fill` puts the bytes back.
        prefix: Of a data URL, everything up to and including the comma.
        mime_type: As declared or recognised; None for bytes that nothing names.
        size_bytes: Size of the bytes.
        part: How many steps of `path` lead to the content part that a placeholder may replace whole, or None.
        data: The bytes, on the way in.
        leaf: What else is known of them, on the way in; remembers digests.
        message: The message, on the way in.
        ref: What `to_wire` was given: the digest or reference under which the content is stored.
    """

    kind: Literal["media", "message"]
    path: Path
    encoding: str = "bytes"
    prefix: str = ""
    mime_type: str | None = None
    size_bytes: int = 0
    part: int | None = None
    data: bytes | None = dataclasses.field(default=None, repr=False)
    message: BaseMessage | None = dataclasses.field(default=None, repr=False)
    ref: Any = None
    leaf: Leaf | None = dataclasses.field(default=None, repr=False, compare=False)

    def sha256(self) -> bytes:
        """Digest the bytes, on the way in; once per object where its leaf remembers."""
        assert self.data is not None
        if self.leaf is None:
            return sha256(self.data).digest()
        return self.leaf.digest(b"", lambda data, _key: sha256(data).digest())

    def to_wire(self, ref: bytes | str) -> list[Any]:
        """Return what is stored: msgpack types only, and none of the content.

        Returns:
            `[kind, path, ref]` for a message; `[kind, path, ref, encoding, prefix, mime_type, size_bytes, part]` for
            media. A step `(n,)` becomes a list of one integer.
        """
        path = [list(step) if isinstance(step, tuple) else step for step in self.path]
        if self.kind == "message":
            return [self.kind, path, ref]
        return [self.kind, path, ref, self.encoding, self.prefix, self.mime_type, self.size_bytes, self.part]

    @classmethod
    def from_wire(cls, wire: object, *, where: str = "a stored value") -> Hole:
        """Read a hole back, trusting nothing.

        Raises:
            CorruptRecordError: this is not what `to_wire` returns.
        """
        match wire:
            case ["message", list(path), bytes() | str() as ref]:
                return cls("message", _path_from_wire(path, where), ref=ref)
            case [
                "media", list(path), bytes() | str() as ref, str(encoding), str(prefix),
                None | str() as mime_type, int(size_bytes), None | int() as part,
            ] if encoding in ENCODINGS and size_bytes >= 0 and (part is None or 0 <= part < len(path)):  # fmt: skip
                steps = _path_from_wire(path, where)
                return cls("media", steps, encoding, prefix, mime_type, size_bytes, part, ref=ref)
        raise corrupt(where, "a hole is not of a known form")


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """The answer of a resolver that has no bytes: the part becomes a placeholder with this text.

    Attributes:
        text: What is read.
        home: The thread for which the placeholder goes on standing for the medium; None where it is a text and no more.
    """

    text: str
    home: bytes | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Unloaded:
    """The answer of a resolver that leaves bytes where they are: a reference takes the part's place.

    A part becomes a neutral block with `media` (the reference) and `mime_type`; what is no part becomes the reference
    itself. For reading only: a graph must never go on from such a value.
    """

    media: Mapping[str, Any]


def _path_from_wire(path: list[Any], where: str) -> Path:
    return tuple(_step_from_wire(step, where) for step in path)


def _step_from_wire(step: Any, where: str) -> Step:
    position = step[0] if isinstance(step, list) and len(step) == 1 else step
    if type(step) is str:
        return step
    if type(position) is int and position >= 0:
        return (position,) if isinstance(step, list) else position
    raise corrupt(where, "a step of a hole's path is neither a name nor a position")


def corrupt(where: str, reason: str) -> CorruptRecordError:
    return CorruptRecordError("hole", where=where, reason=reason)
