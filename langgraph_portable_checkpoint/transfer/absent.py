"""What is not there where a checkpoint was asked for: the thread, its namespace or the checkpoint itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from langchain_core.runnables import RunnableConfig

from ..errors import ThreadNotFoundError, WrongServerError
from .inventory import inventory_of
from .steps import Moves, Place, Saver

_NAMED_AT_MOST: Final = 8


def absent(thread_id: str) -> ThreadNotFoundError:
    """Say that a thread is not there."""
    return ThreadNotFoundError(f"there is no thread {thread_id!r} here. Check the id, prefix and server.")


def what_is_absent(saver: Saver | None, config: RunnableConfig) -> Moves[ThreadNotFoundError]:
    """Find out what a config names that is not there, and say so. The thread's places are listed.

    Args:
        saver: Where it was looked for; None where that is not known.
        config: Names the thread and the namespace, perhaps a checkpoint.
    """
    named = config["configurable"]
    thread_id, ns, checkpoint_id = named["thread_id"], named["checkpoint_ns"], named.get("checkpoint_id")
    try:
        places = (yield from inventory_of(saver).places(thread_id)) if saver is not None else []
    except (WrongServerError, NotImplementedError):  # it does not tell what it holds
        places = []
    known = {place.checkpoint_ns for place in places}
    if not known or (ns in known and checkpoint_id is None):  # the latter came since
        return absent(thread_id)
    if checkpoint_id is None or (ns not in known and not _spaces_of(checkpoint_id, places)):
        return ThreadNotFoundError(
            f"thread {thread_id!r} has no checkpoint namespace {ns!r}; it has {_listed(known)}. Name one of these."
        )
    return ThreadNotFoundError(f"thread {thread_id!r} {_without(checkpoint_id, ns, places)}.")


def _without(checkpoint_id: str, ns: str, places: Sequence[Place]) -> str:
    within = f" in namespace {ns!r}" if ns else ""
    elsewhere = _spaces_of(checkpoint_id, places)
    if elsewhere:
        return f"has checkpoint {checkpoint_id!r} not{within or ' in the root namespace'}, but in {_listed(elsewhere)}"
    return f"has no checkpoint {checkpoint_id!r}{within}. Check the id"


def _spaces_of(checkpoint_id: str, places: Sequence[Place]) -> set[str]:
    return {place.checkpoint_ns for place in places if place.checkpoint_id == checkpoint_id}


def _listed(namespaces: Iterable[str]) -> str:
    names = sorted(namespaces)
    more = f" and {len(names) - _NAMED_AT_MOST} more" if len(names) > _NAMED_AT_MOST else ""
    return ", ".join(repr(name) if name else "'' (the root)" for name in names[:_NAMED_AT_MOST]) + more
