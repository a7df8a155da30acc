"""Which dialects there are: the bundled ones, and those of third parties by entry point.

A third party declares, under the entry-point group `langgraph_portable_checkpoint.dialects`, a class that takes no
arguments, or a ready object, with the members of `base.Dialect`. Nothing is imported before a dialect is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from ..errors import DialectError, UnknownDialectError
from .base import ENTRY_POINT_GROUP, Dialect
from .integrations import BY_WORD

_BUNDLED: Final[Mapping[str, str]] = {
    "openai-responses": "openai_responses:OpenAIResponses",
    "openai-chat": "openai_chat:OpenAIChat",
    "anthropic": "anthropic:Anthropic",
    "google": "google:Google",
    "bedrock": "bedrock:Bedrock",
    "mistral": "mistral:Mistral",
    "otel": "otel:OTel",
    "agent-checkpoint": "agent_checkpoint:AgentCheckpoint",
    "langchain": "langchain:LangChain",
    "claude-code": "claude_code.dialect:ClaudeCode",
    "codex": "codex.dialect:Codex",
    "session-envelope": "session_envelope:SessionEnvelope",
}
LIKELY: Final = 0.3
"""How sure a dialect must be of a payload to be taken for it."""


def bundled_names() -> tuple[str, ...]:
    """Return the names of the dialects that this package brings."""
    return tuple(_BUNDLED)


def dialect_names() -> tuple[str, ...]:
    """Return the names of all dialects, bundled ones first."""
    return (*_BUNDLED, *sorted(_third_parties().keys() - _BUNDLED.keys()))


def get_dialect(name: str) -> Dialect:
    """Return a dialect by name.

    Raises:
        UnknownDialectError: There is none of this name.
        DialectError: A third party's dialect has not the members of one.
    """
    if name not in _BUNDLED and name not in _third_parties():
        meant = " or ".join(_meant(str(name)))
        hint = f" Is it {meant}?" if meant else ""
        raise UnknownDialectError(f"there is no dialect {name!r}.{hint} There are {', '.join(dialect_names())}.")
    return _load(name)


def _meant(name: str) -> list[str]:
    """Say which dialects a name may mean: a provider, a host, a word of LangChain's, or a slip of the keyboard."""
    words = _words()
    word = name.strip().lower()
    near = [word] if word in words else get_close_matches(word, words, n=2, cutoff=0.75)
    return list(dict.fromkeys(phrase for one in near for phrase in words[one]))


@cache
def _words() -> Mapping[str, Sequence[str]]:
    """Return what each name of a dialect, profile or provider stands for."""
    names = dialect_names()
    words: dict[str, list[str]] = {name: [repr(name)] for name in names}
    for dialect in map(get_dialect, _BUNDLED):
        parts = dialect.name.split("-")
        if dialect.writes:
            parts += [*dialect.title.lower().split(), *dialect.providers, *dialect.profiles[:1]]
        for profile in dialect.profiles[1:]:
            words.setdefault(profile, []).append(f'{dialect.name!r} with profile="{profile}"')
        for word in {*parts} - {"messages", *dialect.profiles[1:], *names}:
            words.setdefault(word, []).append(repr(dialect.name))
    for word, found in BY_WORD.items():
        profile = f' with profile="{found.profile}"' if found.profile else ""
        phrases = words.setdefault(word, [])
        if not any(phrase.startswith(repr(found.dialect)) for phrase in phrases):
            phrases.append(f"{found.dialect!r}{profile}")
    return words


@cache
def _load(name: str) -> Dialect:
    if name in _BUNDLED:
        module, _, member = _BUNDLED[name].partition(":")
        found: Any = getattr(import_module(f"{__package__}.{module}"), member)
    else:
        point = _third_parties()[name]
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise DialectError(f"the entry point {name!r} ({point.value}) cannot be loaded: {error}") from error
    dialect = found() if isinstance(found, type) else found
    if not isinstance(dialect, Dialect):
        raise DialectError(f"the entry point {name!r} is no dialect: members of dialects.base.Dialect are missing")
    return dialect


@cache
def _third_parties() -> Mapping[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def recognise(payload: Any) -> Dialect:
    """Return the dialect that is surest that a payload is of it; of several equally sure ones the first.

    Raises:
        UnknownDialectError: None is sure enough.
    """
    sure = [(dialect, _sureness(dialect, payload)) for dialect in _loadable()]
    surest, sureness = max(sure, key=lambda found: found[1])  # the first of equals, as listed
    if sureness < LIKELY:
        raise UnknownDialectError(
            f"no dialect recognises this payload (a {type(payload).__name__}). "
            f"Name one with from_=: {', '.join(dialect_names())}."
        )
    return surest


def _sureness(dialect: Dialect, payload: Any) -> float:
    """Ask a dialect how sure it is; one of another package that fails at that knows nothing of the payload."""
    if dialect.name in _BUNDLED:
        return dialect.recognises(payload)
    try:
        return float(dialect.recognises(payload))
    except Exception as error:  # noqa: BLE001 - whatever another package's code may raise, and must not
        named = f"{type(error).__name__}: {error}"
        warnings.warn(f"the dialect {dialect.name!r} of another package was not asked: {named}", stacklevel=4)
        return 0.0


def _loadable() -> Iterator[Dialect]:
    """Yield all dialects; one of another package that cannot be loaded is left out with a warning."""
    for name in dialect_names():
        try:
            yield get_dialect(name)
        except (DialectError, ImportError, AttributeError) as error:
            if name in _BUNDLED:
                raise
            warnings.warn(f"the dialect {name!r} of another package was left out: {error}", stacklevel=4)
