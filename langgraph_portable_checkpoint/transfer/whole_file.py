"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside `path` that takes its place at the end; on any error `path` stays as it was.

    Raises:
        OSError: the place cannot be written; carries `path`, not the name of the file beside it.
    """
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()  # a link goes on pointing where it points
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(_mode_of(target))
        beside.replace(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def _mode_of(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
