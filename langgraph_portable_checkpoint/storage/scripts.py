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
    """Read a script of `lua/`, with what all scripts share in front."""
    folder = files(__package__) / "lua"
    source = (folder / "common.lua").read_bytes() + (folder / f"{name}.lua").read_bytes()
    return LoadedScript(source, sha1(source, usedforsecurity=False).hexdigest().encode())
