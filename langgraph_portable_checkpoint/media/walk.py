"""Take media and nested messages out of a value, and put them back in.

Owns paths and structural copying. Knows nothing of stores, digests or policies. The contract:

- `fill(punch(x))` equals `x` by value and type, for every `x`; what cannot be handled is left where it was.
- The input is never changed. Only containers on the way to a hole are copied; the rest is shared.
- A hole is replaced by None and recorded out of band, by path. Nothing in the value marks it, so no text can be
  taken for a marker.

Walked are exact `list`, `dict` and `tuple` objects, and LangGraph's Send, Command, Interrupt, Overwrite and delta
snapshots. Other types (subclasses, dataclasses, models, sets) are left alone: rebuilding them could run code of theirs.

A path is a tuple of steps from the root. A `str` step is a dict's string key or a field of one of LangGraph's types;
an `int` step is a position in a list or tuple; a step `(n,)` is the n-th entry of a dict whose key is not a string.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde import types as checkpoint_types
from langgraph.types import Command, Interrupt, Overwrite, Send

from langgraph_portable_checkpoint.envelope.placeholders import is_placeholder
from langgraph_portable_checkpoint.media.encodings import Encoded, decode, encode
from langgraph_portable_checkpoint.media.holes import Hole, Missing, Path, Step, Unloaded, Whole, corrupt
from langgraph_portable_checkpoint.media.leaves import WORTH_REMEMBERING_BYTES, KnownLeaves, Leaf
from langgraph_portable_checkpoint.media.shapes import (
    Enclosing,
    Found,
    is_named,
    part_around,
    recognise,
)
from langgraph_portable_checkpoint.media.slots import NOWHERE, Around, LeafText, PartText, form_at
from langgraph_portable_checkpoint.media.stand_ins import (
    Standing,
    any_stand,
    made_to_stand,
    part_behind,
    restored,
    standing_text,
    stands_for,
)

DEFAULT_MIN_BYTES: Final = 2048

Select = Callable[[int, str | None], bool]
"""Decide by size in bytes and mime type (None: bytes that nothing names) whether a leaf is taken out."""


Stays = Callable[[str | bytes, Path, Enclosing], None]
"""Hears of a leaf that stays where it is, with its path and the dicts around it; may raise to refuse the value."""


class Punched(NamedTuple):
    """A value without its media and nested messages, and where they were."""

    value: Any
    holes: tuple[Hole, ...]


Resolve = Callable[[Hole], bytes | BaseMessage | Missing | Unloaded]


def punch(
    value: Any,
    *,
    select: Select,
    min_bytes: int = DEFAULT_MIN_BYTES,
    known: KnownLeaves | None = None,
    home: bytes | None = None,
    stays: Stays | None = None,
) -> Punched:
    """Take media and nested messages out of a value, without changing it.

    Media are the parts that `shapes` lists, any long string that is a canonical data URL or the canonical base64 of a
    recognised file type, and any long bytes. A value nested too deep for this walk, or inside itself, is left as it
    was: the serializer names it better.

    Args:
        value: Anything. A message at the root is itself a hole; hand in its fields to look inside.
        select: The policy's decision per leaf; may raise to refuse the whole value.
        min_bytes: Smaller leaves are not looked at.
        known: Remembers what long leaves decode to, from one call to the next.
        home: The thread whose media the value's stand-ins become holes for again, without their bytes; others stay.
        stays: Told of each leaf that was looked at and stays, in order.

    Returns:
        The very same object and `()` when nothing was found.
    """
    try:
        if not _may_hold(value, min_bytes, standing=any_stand()):
            return Punched(value, ())
        walk = _Walk(select, min_bytes, known, home, stays)
        return Punched(walk.visit(value, (), ()), tuple(walk.holes))
    except RecursionError:
        return Punched(value, ())


def fill(value: Any, holes: Sequence[Hole], resolve: Resolve) -> Any:
    """Put what was taken out back in, without changing `value`.

    Args:
        value: What `punch` returned, perhaps stored and read back.
        holes: The holes, in any order.
        resolve: Gives the bytes or the message of a hole, or `Missing`, or `Unloaded`.

    Raises:
        CorruptRecordError: a path does not lead to a place of this value.
    """
    if not holes:
        return value
    return _fill(value, [_filling(hole, resolve(hole)) for hole in holes], NOWHERE)


def replace_at(value: Any, changes: Mapping[Path, Callable[[Any], Any]]) -> Any:
    """Exchange what stands at some paths, without changing `value`; a change above another one wins.

    Raises:
        CorruptRecordError: a path does not lead to a place of this value.
    """
    return _fill(value, [_Filling(path, put) for path, put in changes.items()], NOWHERE) if changes else value


def children(node: Any) -> Iterator[tuple[Step, Any]]:
    """List the steps that a walk takes from a node, and where they lead; none for what is left alone."""
    kind = type(node)
    if kind is dict:
        return ((step, child) for step, _, child in _entries(node))
    if kind is list or kind is tuple:
        return iter(enumerate(node))
    return ((field, getattr(node, field)) for field in _WRAPPED_FIELDS.get(kind, ()))


ATOMS: Final = frozenset({int, float, bool, type(None)})
_DeltaSnapshot: Final[Any] = getattr(checkpoint_types, "_DeltaSnapshot", None)
"""What a DeltaChannel keeps now and then: a whole state, messages and all. Private, and not in every version."""
_WRAPPED_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    Send: ("arg",),
    Command: ("update", "resume", "goto"),
    Interrupt: ("value",),
    Overwrite: ("value",),
    **({_DeltaSnapshot: ("value",)} if _DeltaSnapshot is not None else {}),
}


def _may_hold(node: Any, floor: int, *, standing: bool) -> bool:
    """Answer quickly for the common case, text: is there any leaf long enough, or any message?"""
    kind = type(node)
    if kind is dict:
        children: Iterable[Any] = node.values()
    elif kind is list or kind is tuple:
        children = node
    elif kind is str or kind is bytes:
        return len(node) >= floor or (standing and stands_for(node) is not None)
    elif kind in ATOMS:
        return False
    else:
        return BaseMessage in kind.__mro__ or any(
            _may_hold(getattr(node, field), floor, standing=standing) for field in _WRAPPED_FIELDS.get(kind, ())
        )
    for child in children:
        kind = type(child)
        if kind is str:
            if len(child) >= floor or (standing and stands_for(child) is not None):
                return True
        elif kind not in ATOMS and _may_hold(child, floor, standing=standing):
            return True
    return False


class _Walk:
    """One pass over a value; collects holes and returns the copy that lacks them."""

    def __init__(
        self, select: Select, min_bytes: int, known: KnownLeaves | None, home: bytes | None, stays: Stays | None
    ) -> None:
        self.select = select
        self.stays = stays
        self.known = known
        self.home = home
        self.min_bytes = min_bytes
        self.holes: list[Hole] = []

    def visit(self, node: Any, path: Path, enclosing: Enclosing) -> Any:
        kind = type(node)
        if kind is str or kind is bytes:
            return self._leaf(node, path, enclosing)
        changes: dict[Step, Any] = {}
        if kind is dict:
            standing = part_behind(node)
            if standing is not None and standing.home == self.home:
                return self._part_again(node, standing, path)
            for step, key, child in _entries(node):
                named = (*enclosing, (key, node)) if isinstance(key, str) else ()
                self._into(changes, step, child, (*path, step), named)
        elif kind is list or kind is tuple:
            for position, child in enumerate(node):
                self._into(changes, position, child, (*path, position), ())
        elif kind in _WRAPPED_FIELDS:
            for field in _WRAPPED_FIELDS[kind]:
                self._into(changes, field, getattr(node, field), (*path, field), ())
        elif BaseMessage in kind.__mro__:
            self.holes.append(Hole("message", path, message=node))
            return None
        else:
            return node
        return _rebuilt(node, changes) if changes else node

    def _into(self, changes: dict[Step, Any], step: Step, child: Any, path: Path, enclosing: Any) -> None:
        if type(child) not in ATOMS:
            visited = self.visit(child, path, enclosing)
            if visited is not child:
                changes[step] = visited

    def _part_again(self, block: Mapping[Any, Any], standing: Standing, path: Path) -> Any:
        self.holes += [dataclasses.replace(hole, path=path + hole.path, part=len(path)) for hole in standing.holes]
        return restored(block)

    def _leaf(self, leaf: str | bytes, path: Path, enclosing: Enclosing) -> Any:
        standing = stands_for(leaf)
        if standing is not None:
            return self._leaf_again(leaf, standing, path, enclosing)
        if len(leaf) < self.min_bytes or is_placeholder(leaf):
            return leaf
        found = recognise(leaf, enclosing, min_bytes=self.min_bytes)
        if found is not None and self.select(found.encoded.size_bytes, found.mime_type):
            decoded = self._decoded(leaf, found.encoded)
            if decoded is not None:
                self.holes.append(_media_hole(found, decoded, path, enclosing))
                return None
        if self.stays is not None:
            self.stays(leaf, path, enclosing)
        return leaf

    def _leaf_again(self, leaf: str | bytes, standing: Standing, path: Path, enclosing: Enclosing) -> Any:
        if standing.home != self.home or standing.part is not None:
            return leaf
        (hole,) = standing.holes
        named = is_named(Encoded(hole.encoding, hole.prefix, hole.size_bytes), enclosing)
        self.holes.append(dataclasses.replace(hole, path=path, part=part_around(path, enclosing) if named else None))
        return None

    def _decoded(self, leaf: str | bytes, encoded: Encoded) -> Leaf | None:
        remember = self.known if len(leaf) >= WORTH_REMEMBERING_BYTES else None
        found = remember.get(leaf) if remember is not None else None
        if found is not None:
            return found
        data = decode(leaf, encoded)
        if data is None:
            return None
        return Leaf(leaf, data) if remember is None else remember.add(leaf, data)


def _media_hole(found: Found, leaf: Leaf, path: Path, enclosing: Enclosing) -> Hole:
    encoding, prefix, _ = found.encoded
    part = part_around(path, enclosing) if found.named else None
    return Hole("media", path, encoding, prefix, found.mime_type, len(leaf.data), part, leaf.data, leaf=leaf)


def _entries(node: dict[Any, Any]) -> Iterator[tuple[Step, Any, Any]]:
    for position, (key, child) in enumerate(node.items()):
        yield (key if type(key) is str and _is_text(key) else (position,)), key, child


def _is_text(key: str) -> bool:
    """Lone surrogates cannot be written as UTF-8, so a path cannot spell them."""
    return key.isascii() or key.encode("utf-8", "ignore").decode() == key


def _rebuilt(node: Any, changes: Mapping[Step, Any]) -> Any:
    """Copy one container with some of its children exchanged."""
    kind = type(node)
    if kind is dict:
        keys = list(node) if any(type(step) is tuple for step in changes) else []
        return node | {keys[step[0]] if type(step) is tuple else step: child for step, child in changes.items()}
    if kind is list or kind is tuple:
        children = list(node)
        for step, child in changes.items():
            children[step] = child  # type: ignore[index]  # steps into sequences are positions
        return children if kind is list else tuple(children)
    return _rebuilt_wrapper(node, changes)


def _rebuilt_wrapper(node: Any, changes: Mapping[Any, Any]) -> Any:
    if type(node) is Command:
        return dataclasses.replace(node, **changes)
    if type(node) is _DeltaSnapshot:
        return node._replace(**changes)
    twin = copy.copy(node)
    for field, child in changes.items():
        setattr(twin, field, child)
    return twin


class _Filling(NamedTuple):
    path: Path
    put: Callable[[Any], Any]
    hole: Hole | None = None
    missing: Missing | None = None
    """Set where a placeholder takes the place, which may go on standing for what was there."""


def _filling(hole: Hole, content: bytes | Whole | BaseMessage | Missing | Unloaded) -> _Filling:
    if isinstance(content, Missing):
        path = hole.path if hole.part is None else hole.path[: hole.part]
        return _Filling(path, PartText(content.text), hole, content)
    if isinstance(content, Unloaded):
        return _reference(hole, dict(content.media))
    if isinstance(content, Whole):
        return _Filling(hole.path, lambda _: content.value, hole)
    if isinstance(content, bytes) and hole.kind == "media":
        whole = encode(content, hole.encoding, hole.prefix)
        return _Filling(hole.path, lambda _: whole, hole)
    if isinstance(content, BaseMessage) and hole.kind == "message":
        return _Filling(hole.path, lambda _: content)
    raise TypeError(f"the resolver answered {type(content).__name__} for a {hole.kind} hole")


def _instead(node: Any, first: _Filling, fillings: Sequence[_Filling], around: Around) -> Any:
    """Put what takes the place of a node, in a form that the place takes."""
    missing, hole = first.missing, first.hole
    if missing is None or hole is None:
        return first.put(node, around) if isinstance(first.put, PartText | LeafText) else first.put(node)
    if hole.part is None:
        said = LeafText(missing.text, is_bytes=hole.encoding == "bytes")(node, around)
        alone = (dataclasses.replace(hole, path=(), part=None),)
        return said if missing.home is None else made_to_stand(said, Standing(missing.home, None, alone))
    form = form_at(node, around)
    text = form.say(missing.text)
    standing = _standing(node, missing, fillings, depth=len(around.keys))
    return form.make(node, text if standing is None else standing_text(text, standing))


def _standing(node: Any, missing: Missing, fillings: Sequence[_Filling], *, depth: int) -> Standing | None:
    """Say what a placeholder of a part stands for, if it does: for all the media that the part held."""
    holes = [each.hole for each in fillings if each.hole is not None and each.hole.kind == "media"]
    if missing.home is None or len(holes) < len(fillings):
        return None
    within = tuple(dataclasses.replace(hole, path=hole.path[depth:], part=None) for hole in holes)
    bare = _fill(node, [_Filling(hole.path, lambda _: None) for hole in within], NOWHERE)
    return Standing(missing.home, bare, within)


def _reference(hole: Hole, media: dict[str, Any]) -> _Filling:
    family = (hole.mime_type or "").partition("/")[0]
    kind = family if family in ("image", "audio", "video") else "file"
    block = media if hole.part is None else {"type": kind, "mime_type": hole.mime_type, "media": media}
    return _Filling(hole.path[: hole.part], lambda _: block)


def _fill(node: Any, fillings: Sequence[_Filling], around: Around) -> Any:
    """Rebuild a node in one pass: placeholders of whole parts win over what lies inside them."""
    depth = len(around.keys)
    for filling in fillings:
        if len(filling.path) == depth:
            return _instead(node, filling, fillings, around)
    below: dict[Step, list[_Filling]] = {}
    for filling in fillings:
        below.setdefault(filling.path[depth], []).append(filling)
    return _rebuilt(
        node,
        {step: _fill(child_at(node, step), inner, around.into(node, step)) for step, inner in below.items()},
    )


def child_at(node: Any, step: Step) -> Any:
    """Take one step, or say that the path does not fit this value."""
    kind = type(node)
    if kind is dict:
        if type(step) is str and step in node:
            return node[step]
        if type(step) is tuple and step[0] < len(node):
            return list(node.values())[step[0]]
    elif (kind is list or kind is tuple) and type(step) is int and step < len(node):
        return node[step]
    elif step in _WRAPPED_FIELDS.get(kind, ()):
        return getattr(node, str(step))
    raise corrupt("a stored value", f"a hole's path does not fit it (a {kind.__name__})")
