"""The Lua scripts, with the names that servers know them by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Final, NamedTuple

_CALL: Final = re.compile(r"redis\.p?call\(\s*'(\w+)'")


class LoadedScript(NamedTuple):
    """A script's source and its SHA-1, as EVAL and EVALSHA take them."""

    source: bytes
    sha: bytes


_FUNCTION: Final = re.compile(rb"^local function (\w+)", re.MULTILINE)
_NAME: Final = re.compile(rb"\w+")


def commands_at(sha: bytes, lines: Iterable[int]) -> list[str]:
    """Name the commands that lines of a script may call, in lower case; none where this is none of these scripts."""
    for path in (files(__package__) / "lua").iterdir():
        script = load_script(path.name.removesuffix(".lua"))
        if script.sha == sha:
            spelled = script.source.decode().split("\n")
            return sorted({name.lower() for line in lines for name in _CALL.findall(spelled[line - 1])})
    return []


@cache
def load_script(name: str) -> LoadedScript:
    """Read a script of `lua/`, with those of the shared functions in front that it uses.

    A server makes every function anew at each call, whether it is used or not.
    """
    folder = files(__package__) / "lua"
    own, shared = ((folder / f"{each}.lua").read_bytes() for each in (name, "common"))
    head, *functions = shared.split(b"\n\n")
    names, parts = set(_NAME.findall(own)), [own]
    for function in reversed(functions):  # each uses only earlier ones
        found = _FUNCTION.search(function)
        if found is not None and found[1] in names:
            names.update(_NAME.findall(function))
            parts.append(function)
    source = b"\n\n".join([head, *reversed(parts)])
    return LoadedScript(source, sha1(source, usedforsecurity=False).hexdigest().encode())
