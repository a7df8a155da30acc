"""A LangGraph checkpointer on plain Redis and Valkey that keeps conversations portable.

Names are imported when they are first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dialects.export import export_messages, import_messages, lint
    from .dialects.report import Export, Imported, Loss
    from .media.directory import DirectoryMediaStore
    from .media.hooks import MediaHooks
    from .media.objects import ObjectMediaStore
    from .media.policy import MediaPolicy
    from .media.stores import MediaStore
    from .saver import PortableRedisSaver
    from .serde import DataSerializer
    from .transfer.checking import verify_thread
    from .transfer.copying import acopy_threads, copy_threads
    from .transfer.histories import adapt_messages, aexport_thread, aimport_thread, export_thread, import_thread

_HOMES = {
    "PortableRedisSaver": "saver",
    "DataSerializer": "serde",
    "MediaPolicy": "media.policy",
    "MediaStore": "media.stores",
    "MediaHooks": "media.hooks",
    "DirectoryMediaStore": "media.directory",
    "ObjectMediaStore": "media.objects",
    "export_messages": "dialects.export",
    "import_messages": "dialects.export",
    "lint": "dialects.export",
    "Export": "dialects.report",
    "Imported": "dialects.report",
    "Loss": "dialects.report",
    "aexport_thread": "transfer.histories",
    "aimport_thread": "transfer.histories",
    "export_thread": "transfer.histories",
    "import_thread": "transfer.histories",
    "adapt_messages": "transfer.histories",
    "copy_threads": "transfer.copying",
    "acopy_threads": "transfer.copying",
    "verify_thread": "transfer.checking",
}

__all__ = [
    "DataSerializer",
    "DirectoryMediaStore",
    "Export",
    "Imported",
    "Loss",
    "MediaHooks",
    "MediaPolicy",
    "MediaStore",
    "ObjectMediaStore",
    "PortableRedisSaver",
    "acopy_threads",
    "adapt_messages",
    "aexport_thread",
    "aimport_thread",
    "copy_threads",
    "export_messages",
    "export_thread",
    "import_messages",
    "import_thread",
    "lint",
    "verify_thread",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
