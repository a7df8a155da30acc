"""The lease that lets one turn at a time write to a thread."""

from __future__ import annotations

from typing import Final

from ..effects import Program, Script
from .core import Core

DEFAULT_LEASE_MS: Final = 30_000


def take_lease(core: Core, thread_id: str, token: bytes, ttl_ms: int) -> Program[bool]:
    """Take a free lease, or prolong one's own. One round trip; False when someone else holds it."""
    return bool((yield Script("lease", core.layout.thread(thread_id), (b"take", token, ttl_ms))))


def renew_lease(core: Core, thread_id: str, token: bytes, ttl_ms: int) -> Program[bool]:
    """Prolong a lease; False when it was lost."""
    return bool((yield Script("lease", core.layout.thread(thread_id), (b"renew", token, ttl_ms))))


def free_lease(core: Core, thread_id: str, token: bytes) -> Program[bool]:
    """Give a lease up; False when it was lost before."""
    return bool((yield Script("lease", core.layout.thread(thread_id), (b"free", token, 0))))
