"""What a host may want to hear about media."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final, TypeVar

from langgraph_portable_checkpoint.media.table import MediaRecord, MediaReport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MediaHooks:
    """Callables of the host. They are called after the fact, block the caller, and what they raise passes through.

    None is awaited, by async calls neither. A host that has to await hands on what it hears: `queue.put_nowait` of an
    asyncio queue is a hook for the async methods.

    Attributes:
        on_externalize: A medium was stored for the first time in a thread.
        on_missing: A read found no bytes, or wrong ones, and gave a placeholder; `detail` says why.
        on_expired: A provider upload had expired; it was uploaded again or became a placeholder.

    Raises:
        TypeError: one of them cannot be called, or is a coroutine function.
    """

    on_externalize: Callable[[MediaRecord], None] | None = None
    on_missing: Callable[[MediaReport], None] | None = None
    on_expired: Callable[[MediaReport], None] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            hook = getattr(self, field.name)
            if hook is not None and not callable(hook):
                raise TypeError(f"{field.name} is no callable but {type(hook).__name__}")
            if _is_awaited(hook):
                raise TypeError(f"{field.name} is a coroutine function. {_NOT_AWAITED}")


def tell(hook: Callable[[T], object], heard: T) -> None:
    """Call a hook.

    Raises:
        TypeError: it answered with something to be awaited, which nobody does.
    """
    answer = hook(heard)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"a media hook returned {type(answer).__name__}. {_NOT_AWAITED}")


def _is_awaited(hook: Any) -> bool:
    while isinstance(hook, partial):
        hook = hook.func
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(getattr(hook, "__call__", None))  # noqa: B004


_NOT_AWAITED: Final = "Media hooks are called, not awaited: hand on what they hear, as with put_nowait of a queue."
NO_HOOKS: Final = MediaHooks()
