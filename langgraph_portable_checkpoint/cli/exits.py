"""Exit codes: which there are, what they mean, and which error gives which.

The table is what `docs/cli.md` shows. Scripts rely on it: a number never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .. import errors

DONE: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
SERVER: Final = 4
UNREADABLE: Final = 5
OCCUPIED: Final = 6
DEFECT: Final = 70
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
TERMINATED: Final = 143

MEANINGS: Final[Mapping[int, str]] = {
    DONE: "Done; for `diff` equal, for `verify` and `lint` nothing found.",
    FINDINGS: "The answer is no: findings, a difference, losses under `--strict`, or a question that was answered no.",
    USAGE: "Wrong usage or input: an unknown option, a file that is missing or is no history, a wrong URL.",
    NOT_FOUND: "There is no such thread, checkpoint or turn.",
    SERVER: "The server cannot be reached, refuses (password, rights, full, read-only), or a disk or file failed.",
    UNREADABLE: "Stored data cannot be read: corrupt, of a newer version, or not encrypted where it should be.",
    OCCUPIED: "The target already has data, or someone else holds the thread.",
    DEFECT: "A defect of this program; `--debug` shows where.",
    INTERRUPTED: "Interrupted (Ctrl-C).",
    PIPE_CLOSED: "The reader of the output went away.",
    TERMINATED: "Terminated (SIGTERM).",
}

_BY_ERROR: Final[tuple[tuple[type[BaseException], int], ...]] = (
    (errors.LossyExportError, FINDINGS),
    (errors.ThreadNotFoundError, NOT_FOUND),
    (errors.ThreadExistsError, OCCUPIED),
    (errors.TurnInProgressError, OCCUPIED),
    (errors.ConflictError, OCCUPIED),
    (errors.ThreadDeletedError, NOT_FOUND),
    (errors.CorruptRecordError, UNREADABLE),
    (errors.FutureVersionError, UNREADABLE),
    (errors.BlockedTypeError, UNREADABLE),
    (errors.MediaDigestError, UNREADABLE),
    (errors.StorageError, SERVER),
    (errors.MediaStoreError, SERVER),
    (errors.PortableCheckpointError, USAGE),
    (FileNotFoundError, USAGE),
    (IsADirectoryError, USAGE),
    (NotADirectoryError, USAGE),
    (OSError, SERVER),
)

_SERVERS: Final = ("sqlite3", "psycopg", "psycopg_pool", "redis", "valkey", "redisvl")
"""Packages of other savers' servers, told by name: none of them need be installed."""


def code_of(error: BaseException) -> int:
    """Return the exit code for an error; the first class of the table that fits decides."""
    if any(kind.__module__.partition(".")[0] in _SERVERS for kind in type(error).__mro__):
        return SERVER
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), DEFECT)
