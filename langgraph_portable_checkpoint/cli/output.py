"""What a command says: data on stdout, words on stderr.

Text of conversations is shown, never obeyed: control characters are spelled out, so that no stored byte can steer a
terminal. Secrets that were made known are hidden in all words. Tables are drawn on a terminal only; a pipe gets one
tab-separated line per row, or JSON Lines.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_TIME: Final = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00$")
MIN_COLUMN: Final = 11
"""Characters that a column of a table takes at least, on average, to be readable."""
_SPELLED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def safe_line(text: object) -> str:
    """Return a text as one line that no terminal interprets."""
    return _BREAKING.sub(_spell, str(text))


def safe_text(text: object) -> str:
    """Return a text that no terminal interprets; its line ends and tabs stay."""
    return _CONTROL.sub(_spell, str(text))


def _spell(match: re.Match[str]) -> str:
    found = match.group()
    number = ord(found)
    return _SPELLED.get(found) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


def shortened(text: str, width: int) -> str:
    """Cut a line to a width, and show that it was cut."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def shown_bytes(size_bytes: int | float) -> str:
    """Spell a size with a unit."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


class Output:
    """Where one run of the program writes.

    Args:
        data: Takes data.
        words: Takes words.
    """

    def __init__(self, data: TextIO | None = None, words: TextIO | None = None) -> None:
        self.data = data or sys.stdout
        self.words = words or sys.stderr
        self.json = False
        self.debug = False
        self.quiet = False
        self.trouble: int | None = None
        self._secrets: set[str] = set()

    def hide(self, *secrets: str | None) -> None:
        """Never write these again."""
        self._secrets.update(secret for secret in secrets if secret)

    def without_secrets(self, text: str) -> str:
        """Return a text in which known secrets are starred out."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def say(self, text: str = "") -> None:
        """Write one line of words."""
        if not self.quiet:
            self.insist(text)

    def insist(self, text: str) -> None:
        """Write one line of words that `--quiet` does not silence."""
        print(safe_text(self.without_secrets(text)), file=self.words, flush=True)

    def write(self, text: str = "") -> None:
        """Write one line of data, as it is but for what a terminal would interpret."""
        self.data.write(safe_text(text) + "\n")

    def write_now(self, text: str = "") -> None:
        """Write one line of data that somebody is waiting for."""
        self.write(text)
        self.data.flush()

    def write_json(self, value: Any, *, indent: int | None = None) -> None:
        """Write one JSON document on a line of its own; pure ASCII where the output is not UTF-8."""
        self.data.write(dump_json(value, indent=indent, ascii_only=not self.is_unicode) + "\n")

    def write_raw(self, text: str) -> None:
        """Write data to the byte: for files that happen to go to stdout."""
        self.data.flush()
        buffer = getattr(self.data, "buffer", None)
        if buffer is None:
            self.data.write(text)
        else:
            buffer.write(text.encode("utf-8", "surrogatepass"))
            buffer.flush()

    @property
    def is_unicode(self) -> bool:
        """Whether the output takes any character."""
        return (self.data.encoding or "ascii").lower().replace("-", "").startswith("utf")

    @property
    def on_terminal(self) -> bool:
        """Whether a person is reading the data."""
        return self.data.isatty()

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        from shutil import get_terminal_size

        return max(20, get_terminal_size((100, 24)).columns)

    def rows(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows: JSON Lines under `--json`, a table on a terminal, tab-separated lines in a pipe."""
        if self.json:
            for row in rows:
                self.write_json(row)
        elif self.on_terminal and self.width < MIN_COLUMN * len(columns):
            self._stacked(columns, rows)
        elif self.on_terminal:
            self._table(columns, rows)
        else:
            for number, row in enumerate(rows):
                if number == 0:
                    self.write("\t".join(columns))
                self.write("\t".join(safe_line(shown(row.get(column))) for column in columns))

    def _stacked(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Write each row as lines of its own, for terminals too narrow for a table."""
        for number, row in enumerate(rows):
            if number:
                self.write()
            for column in columns:
                if shown(row.get(column)):
                    self.write(f"{column}: {self._cell(row.get(column))}")

    def _table(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")  # an id that is cut is of no use
        for row in rows:
            cells = (row.get(column) for column in columns)
            table.add_row(*(Text(self._cell(cell), justify=_side(cell)) for cell in cells))
        if table.row_count:
            # rich looks at the terminal itself unless both sizes are given
            console = Console(file=self.data, width=self.width, height=25, highlight=False)
            console.print(table)

    def _cell(self, cell: object) -> str:
        line = _TIME.sub(r"\1Z", safe_line(shown(cell)))
        return line if self.is_unicode else line.encode("ascii", "backslashreplace").decode()

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Progress]:
        """Show how far something is, on stderr, if that is a terminal."""
        shown = Progress(self.words if self.words.isatty() and not self.quiet else None, what, total)
        try:
            yield shown
        finally:
            shown.clear()


class Progress:
    """One line on a terminal that is written over and over; nothing where there is no terminal."""

    def __init__(self, stream: TextIO | None, what: str, total: int | None) -> None:
        self._stream = stream
        self._what = what
        self.total = total
        self.count = 0
        self._shown_at = 0.0

    def advance(self, count: int = 1) -> None:
        """Count, and show the count at most ten times a second."""
        self.at(self.count + count)

    def at(self, count: int, total: int | None = None) -> None:
        """Say how far it is."""
        from time import monotonic

        self.count, self.total = count, self.total if total is None else total
        if self._stream is None or monotonic() - self._shown_at < 0.1:
            return
        self._shown_at = monotonic()
        of = f" of {self.total}" if self.total else ""
        self._stream.write(f"\r{self._what}: {self.count}{of}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away again."""
        if self._stream is not None and self._shown_at:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _side(cell: object) -> Any:
    return "right" if isinstance(cell, (int, float)) and not isinstance(cell, bool) else "left"


def shown(cell: object) -> str:
    """Spell a cell of a table: nothing for None, comma-separated lists, else as it is."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, (list, tuple)):
        return ", ".join(shown(item) for item in cell)
    return dump_json(cell) if isinstance(cell, dict) else str(cell)


def dump_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Spell a value as JSON. Bytes become base64, numbers that JSON lacks become null, other objects their text."""
    text = json.dumps(_plain(value), ensure_ascii=ascii_only, indent=indent, allow_nan=False)
    return (
        text if ascii_only else re.sub("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", _escaped, text)
    )


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        return b64encode(bytes(value)).decode()
    return str(value)
