"""What a client library raises, as this package's errors.

Both redis-py and valkey-py are served, so exceptions are told apart by the names in their class tree and by the
server's error codes, never by import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from ..errors import (
    PortableCheckpointError,
    ServerFullError,
    ServerReadOnlyError,
    ServerUnavailableError,
    StorageError,
    WrongServerError,
)
from .layout import prefix_of
from .scripts import commands_at

_CLIENT_MODULES: Final = ("redis", "valkey", "coredis", "fakeredis")

_FULL: Final = "The server is full (maxmemory). Raise maxmemory, or delete or expire threads."
_REPLICA: Final = "The server is a read-only replica. Connect to the primary, or through Sentinel."
_FORBIDDEN: Final = (
    "The ACL user lacks a right. Grant it: ACL SETUSER <user> {rights}. All that a saver needs is in "
    "docs/operations.md under Rights."
)
_TOO_OLD: Final = "The server lacks a core command. Redis 6.2, Valkey 7.2 or newer is needed."
_SLOTS: Final = "One thread's keys are not in one slot; the server does not honour hash tags."
_UNREACHABLE: Final = (
    "The server cannot be reached. Check that it runs and that the address is right; it is safe to try again."
)
_NO_CONNECTION: Final = (
    "All connections of the client's pool are in use. Raise its max_connections, "
    "or give the client a BlockingConnectionPool, which waits for one (timeout=)."
)

_COMMAND: Final = re.compile(r"to run the '([\w|]+)' command")
_SCRIPT: Final = re.compile(r"\b(?:f_)?([0-9a-f]{40})\b")
_LINE_OF_SCRIPT: Final = re.compile(r"user_script: ?(\d+)")
"""How Redis 6.2 and 7.0 say where in a script a command was refused; later ones name it."""

_BY_TEXT: Final[tuple[tuple[str, type[StorageError], str], ...]] = (
    ("OOM command not allowed", ServerFullError, _FULL),
    ("READONLY", ServerReadOnlyError, _REPLICA),
    ("MISCONF", ServerReadOnlyError, "The server cannot persist and refuses writes. Look at its log and its disk."),
    ("NOREPLICAS", ServerReadOnlyError, "The server has too few replicas to accept writes."),
    ("NOPERM", ServerReadOnlyError, _FORBIDDEN),
    ("No permissions", ServerReadOnlyError, _FORBIDDEN),
    ("no permissions to run", ServerReadOnlyError, _FORBIDDEN),
    ("can't run this command or subcommand", ServerReadOnlyError, _FORBIDDEN),
    ("can't access at least one of the keys", ServerReadOnlyError, _FORBIDDEN),
    ("WRONGPASS", ServerReadOnlyError, "The server refuses the user name or password."),
    ("NOAUTH", ServerReadOnlyError, "The server asks for a password. Put it into the URL or the client."),
    ("WRONGTYPE", WrongServerError, "A key under this prefix belongs to something else. Use another prefix=."),
    ("unknown command", WrongServerError, _TOO_OLD),
    ("Unknown Redis command", WrongServerError, _TOO_OLD),
    ("CROSSSLOT", WrongServerError, _SLOTS),
    ("same slot", WrongServerError, _SLOTS),
    ("LOADING", ServerUnavailableError, "The server is loading its data. Try again in a moment."),
    ("MASTERDOWN", ServerUnavailableError, "The replica has lost its primary. Try again, or connect to the primary."),
    ("CLUSTERDOWN", ServerUnavailableError, "The cluster is down. Try again when its slots are covered."),
    ("TRYAGAIN", ServerUnavailableError, "The cluster is moving slots. Try again."),
    ("BUSY", ServerUnavailableError, "The server is busy with a script. Try again in a moment."),
    ("UNBLOCKED", ServerUnavailableError, "The server has just changed its role. Try again."),
    ("max number of clients", ServerUnavailableError, "Too many clients. Raise maxclients, or share a pool."),
    ("Too many connections", ServerUnavailableError, _NO_CONNECTION),
    ("No connection available", ServerUnavailableError, _NO_CONNECTION),
)  # fmt: skip

_BY_CLASS: Final[tuple[tuple[str, type[StorageError], str], ...]] = (
    ("AuthenticationError", ServerReadOnlyError, "The server refuses the user name or password."),
    ("BusyLoadingError", ServerUnavailableError, "The server is loading its data. Try again in a moment."),
    ("ReadOnlyError", ServerReadOnlyError, _REPLICA),
    ("OutOfMemoryError", ServerFullError, _FULL),
    ("NoPermissionError", ServerReadOnlyError, _FORBIDDEN),
    ("InvalidResponse", WrongServerError, "What answers does not speak the Redis protocol. Check host and port."),
    ("MasterNotFoundError", ServerUnavailableError, "Sentinel knows no primary. Check the service name; try again."),
    ("MaxConnectionsError", ServerUnavailableError, _NO_CONNECTION),
    ("TimeoutError", ServerUnavailableError, "The server did not answer in time. It is safe to try again."),
    ("ConnectionError", ServerUnavailableError, _UNREACHABLE),
    ("ClusterError", ServerUnavailableError, "The cluster cannot serve this now. Try again."),
)  # fmt: skip


def is_client_error(error: BaseException) -> bool:
    """Tell whether a client library raised this."""
    return any(kind.__module__.split(".")[0] in _CLIENT_MODULES for kind in type(error).__mro__)


def is_no_script(error: BaseException) -> bool:
    """Tell whether the server does not know a script yet."""
    return type(error).__name__ == "NoScriptError" or str(error).startswith("NOSCRIPT")


def may_retry(error: BaseException) -> bool:
    """Tell whether a connection broke, so that the same call may succeed on a new one."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return "ConnectionError" in names and not names & {"AuthenticationError", "BusyLoadingError", "MaxConnectionsError"}


def translate(error: BaseException, keys: Sequence[Any] = ()) -> StorageError | None:
    """Return this package's error for a client library's, or None when it is none.

    Args:
        keys: Keys of the call, to name the pattern that a user without rights to them lacks.
    """
    if isinstance(error, PortableCheckpointError):
        return None
    if isinstance(error, OSError) and not is_client_error(error):
        return ServerUnavailableError(f"{error}. The server cannot be reached; it is safe to try again.")
    if not is_client_error(error):
        return None
    text = str(error)
    for needle, kind, advice in _BY_TEXT:
        if needle in text:
            return kind(f"{_short(text)}. {_advice(advice, text, keys)}")
    names = {base.__name__ for base in type(error).__mro__}
    for name, kind, advice in _BY_CLASS:
        if name in names:
            return kind(f"{_short(text) or name}. {_advice(advice, text, keys)}")
    return StorageError(f"{type(error).__name__}: {_short(text)}")


def _advice(advice: str, text: str, keys: Sequence[Any]) -> str:
    return advice.format(rights=" ".join(_lacking(text, keys))) if advice is _FORBIDDEN else advice


def _lacking(text: str, keys: Sequence[Any]) -> list[str]:
    """Name what a refused user lacks as ACL SETUSER takes it: commands, else the pattern of the keys."""
    named, script, lines = _COMMAND.search(text), _SCRIPT.search(text), _LINE_OF_SCRIPT.findall(text)
    if named is not None:
        return [f"+{named[1].lower()}"]
    if "can't run" in text:
        commands = commands_at(script[1].encode(), map(int, lines)) if script else []
        return [f"+{name}" for name in commands or ["<command>"]]
    return [f"~{prefix_of(keys[0])}:*" if keys else "~<prefix>:*"]


def _short(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")
