"""What a host may want to hear about media."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from langgraph_portable_checkpoint.media.table import MediaRecord, MediaReport


@dataclass(frozen=True, slots=True)
class MediaHooks:
    """Callables of the host. They are called after the fact, block the caller, and what they raise passes through.

    Attributes:
        on_externalize: A medium was stored for the first time in a thread.
        on_missing: A read found no bytes, or wrong ones, and gave a placeholder.
        on_expired: A provider upload had expired; it was uploaded again or became a placeholder.
    """

    on_externalize: Callable[[MediaRecord], None] | None = None
    on_missing: Callable[[MediaReport], None] | None = None
    on_expired: Callable[[MediaReport], None] | None = None


NO_HOOKS: Final = MediaHooks()
