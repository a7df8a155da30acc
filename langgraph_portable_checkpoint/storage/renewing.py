"""Elements of a stored list exchanged as they are stored.

Their media are not put in first and taken out again: the holes stay as they are, so that nothing is lost of a medium
that cannot be had just then, and no media policy has a say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..envelope.exact import fields_to_envelope
from .codec import BLOB_WIRE, DICT, LIST
from .decoder import Decoder
from .encoder import Encoder
from .items import BLOB, MESSAGE
from .named_media import with_names, without_names
from .opened import id_of
from .sequences import Entry, Sequenced


class Renewal(Protocol):
    """What exchanges parts of elements. It leaves what it is given as it is, and has media absent."""

    def value(self, value: Any) -> Any:
        """Renew an element, which may be a message; the very same object where nothing changes."""

    def fields(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Renew the fields of a message; the very same object where nothing changes."""


class _Bare(NamedTuple):
    """A value without its media and messages, and the wire forms of their holes."""

    value: Any
    holes: list[Any]


class Renewing(Encoder):
    """Encodes again what a decoder opens, with some elements renewed."""

    def renewed(
        self, name: str, entry: Entry, decoder: Decoder, *, positions: Collection[int], renewal: Renewal
    ) -> tuple[Entry, Sequenced | None]:
        """Renew elements of a channel that holds a list.

        Returns:
            As `channel`.
        """
        if isinstance(entry.wire, list) and len(entry.wire) == 3 and entry.wire[1] == LIST:
            made = decoder.sequenced(entry)
            entries = [
                self._element(name, each, decoder, renewal) if position in positions else each
                for position, each in enumerate(made.entries)
            ]
            return self._sequence(entries, made, LIST)
        bare = _bare(entry, decoder)
        value = [renewal.value(each) if position in positions else each for position, each in enumerate(bare.value)]
        holes = [
            self._hole(name, hole, decoder, renewal) if hole[0][1][0] in positions else hole for hole in bare.holes
        ]
        return self._bared(name, value, holes)

    def _element(self, name: str, entry: Entry, decoder: Decoder, renewal: Renewal) -> Entry:
        if not isinstance(entry.wire, (list, int)):
            return self._renewed_message(name, entry, decoder, renewal)
        bare = _bare(entry, decoder)
        value, holes = renewal.value(bare.value), self._nested(name, bare.holes, decoder, renewal)
        return entry if value is bare.value and holes == bare.holes else self._bared(name, value, holes)[0]

    def _nested(self, name: str, holes: Sequence[Any], decoder: Decoder, renewal: Renewal) -> list[Any]:
        return [self._hole(name, hole, decoder, renewal) for hole in holes]

    def _hole(self, name: str, hole: Any, decoder: Decoder, renewal: Renewal) -> Any:
        """Renew the message that stood in a hole's place, if it was one."""
        (kind, path, ref, *_), wire = hole
        if kind != "message":
            return hole
        made = self._element(name, Entry(wire, (ref,)), decoder, renewal)
        return [[kind, path, made.refs[0]], made.wire]

    def _renewed_message(self, name: str, entry: Entry, decoder: Decoder, renewal: Renewal) -> Entry:
        opened = decoder.open(entry.refs[0])
        envelope, wires = opened.body if isinstance(opened.body, list) else (opened.body, [])
        plain = without_names(envelope, wires)
        module, kind, fields = self.codec.message_fields(plain, id_of(opened, entry.wire))
        renewed, nested = renewal.fields(fields), self._nested(name, wires, decoder, renewal)
        if renewed is fields and nested == wires:
            return entry
        wires = [wire for wire in nested if _leads(renewed, wire[0][1])]
        made = fields_to_envelope(module, kind, renewed)
        refs = tuple(wire[0][2] for wire in wires)
        body = [with_names(made, wires), wires] if wires else made
        return Entry(entry.wire, (self.add_item(MESSAGE, refs, body),))

    def _bared(self, name: str, value: Any, wires: Sequence[Any]) -> tuple[Entry, Sequenced | None]:
        wires = [wire for wire in wires if _leads(value, wire[0][1])]
        if not wires:
            return self.channel(name, value)
        type_, data = self.dump_named(name, value)
        refs = tuple(wire[0][2] for wire in wires)
        return Entry(BLOB_WIRE, (self.add_item(BLOB, refs, [type_, data, wires]),)), None


def _bare(entry: Entry, decoder: Decoder) -> _Bare:
    """Open an entry down to its holes: sequences, and their sequences, become one value."""
    wire, refs = entry
    if wire is None or isinstance(wire, (str, bytes)):
        return _Bare(None, [[["message", [], refs[0]], wire]])
    if wire == BLOB_WIRE:
        body = decoder.open(refs[0]).body
        return _Bare(decoder.codec.load(body[0], body[1]), list(body[2]) if len(body) > 2 else [])
    if len(wire) < 3 or wire[1] not in (LIST, DICT):
        return _Bare(decoder.value(entry), [])
    inner = [_bare(each, decoder) for each in decoder.sequenced(entry).entries]
    if wire[1] == LIST:
        steps: Sequence[Any] = range(len(inner))
        value: Any = [each.value for each in inner]
    else:
        steps = [each.value for each in inner[::2]]
        inner = inner[1::2]
        value = dict(zip(steps, (each.value for each in inner), strict=True))
    return _Bare(value, [_below(step, hole) for step, each in zip(steps, inner, strict=True) for hole in each.holes])


def _below(step: Any, hole: Sequence[Any]) -> list[Any]:
    """Spell a hole of a value as one of what holds the value."""
    (kind, path, *rest), message_id = hole
    if kind == "media" and rest[-1] is not None:
        rest[-1] += 1
    return [[kind, [step, *path], *rest], message_id]


def _leads(value: Any, path: Sequence[Any]) -> bool:
    """Tell whether the place of a hole is still there: a text may have taken the part's place."""
    for step in path:
        if isinstance(value, dict):
            keys = list(value)
            position = step[0] if isinstance(step, list) else None
            if position is not None:
                step = keys[position] if position < len(keys) else None
            if step not in value:
                return False
            value = value[step]
        elif isinstance(value, (list, tuple)):
            if type(step) is not int or step >= len(value):
                return False
            value = value[step]
        else:
            return hasattr(value, str(step))
    return True
