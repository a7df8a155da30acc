"""Files that commands read and write. A file is written whole or not at all; `-` is stdin or stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from ..transfer.whole_file import whole_file
from .output import Output

STANDARD: Final = Path("-")


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes."""
    if path == STANDARD:
        return sys.stdin.buffer.read()
    return path.read_bytes()


def write_text(path: Path | None, text: str, output: Output) -> None:
    """Write a text to a file, or to stdout where none is named."""
    if path is None or path == STANDARD:
        output.write_raw(text)
        return
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
