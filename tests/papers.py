"""The parts of pages that are made from code, and the examples that stand in them.

`python -m tests.papers` writes the table of errors into docs/operations.md.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from langgraph_portable_checkpoint import errors

_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def error_table() -> str:
    """The table of errors in docs/operations.md: the tree, in the order of `errors`, roots before leaves."""
    rows = ["| error | also | means |", "|---|---|---|"]
    for error in _errors():
        also = ", ".join(f"`{base.__name__}`" for base in error.__bases__ if base is not Exception)
        rows.append(f"| `{error.__name__}` | {also} | {(inspect.getdoc(error) or '').partition(chr(10) * 2)[0]} |")
    return "\n".join(row.replace("\n", " ") for row in rows)


def _errors() -> list[type[Exception]]:
    found = [member for member in vars(errors).values() if isinstance(member, type) and issubclass(member, Exception)]
    return [error for error in found if error.__module__ == errors.__name__]


@dataclass(frozen=True)
class Example:
    """A block of Python in a page, and the text block that directly follows it, if any."""

    page: str
    number: int
    code: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def examples(page: str, text: str) -> Iterator[Example]:
    """Yield the examples of a page, in order."""
    blocks = list(_BLOCK.finditer(text))
    numbers = (number for number, block in enumerate(blocks) if block[1] == "python")
    for count, number in enumerate(numbers):
        follower = blocks[number + 1] if number + 1 < len(blocks) else None
        follows = follower is not None and not text[blocks[number].end() : follower.start()].strip()
        output = follower[2] if follower is not None and follows and follower[1] == "text" else None
        yield Example(page, count, blocks[number][2], output)


def with_error_table(page: str) -> str:
    """Return docs/operations.md with the present table of errors."""
    return re.sub(r"^\| error \| also .*?(?=\n\n|\n\Z)", lambda _: error_table(), page, flags=re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    operations = Path(__file__).resolve().parents[1] / "docs" / "operations.md"
    operations.write_text(with_error_table(operations.read_text(encoding="utf-8")), encoding="utf-8")
