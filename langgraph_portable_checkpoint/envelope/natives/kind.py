"""What a native block kind is: a pair of pure functions, native -> neutral and neutral -> native.

A kind is declared by a table of paths. `read` gives the neutral block or None where the native block is of another
shape; `write` gives the native block back in the kind's own key order. Whoever stores a block proves that
`write(read(native))` has the same bytes; `order_code` says how the keys must be moved for that, `reordered` moves them.
Knows nothing of LangChain classes, Redis or storage.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Native: TypeAlias = Any
Tree: TypeAlias = dict[str, "Tree"]

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """One native block kind. `name` is its word in stored state; it never changes its meaning."""

    name: str
    read: Callable[[Native], dict[str, Any] | None]
    write: Callable[[Mapping[str, Any]], Native]
    tree: Tree = field(default_factory=dict)
    """The nested maps whose key order `order_code` notes."""
    exact: bool = False
    """`write` undoes `read` by construction, so it needs no proof."""
    flat: tuple[str, ...] = ()
    """The native keys, in the kind's order, where that is so for every block that has no other keys."""
    by_keys: bool = False
    """Which blocks it reads, and where their values go, is told by their `type`, their keys and the values' types."""
    needs: frozenset[str] = frozenset()
    """Native keys without which it reads no block."""

    def code_of(self, native: dict[str, Any]) -> str | None:
        """Return the `order_code` of a native block that was read, without writing it; None where that is not known."""
        if not self.flat:
            return None
        ours = [key for key in self.flat if key in native]
        if len(ours) != len(native):
            return None
        return "" if ours == list(native) else "/" + "".join(_DIGITS[ours.index(key)] for key in native)


@dataclass(frozen=True, slots=True)
class _Path:
    native: tuple[str, ...]
    neutral: tuple[str, ...] = ()
    constant: Any = _ABSENT

    def value(self) -> Any:
        """The constant, for one block alone."""
        return self.constant if isinstance(self.constant, str) else copy.copy(self.constant)


def table_kind(
    name: str,
    neutral: str,
    *,
    fields: Mapping[str, str],
    constants: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    accepts: Callable[[dict[str, Any]], bool] | None = None,
    after_read: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
    before_write: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Kind:
    """Declare a kind.

    Args:
        name: Its word in stored state.
        neutral: The neutral block type.
        fields: Native path to neutral path, dotted, in the native's own key order; the first one is required.
        constants: Native paths with the one value they have in this kind (`type`, nested `source.type`).
        fixed: Neutral keys that this kind implies and the native does not spell.
        accepts: Refuses the neutral block by False, for its keys or the types of its values.
        after_read: Refines the neutral block; None refuses it.
        before_write: Undoes `after_read`.
    """
    paths = [_Path(_split(path), constant=value) for path, value in (constants or {}).items()]
    paths += [_Path(_split(path), _split(to)) for path, to in fields.items()]
    required = [path for path in paths if path.constant is not _ABSENT]
    required += [path for path in paths if path.constant is _ABSENT][:1]
    layout = _Layout(tuple(paths), tuple(required), neutral, dict(fixed or {}))
    plain = after_read is None and before_write is None
    flat = _flat_keys(paths, layout.fixed) if plain else ()

    read_layout = _flat_reader(layout) if flat else layout.read

    def read(native: Native) -> dict[str, Any] | None:
        block = read_layout(native)
        if block is None or (accepts is not None and not accepts(block)):
            return None
        return block if after_read is None else after_read(block)

    def write(block: Mapping[str, Any]) -> Native:
        return layout.write(dict(block) if before_write is None else before_write(dict(block)))

    return Kind(
        name,
        read,
        write,
        _tree(path.native for path in paths),
        flat=flat,
        by_keys=bool(flat) and (constants or {}).keys() <= {"type"},
        needs=frozenset(path.native[0] for path in layout.required),
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    paths: tuple[_Path, ...]
    required: tuple[_Path, ...]
    neutral: str
    fixed: dict[str, Any]
    heads: frozenset[str] = field(init=False)
    """Top-level native keys that a path begins with; the others are rest."""
    named: frozenset[str] = field(init=False)
    """Keys of `extras` that come from a path or are implied; the others are rest."""

    def __post_init__(self) -> None:
        named = {path.neutral[1] for path in self.paths if path.neutral[:1] == ("extras",)}
        object.__setattr__(self, "heads", frozenset(path.native[0] for path in self.paths))
        object.__setattr__(self, "named", frozenset(named | self.fixed.get("extras", {}).keys()))

    def read(self, native: Native) -> dict[str, Any] | None:
        if not isinstance(native, dict):
            return None
        for path in self.required:
            if not _present(native, path):
                return None
        block: dict[str, Any] = {"type": self.neutral, **(copy.deepcopy(self.fixed) if self.fixed else {})}
        for path in self.paths:
            if path.neutral and (value := _get(native, path.native)) is not _ABSENT:
                _put(block, path.neutral, value)
        return self.with_rest(block, native)

    def with_rest(self, block: dict[str, Any], native: dict[str, Any]) -> dict[str, Any]:
        """Add what no path names."""
        if native.keys() <= self.heads:
            return block
        return _with_rest(block, {key: value for key, value in native.items() if key not in self.heads})

    def write(self, block: Mapping[str, Any]) -> Native:
        native: dict[str, Any] = {}
        for path in self.paths:
            value = path.value() if path.constant is not _ABSENT else _get(block, path.neutral)
            if value is not _ABSENT:
                _put(native, path.native, value)
        if "cache_hint" in block:
            native["cache_control"] = block["cache_hint"]
        if "extras" in block:
            native.update((key, value) for key, value in block["extras"].items() if key not in self.named)
        return native


def _flat_reader(layout: _Layout) -> Callable[[Native], dict[str, Any] | None]:
    """Return what `layout.read` is for a flat kind: with its paths as keys, in a third of the time."""
    constants = [(path.native[0], path.constant) for path in layout.paths if path.constant is not _ABSENT]
    needed = [path.native[0] for path in layout.required if path.constant is _ABSENT]
    fields = [(path.native[0], path.neutral[0], path.neutral[1:]) for path in layout.paths if path.neutral]

    def read(native: Native) -> dict[str, Any] | None:
        if not isinstance(native, dict) or (needed and needed[0] not in native):
            return None
        for key, value in constants:
            if native.get(key) != value:
                return None
        block: dict[str, Any] = {"type": layout.neutral, **layout.fixed}
        for key, to, inner in fields:
            if key not in native:
                continue
            if inner:
                _put(block, (to, *inner), native[key])
            else:
                block[to] = native[key]
        return layout.with_rest(block, native)

    return read


def _flat_keys(paths: Sequence[_Path], fixed: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the native keys where a block that was read must be written as it was; else none."""
    flat = all(len(path.native) == 1 for path in paths)
    texts = all(path.constant is _ABSENT or isinstance(path.constant, str) for path in paths)  # 1 == True, for one
    shared = any(isinstance(value, (dict, list)) for value in fixed.values())
    return tuple(path.native[0] for path in paths) if flat and texts and not shared else ()


def _with_rest(block: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    if "cache_control" in rest:
        block["cache_hint"] = rest.pop("cache_control")
    if rest:
        block["extras"] = {**block.get("extras", {}), **rest}
    return block


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _get(tree: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(tree, dict):
            return _ABSENT
        tree = tree.get(key, _ABSENT)
    return tree


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def _present(native: dict[str, Any], path: _Path) -> bool:
    value = _get(native, path.native)
    return value is not _ABSENT and (path.constant is _ABSENT or (value is path.constant or value == path.constant))


def _tree(paths: Iterator[tuple[str, ...]]) -> Tree:
    tree: Tree = {}
    for path in paths:
        branch = tree
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
    return tree


def order_code(ours: Any, theirs: Any, tree: Tree) -> str | None:
    """Note how the keys of `ours` must be moved to stand as in `theirs`.

    Returns:
        "" where nothing moves, else "/" and one digit per key for each map of the tree; None where the keys differ.
    """
    if not tree and isinstance(ours, dict) and isinstance(theirs, dict) and list(ours) == list(theirs):
        return "" if len(ours) <= len(_DIGITS) else None
    parts: list[str] = []
    if not _note_order(ours, theirs, tree=tree, parts=parts):
        return None
    code = "/" + "/".join(parts)
    return "" if not code.strip("/") else code


def _note_order(ours: Any, theirs: Any, *, tree: Tree, parts: list[str]) -> bool:
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        parts.append("")
        return True
    keys = list(ours)
    if len(keys) != len(theirs) or len(keys) > len(_DIGITS) or ours.keys() != theirs.keys():
        return False
    moved = keys != list(theirs)
    parts.append("".join(_DIGITS[keys.index(key)] for key in theirs) if moved else "")
    return all(_note_order(ours[key], theirs[key], tree=tree[key], parts=parts) for key in tree if key in ours)


def reordered(native: Any, code: str, tree: Tree) -> Any:
    """Move the keys of a written native block as `order_code` noted."""
    if not code:
        return native
    return _moved(native, iter(code[1:].split("/")), tree)


def _moved(native: Any, parts: Iterator[str], tree: Tree) -> Any:
    digits = next(parts)
    if not isinstance(native, dict):
        return native
    inner = {key: _moved(native[key], parts, tree[key]) for key in tree if key in native}
    keys = list(native)
    order = [keys[_DIGITS.index(digit)] for digit in digits] if digits else keys
    return {key: inner.get(key, native[key]) for key in order}
