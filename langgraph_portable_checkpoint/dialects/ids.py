"""Ids and names that a target accepts: deterministic, free of collisions, the same for a call and its result.

An id is kept where the target's `IdRule` takes it and it is not used yet. Otherwise the new id is made of the old one
and its occurrence, so that a call id that a provider uses again in a later turn (Kimi's "functions.search:0") gets an
id of its own. The outcome depends only on what came before: the ids of a history's beginning do not change when the
history grows.
"""

from __future__ import annotations

import hashlib
import string
from dataclasses import replace
from typing import Final, Literal

from .base import IdRule

_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase

_LETTERS: Final = bytes(ord(_ALPHABET[byte % 62]) for byte in range(256))
"""The letter for each byte of a digest."""


def digest_id(rule: IdRule, original: str, *, occurrence: int = 0) -> str:
    """Make an id that fits `rule` from an original id and its occurrence.

    >>> import re
    >>> digest_id(IdRule(pattern=re.compile("[a-zA-Z0-9]{9}"), max_length=9, prefix="", digest_length=9), "toolu_1")
    'xk1aw74ba'
    """
    seed = f"{occurrence}\0{original}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha512(seed).digest()[: rule.digest_length]
    return (rule.prefix + digest.translate(_LETTERS).decode("ascii"))[: rule.max_length]


class IdMap:
    """Assigns target ids to calls, one after the other in the order of the history."""

    def __init__(self, rule: IdRule | None, *, unique: Literal["request", "step"] = "request") -> None:
        self._rule = rule
        self._unique = unique
        self._used: set[str] = set()
        self._seen: dict[str, int] = {}

    def start_step(self) -> None:
        """Begin the calls of the next assistant message."""
        if self._unique == "step":
            self._used.clear()

    def assign(self, original: str | None) -> str | None:
        """Return the id for the next call whose id in the history is `original` (None if it has none)."""
        if self._rule is None:
            return original
        key = original or ""
        occurrence = self._seen.get(key, 0)
        self._seen[key] = occurrence + 1
        fits = self._rule.accepts(key) and key not in self._used
        new = key if fits else self._make(self._rule, key, occurrence=occurrence)
        self._used.add(new)
        return new

    def _make(self, rule: IdRule, key: str, *, occurrence: int) -> str:
        new = digest_id(rule, key, occurrence=occurrence)
        while new in self._used:
            occurrence += 1_000_003
            new = digest_id(rule, key, occurrence=occurrence)
        return new


class NameMap:
    """Replaces names that a target refuses by ones that resemble them, always the same for the same name."""

    def __init__(self, rule: IdRule | None) -> None:
        self._rule = rule
        self._names: dict[str, str] = {}

    def assign(self, name: str) -> str:
        """Return the name to use for `name`."""
        if self._rule is None:
            return name
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = name if self._rule.accepts(name) else _legible(self._rule, name)
        return known


def _legible(rule: IdRule, name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    tail = digest_id(replace(rule, max_length=8, prefix="", digest_length=8), name)
    return f"{kept[: rule.max_length - 9]}_{tail}"
