"""open_saver: the savers that threads can be moved between, by URL.

| URL | saver | package |
|---|---|---|
| `redis://`, `rediss://`, `unix://` | PortableRedisSaver | this one |
| `embedded:///folder`, or the path of a folder | PortableRedisSaver on its own Valkey | this one, extra `embedded` |
| `sqlite:///file` | SqliteSaver | langgraph-checkpoint-sqlite |
| `postgresql://` | PostgresSaver | langgraph-checkpoint-postgres |
| `redisjson+redis://` (or rediss, unix) | RedisSaver of RedisJSON | langgraph-checkpoint-redis |
| `valkey-aws://` (or `valkey-aws+unix://`) | ValkeySaver | langgraph-checkpoint-aws[valkey] |
| `module:factory` | what the factory returns: a saver, or a context manager of one | |

Passwords are in no message of this module.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..errors import MissingPackageError, SaverUrlError, WrongServerError
from ..saver import PortableRedisSaver
from .steps import Saver

Opened = AbstractContextManager[Saver]
FORMS: Final = (
    "redis://, rediss://, unix://, embedded:///FOLDER, sqlite:///FILE, postgresql://, redisjson+redis://, "
    "valkey-aws://, or MODULE:FACTORY"
)
_FACTORY: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SECRET: Final = re.compile(r"([?&](?:password|passwd|pwd|secret|token|key)=)[^&]*", re.IGNORECASE)


@contextmanager
def open_saver(url: str, *, create: bool = True, **options: Any) -> Iterator[Saver]:
    """Open a saver by URL, and close it at the end.

    Args:
        url: See the table above.
        create: Whether a file or folder that is not there is made; False for what is only read.
        options: For savers of ours: prefix, serde, ttl_seconds, ... as the constructor takes them.

    Raises:
        SaverUrlError: the URL is of no known form, or names nothing that is there.
        MissingPackageError: names the package to install.
    """
    with _opener(url)(url, create, options) as saver:
        if not isinstance(saver, BaseCheckpointSaver):
            raise SaverUrlError(f"{redacted(url)} gives a {type(saver).__name__}, which is no checkpoint saver.")
        yield saver


def redacted(url: str) -> str:
    """Spell a URL without its password."""
    try:
        parts = urlsplit(url)
        if parts.password is not None:
            user, _, host = parts.netloc.rpartition("@")
            url = url.replace(parts.netloc, f"{user.partition(':')[0]}:***@{host}", 1)
        return _SECRET.sub(r"\1***", url)
    except ValueError:
        return "the URL given"


Opener = Callable[[str, bool, dict[str, Any]], Opened]


def _opener(url: str) -> Opener:
    scheme, separator, _ = url.partition("://")
    if separator and scheme in _OPENERS:
        return _OPENERS[scheme]
    if not separator and _FACTORY.fullmatch(url):
        return _open_factory
    if url and not separator and Path(url).is_dir():
        return _open_folder
    raise SaverUrlError(f"{redacted(url)!r} names no saver. Use one of {FORMS}.")


def _imported(module: str, *, what: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(what, package=package) from error


def _open_ours(url: str, _create: bool, options: dict[str, Any]) -> Opened:
    try:
        return PortableRedisSaver.from_url(url, **options)
    except ValueError as error:
        raise SaverUrlError(f"{redacted(url)!r} is no URL of a Redis or Valkey server.") from error


def _open_folder(url: str, create: bool, options: dict[str, Any]) -> Opened:
    folder = Path(unquote(url.removeprefix("embedded://")))
    if not create and not folder.is_dir():
        raise SaverUrlError(f"there is no folder {str(folder)!r}.")
    return PortableRedisSaver.embedded(folder, **options)


def _open_sqlite(url: str, create: bool, _options: dict[str, Any]) -> Opened:
    sqlite = _imported("langgraph.checkpoint.sqlite", what="sqlite://", package="langgraph-checkpoint-sqlite")
    file = unquote(url.removeprefix("sqlite:///"))
    if file.startswith("sqlite:"):
        raise SaverUrlError(f"{redacted(url)!r}: write sqlite:///relative/file or sqlite:////absolute/file.")
    if not create:
        _check_sqlite(Path(file))
    return sqlite.SqliteSaver.from_conn_string(file)  # type: ignore[no-any-return]  # a module found at run time


def _check_sqlite(file: Path) -> None:
    """Refuse what SqliteSaver would make its tables in, or trip over, before it looks."""
    if not file.is_file():
        raise SaverUrlError(f"there is no file {str(file)!r}.")
    try:
        with closing(sqlite3.connect(file)) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(checkpoints)")}
    except sqlite3.DatabaseError as error:
        raise SaverUrlError(f"file {str(file)!r} cannot be read as a database of SqliteSaver: {error}.") from error
    if not columns >= {"thread_id", "checkpoint_ns", "checkpoint_id"}:
        raise SaverUrlError(f"file {str(file)!r} has no threads of SqliteSaver: its table of checkpoints is not there.")


@contextmanager
def _open_postgres(url: str, create: bool, _options: dict[str, Any]) -> Iterator[Saver]:
    postgres = _imported(
        "langgraph.checkpoint.postgres", what="postgresql://", package="langgraph-checkpoint-postgres 'psycopg[binary]'"
    )
    conninfo = importlib.import_module("psycopg.conninfo")
    try:
        conninfo.conninfo_to_dict(url)
    except importlib.import_module("psycopg").ProgrammingError as error:
        raise SaverUrlError(f"{redacted(url)!r} is no URL of a PostgreSQL database.") from error
    with postgres.PostgresSaver.from_conn_string(url) as saver:
        if create:
            saver.setup()
        yield saver


@contextmanager
def _open_redisjson(url: str, create: bool, _options: dict[str, Any]) -> Iterator[Saver]:
    module = _imported("langgraph.checkpoint.redis", what="redisjson+redis://", package="langgraph-checkpoint-redis")
    address = _checked_port(url.removeprefix("redisjson+"), url)
    with module.RedisSaver.from_conn_string(address) as saver:
        if not create and not _has_index(saver, url):
            raise SaverUrlError(f"there are no threads of RedisSaver at {redacted(url)}: it has no index there.")
        saver.setup()
        yield saver


def _has_index(saver: Any, url: str) -> bool:
    try:
        return bool(saver.checkpoints_index.exists())
    except Exception as error:  # the client library's own, which is not imported here
        if "unknown command" not in str(error):
            raise
        what = f"the server at {redacted(url)} has no RedisJSON and RediSearch, which RedisSaver needs."
        raise WrongServerError(f"{what} Threads of other savers have other URLs: {FORMS}.") from error


def _checked_port(address: str, url: str) -> str:
    try:
        _ = urlsplit(address).port
    except ValueError as error:
        raise SaverUrlError(f"{redacted(url)!r} is no URL of a server ({error}).") from error
    return address


def _open_valkey(url: str, _create: bool, _options: dict[str, Any]) -> Opened:
    package = "'langgraph-checkpoint-aws[valkey]'"
    module = _imported("langgraph_checkpoint_aws.checkpoint.valkey.saver", what="valkey-aws://", package=package)
    address = (
        url.removeprefix("valkey-aws+") if url.startswith("valkey-aws+") else url.replace("valkey-aws", "valkey", 1)
    )
    return module.ValkeySaver.from_conn_string(_checked_port(address, url))  # type: ignore[no-any-return]  # a module found at run time


@contextmanager
def _open_factory(url: str, _create: bool, _options: dict[str, Any]) -> Iterator[Saver]:
    module_name, _, path = url.partition(":")
    found: Any = _in_this_folder(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise SaverUrlError(f"module {module_name!r} has no {path!r}.")
        found = getattr(found, name)
    made = found if isinstance(found, BaseCheckpointSaver) else _made(found, url)
    if isinstance(made, BaseCheckpointSaver) or not hasattr(made, "__enter__"):
        yield made
        return
    with made as saver:
        yield saver


def _made(factory: Any, url: str) -> Any:
    try:
        return factory()
    except (SaverUrlError, OSError):
        raise
    except Exception as error:  # whatever the user's own code raises
        raise SaverUrlError(f"{url} made no saver: {type(error).__name__}: {error}") from error


def _in_this_folder(module_name: str) -> Any:
    """Import a module, also from the working folder, as `python -m` would."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise SaverUrlError(f"there is no module {module_name!r} here ({error}).") from error
    except Exception as error:  # whatever the user's own code raises
        raise SaverUrlError(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)


_OPENERS: Final[Mapping[str, Opener]] = {
    "redis": _open_ours,
    "rediss": _open_ours,
    "unix": _open_ours,
    "embedded": _open_folder,
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgres": _open_postgres,
    "redisjson+redis": _open_redisjson,
    "redisjson+rediss": _open_redisjson,
    "redisjson+unix": _open_redisjson,
    "valkey-aws": _open_valkey,
    "valkey-aws+unix": _open_valkey,
}
