"""Checkpoint records and pending writes, as bytes and back.

A checkpoint record is `[16, refs, [parent, leaves, entries]]`. Its first ref is its shape item; the others are consumed
by the entries, in order. Everything of the checkpoint and its metadata but the channel values is one plain structure
`[checkpoint, metadata]`; its keys, and lists of text, make up the shape, which few records of a thread differ in; its
other leaves stand in the record, in the order of the walk. The shape item's body is `[structure, channels]`: nil stands
for a leaf, text for itself, and `channels` names the channels that have a value, in the order of the entries. When a
checkpoint or its metadata holds anything but plain values, the shape is `[nil, channels]` and the leaves are
`[serializer type, bytes]`.

A pending write is a frame: u32 length of what follows, u16 length of the key, the key (`task_id NUL idx`; where bodies
are sealed, the hex of the task id's keyed digest stands for it), and a record
`[17, refs, [task_id, idx, channel, task_path, entry]]`. Frames follow one another in the order of arrival.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import CorruptRecordError
from .codec import id_from_wire, id_to_wire, split_entries
from .items import CHECKPOINT, SHAPE, WRITE, Parsed, Secrets, digest_of, pack_record, parse_record
from .sequences import Entry

_MAX_INT: Final = 2**64 - 1
_MIN_INT: Final = -(2**63)
_MAX_PLAIN_DEPTH: Final = 32


class _NotPlain(Exception):
    pass


def split_structure(value: Any) -> tuple[Any, list[Any]] | None:
    """Split a plain structure into shape and leaves; None when it holds anything but plain values."""
    leaves: list[Any] = []
    try:
        return _shape_of(value, leaves, 0), leaves
    except _NotPlain:
        return None


def _shape_of(value: Any, leaves: list[Any], depth: int) -> Any:
    kind = type(value)
    if depth > _MAX_PLAIN_DEPTH:
        raise _NotPlain
    if kind is dict:
        if not all(type(key) is str and is_text(key) for key in value):
            raise _NotPlain
        return {key: _shape_of(child, leaves, depth + 1) for key, child in value.items()}
    if kind is list or kind is tuple:
        return [_element_shape(child, leaves, depth + 1) for child in value]
    _check_leaf(kind, value)
    leaves.append(value)
    return None


def _element_shape(value: Any, leaves: list[Any], depth: int) -> Any:
    if type(value) is str and is_text(value):
        return value
    return _shape_of(value, leaves, depth)


def _check_leaf(kind: type, value: Any) -> None:
    plain = (
        value is None
        or kind is bool
        or (kind is int and _MIN_INT <= value <= _MAX_INT)
        or (kind is float and math.isfinite(value))
        or (kind is str and is_text(value))
    )
    if not plain:
        raise _NotPlain


def is_text(value: str) -> bool:
    """Lone surrogates are not text; the serializer decides what becomes of them."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def join_structure(shape: Any, leaves: Iterator[Any]) -> Any:
    """Invert `split_structure`; always makes fresh containers."""
    if shape is None:
        return next(leaves)
    if isinstance(shape, dict):
        return {key: join_structure(child, leaves) for key, child in shape.items()}
    if isinstance(shape, list):
        return [join_structure(child, leaves) for child in shape]
    return shape


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """A checkpoint record, opened as far as its entries.

    Attributes:
        parent_id: The parent's checkpoint id in the same namespace, or None.
        checkpoint: The checkpoint without its channel values; do not hand out, copy.
        metadata: Its metadata; do not hand out, copy.
        values: Channel -> entry.
        shape: Ref of the shape item.
    """

    parent_id: str | None
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    values: Mapping[str, Entry]
    shape: bytes

    @property
    def versions(self) -> Mapping[str, Any]:
        """The channel versions."""
        return self.checkpoint.get("channel_versions", {})  # type: ignore[no-any-return]

    @property
    def refs(self) -> tuple[bytes, ...]:
        """All refs of the record, the shape's first."""
        return (self.shape, *(ref for entry in self.values.values() for ref in entry.refs))


def dump_checkpoint(
    *,
    parent_id: str | None,
    rest: Mapping[str, Any],
    metadata: Mapping[str, Any],
    values: Mapping[str, Entry],
    place: bytes,
    secrets: Secrets,
    dump: Callable[[Any], tuple[str, bytes]],
    add_item: Callable[[int, tuple[bytes, ...], Any], bytes],
) -> tuple[bytes, tuple[bytes, ...]]:
    """Encode a checkpoint record.

    Args:
        rest: The checkpoint without its channel values.
        values: Channel -> entry.
        dump: The serializer, for what is not plain.
        add_item: Stores an item, returns its digest; called once, for the shape.

    Returns:
        The record, and its refs.
    """
    split = split_structure([rest, metadata])
    structure, leaves = split or (None, list(dump((rest, metadata))))
    shape = add_item(SHAPE, (), [structure, list(values)])
    refs = (shape, *(ref for entry in values.values() for ref in entry.refs))
    body = [id_to_wire(parent_id), leaves, [entry.wire for entry in values.values()]]
    return pack_record(CHECKPOINT, refs, body, secrets=secrets, place=place), refs


def open_checkpoint(data: bytes, *, place: bytes, secrets: Secrets, where: str) -> Parsed:
    """Open a checkpoint record; its first ref is the shape that `load_checkpoint` needs."""
    parsed = parse_record(CHECKPOINT, data, secrets=secrets, place=place, what="checkpoint record", where=where)
    if not parsed.refs or not isinstance(parsed.body, list) or len(parsed.body) != 3:
        raise CorruptRecordError("checkpoint record", where=where, reason="its parts are not what they should be")
    return parsed


def load_checkpoint(parsed: Parsed, shape: Any, *, load: Callable[[str, bytes], Any], where: str) -> CheckpointRecord:
    """Put an opened record and its shape together."""
    parent, leaves, wires = parsed.body
    try:
        structure, channels = shape
        if structure is None:
            checkpoint, metadata = load(leaves[0], leaves[1])
        else:
            checkpoint, metadata = join_structure(structure, iter(leaves))
        entries = split_entries(wires, parsed.refs[1:], where=where)
        values = dict(zip(channels, entries, strict=True))
    except (ValueError, TypeError, IndexError, StopIteration, AttributeError, RuntimeError) as error:
        raise CorruptRecordError(
            "checkpoint record", where=where, reason=f"its parts do not fit together ({type(error).__name__})"
        ) from error
    return CheckpointRecord(id_from_wire(parent), checkpoint, metadata, values, parsed.refs[0])


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """One pending write, opened as far as its entry."""

    task_id: str
    idx: int
    channel: str
    task_path: str
    entry: Entry


def task_name(task_id: str, secrets: Secrets) -> bytes:
    """Spell a task in frame keys: its id, or a keyed digest of it where bodies are sealed."""
    return digest_of(task_id.encode(), secrets.key).hex().encode() if secrets.sealer.sealed else task_id.encode()


def write_key(task_id: str, idx: int, secrets: Secrets | None = None) -> bytes:
    """Name a pending write within its checkpoint."""
    task = task_id.encode() if secrets is None else task_name(task_id, secrets)
    return task + b"\0%d" % idx


def dump_write(write: WriteRecord, *, place: bytes, secrets: Secrets) -> bytes:
    """Encode a pending write as a frame. A sealed one is bound to its checkpoint and key."""
    key = write_key(write.task_id, write.idx, secrets)
    body = [id_to_wire(write.task_id), write.idx, write.channel, write.task_path, write.entry.wire]
    record = pack_record(WRITE, write.entry.refs, body, secrets=secrets, place=place + b"\0" + key)
    rest = len(key).to_bytes(2, "big") + key + record
    return len(rest).to_bytes(4, "big") + rest


def load_writes(data: bytes, *, place: bytes, secrets: Secrets, where: str) -> list[WriteRecord]:
    """Decode the frames of one checkpoint, in `writes_sort_key` order.

    Raises:
        CorruptRecordError: a frame is cut off or altered.
    """
    writes: list[WriteRecord] = []
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        frame = data[at + 4 : at + 4 + length]
        key_size = int.from_bytes(frame[:2], "big")
        if len(frame) != length or length < 2 + key_size:
            raise CorruptRecordError("pending writes", where=where, reason="a frame is cut off")
        key, record = frame[2 : 2 + key_size], frame[2 + key_size :]
        bound = place + b"\0" + key
        parsed = parse_record(WRITE, record, secrets=secrets, place=bound, what="pending write", where=where)
        writes.append(_write_of(parsed, where))
        at += 4 + length
    writes.sort(key=lambda write: (write.task_path, write.task_id, write.idx))
    return writes


def _write_of(parsed: Parsed, where: str) -> WriteRecord:
    try:
        task_id, idx, channel, task_path, wire = parsed.body
        if not (type(idx) is int and type(channel) is type(task_path) is str):
            raise TypeError("an index is a number, a channel and a path are texts")
        (entry,) = split_entries([wire], parsed.refs, where=where)
        return WriteRecord(str(id_from_wire(task_id)), idx, channel, task_path, entry)
    except (ValueError, TypeError) as error:
        raise CorruptRecordError(
            "pending write", where=where, reason="its parts are not what they should be"
        ) from error
