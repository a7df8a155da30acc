"""Reads of several calls: when the thread has become another one between two of them, they begin again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ...errors import ConflictError
from ..effects import Program
from .core import MAX_ATTEMPTS, Core, OtherThreadError

P = ParamSpec("P")
T = TypeVar("T")
Reading = Callable[Concatenate[Core, str, P], Program[T]]


def beginning_anew(program: Reading[P, T]) -> Reading[P, T]:
    """Let a reading program start again, knowing nothing, when its thread was deleted, pruned or replaced meanwhile.

    Round trips: none of its own.
    """

    @wraps(program)
    def begun(core: Core, thread_id: str, /, *args: P.args, **options: P.kwargs) -> Program[T]:
        for _ in range(MAX_ATTEMPTS):
            try:
                return (yield from program(core, thread_id, *args, **options))
            except OtherThreadError:
                core.forget(thread_id)
        raise ConflictError(
            f"thread {thread_id!r} was deleted, replaced or pruned {MAX_ATTEMPTS} times during one read. Try again."
        )

    return begun
