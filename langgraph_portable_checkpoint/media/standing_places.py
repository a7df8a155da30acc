"""Where in a value something stands for media; knows the walk's paths, and what an object stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.holes import Path
from langgraph_portable_checkpoint.media.stand_ins import any_stand, stands_for
from langgraph_portable_checkpoint.media.walk import ATOMS, child_at, children, replace_at


def stand_ins(value: Any) -> dict[Path, str]:
    """Find the texts of a value that stand for media, outside of messages, by path."""
    return dict(_stand_ins(value, ())) if any_stand() else {}


def holds_stand_in(value: Any) -> bool:
    """Tell whether a text or bytes of a value stand for a medium; messages in it are not looked into."""
    try:
        return any_stand() and _holds_stand_in(value)
    except RecursionError:
        return False


def _holds_stand_in(node: Any) -> bool:
    if type(node) in (str, bytes):
        return stands_for(node) is not None
    return any(_holds_stand_in(child) for _, child in children(node) if type(child) not in ATOMS)


def stand_again(value: Any, known: Mapping[Path, str]) -> Any:
    """Put texts that stand for media where a value has texts that equal them, at the same places.

    Args:
        value: What a graph writes. A state class that checks its fields may make new texts of texts.
        known: What `stand_ins` found in the value that it was read from.
    """
    same = {
        path: text
        for path, text in known.items()
        if type(leaf := _at(value, path)) is str and leaf == text and stands_for(leaf) is None
    }
    return replace_at(value, {path: partial(_instead_of, text) for path, text in same.items()})


def _stand_ins(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if type(node) is str and stands_for(node) is not None:
        yield path, node
    for step, child in children(node):
        if type(child) not in ATOMS:
            yield from _stand_ins(child, (*path, step))


def _at(node: Any, path: Path) -> Any:
    """Follow a path as far as there is one; None where it does not fit."""
    try:
        for step in path:
            node = child_at(node, step)
    except CorruptRecordError:
        return None
    return node


def _instead_of(text: str, _: Any) -> str:
    return text
