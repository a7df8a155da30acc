"""The Lua scripts, with the names that servers know them by."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple


class LoadedScript(NamedTuple):
    """A script's source and its SHA-1, as EVAL and EVALSHA take them."""

    source: bytes
    sha: bytes


@cache
def load_script(name: str) -> LoadedScript:
    """Read a script of `lua/`, with what all scripts share in front."""
    folder = files(__package__) / "lua"
    source = (folder / "common.lua").read_bytes() + (folder / f"{name}.lua").read_bytes()
    return LoadedScript(source, sha1(source, usedforsecurity=False).hexdigest().encode())
