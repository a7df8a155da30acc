"""The one exception tree.

Every error of this package derives from `PortableCheckpointError` and from the builtin that fits it, so a
caller may catch either. Attributes carry the facts; the message says what, where, and how to fix it. Messages
carry ids and names, never contents of a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any


class PortableCheckpointError(Exception):
    """Base class of every error that this package raises on purpose."""


class InvalidIdError(PortableCheckpointError, ValueError):
    """A thread id, namespace, checkpoint id or task id is missing or is not a string."""

    def __init__(self, field: str, value: object, *, fix: str) -> None:
        self.field = field
        self.value = value
        shown = "is missing" if value is None else f"is {type(value).__name__} {value!r:.80}"
        super().__init__(f"{field} {shown}. {fix}")


class UnserializableValueError(PortableCheckpointError, TypeError):
    """A value cannot be serialized. Nothing of the call was stored."""

    def __init__(self, *, channel: str, type_name: str, reason: str) -> None:
        self.channel = channel
        self.type_name = type_name
        super().__init__(
            f"channel {channel!r} holds a value of type {type_name} that the serializer cannot store ({reason}). "
            "Nothing was stored. Store a plain value, or pass a serde= that knows this type."
        )


class StorageError(PortableCheckpointError):
    """Base of what can go wrong between this package and the server."""


class ServerUnavailableError(StorageError, ConnectionError):
    """The server cannot be reached, is loading, or closed the connection. It is safe to retry the call."""


class ServerReadOnlyError(StorageError, PermissionError):
    """The server refuses writes (a replica, or a failed disk), or the ACL user may not run a command."""


class ServerFullError(StorageError, MemoryError):
    """The server reached maxmemory. The write was refused whole; reads and deletes still work."""


class WrongServerError(StorageError, RuntimeError):
    """What answers is not a Redis or Valkey that this package can use, or a key holds a foreign type."""


class CorruptRecordError(StorageError, ValueError):
    """A stored record cannot be read back: truncated, altered, moved, or written by something else."""

    def __init__(self, what: str, *, where: str, reason: str, fix: str = "") -> None:
        self.what = what
        self.where = where
        self.reason = reason
        fix = fix or (
            "Nothing was changed. Restore the thread from a backup, or delete it; older checkpoints may be readable."
        )
        super().__init__(f"{what} of {where} cannot be read: {reason}. {fix}")


class MissingItemError(CorruptRecordError):
    """A record names an item that is not stored."""


class PlaintextRecordError(CorruptRecordError):
    """An encrypted thread holds a record that is not encrypted. It was not trusted."""


class FutureVersionError(StorageError, NotImplementedError):
    """A record was written by a newer version of the format than this package reads."""

    def __init__(self, what: str, *, where: str, found: object, supported: object) -> None:
        self.what = what
        self.where = where
        self.found = found
        self.supported = supported
        super().__init__(
            f"{what} of {where} has version {found!r}; this package reads up to {supported!r}. "
            "Upgrade langgraph-portable-checkpoint here. Nothing was changed."
        )


class BlockedTypeError(StorageError, TypeError):
    """Stored bytes name a Python type outside the allowlist. Nothing was imported or called."""


class ThreadDeletedError(StorageError, LookupError):
    """A write names a checkpoint of a thread that has been deleted or overwritten. The thread was not brought back."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            f"thread {thread_id!r} was deleted or overwritten while this run was going on; the write was refused. "
            "Start a fresh conversation without a checkpoint_id."
        )


class ThreadNotFoundError(StorageError, LookupError):
    """A thread, checkpoint or turn that the call needs does not exist."""


class ThreadExistsError(StorageError, FileExistsError):
    """The target of a copy, import or restore already has data."""


class TurnInProgressError(StorageError, RuntimeError):
    """Another holder has the thread's lease."""


class ConflictError(StorageError, RuntimeError):
    """A put's parent is not the head, and on_conflict is "raise"; or a thread went five times during one call."""


class BranchWarning(UserWarning):
    """A put names a parent that is not the head of its namespace, and on_conflict is "warn"."""


class SaverClosedError(PortableCheckpointError, RuntimeError):
    """The saver was closed."""

    def __init__(self, what: str = "this saver is closed") -> None:
        super().__init__(f"{what}. Build it once for the life of the application; close it after the last graph run.")


class ClientMissingError(PortableCheckpointError, TypeError):
    """A blocking call on a saver that has only an async client."""


class SaverUrlError(PortableCheckpointError, ValueError):
    """A saver is named by something that is no URL, folder or factory of one."""


class MissingPackageError(PortableCheckpointError, ImportError):
    """What was asked for needs a package that is not installed."""

    def __init__(self, what: str, *, package: str) -> None:
        self.package = package
        super().__init__(f"{what} needs a package that is not installed: pip install {package}")


class EmbeddedServerError(StorageError, OSError):
    """The embedded server cannot start, be joined or be stopped."""


class MediaError(PortableCheckpointError):
    """Base of what can go wrong with media."""


class MediaStoreError(MediaError, OSError):
    """A media store failed, hangs, or answered something else than the bytes."""


class MediaMissingError(MediaStoreError, FileNotFoundError):
    """A media store has no blob under this reference."""


class MediaRefError(MediaError, ValueError):
    """A media reference is not one that the store's own put returns. It was not used."""


class MediaDigestError(MediaError, ValueError):
    """Bytes do not match the digest that names them."""


class MediaTooLargeError(MediaError, ValueError):
    """A media part exceeds the policy's max_bytes, or the media store's. Nothing of the call was stored."""


class InvalidUploadError(MediaError, ValueError):
    """What was given as an upload, or answered by `upload=` or `check=`, is none. It was not stored."""

    def __init__(self, field: str, value: object, *, fix: str) -> None:
        self.field = field
        self.value = value
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        shown = f"{kind} {value!r:.80}" if isinstance(value, (str, int, float, datetime)) else kind
        super().__init__(f"{field} is {shown}. It was not stored. {fix}")


class DialectError(PortableCheckpointError):
    """Base of what can go wrong between histories and dialects."""


class UnknownDialectError(DialectError, LookupError):
    """No dialect has this name, or none recognises the payload."""


class MalformedHistoryError(DialectError, ValueError):
    """A payload is not a history of the named dialect. Carries every problem, each with its position."""

    def __init__(self, dialect: str, problems: Sequence[str]) -> None:
        self.dialect = dialect
        self.problems = tuple(problems)
        listed = "; ".join(self.problems[:5])
        more = f" (and {len(self.problems) - 5} more)" if len(self.problems) > 5 else ""
        super().__init__(f"not a readable {dialect} history: {listed}{more}. Nothing was imported.")


class IncompatibleHistoryError(DialectError, ValueError):
    """A history cannot be converted at all; names the turn and what to do."""

    def __init__(self, reason: str, *, turn: int | None, fix: str) -> None:
        self.reason = reason
        self.turn = turn
        at = "" if turn is None else f" at turn {turn}"
        super().__init__(f"this history cannot be converted{at}: {reason}. {fix}")


class LossyExportError(DialectError, ValueError):
    """strict=True and the export would lose something. Carries all losses."""

    def __init__(self, report: Sequence[Any]) -> None:
        self.report = tuple(report)
        listed = "; ".join(str(loss) for loss in self.report[:5])
        more = f" (and {len(self.report) - 5} more)" if len(self.report) > 5 else ""
        super().__init__(f"{len(self.report)} losses under strict=True: {listed}{more}")


class UnsupportedPartError(DialectError, ValueError):
    """on_unsupported_part="raise" and the target model cannot take a part."""
