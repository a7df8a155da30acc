"""Which dialects there are: the bundled ones, and those of third parties by entry point.

A third party declares, under the entry-point group `langgraph_portable_checkpoint.dialects`, a class that takes no
arguments, or a ready object, with the members of `base.Dialect`. Nothing is imported before a dialect is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Final

from ..errors import DialectError, UnknownDialectError
from .base import ENTRY_POINT_GROUP, Dialect

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
    "claude-code": "claude_code:ClaudeCode",
    "codex": "codex:Codex",
    "session-envelope": "session_envelope:SessionEnvelope",
}
LIKELY: Final = 0.3
"""How sure a dialect must be of a payload to be taken for it."""


def dialect_names() -> tuple[str, ...]:
    """Return the names of all dialects, bundled ones first."""
    here = (name for name, place in _BUNDLED.items() if find_spec(f"{__package__}.{place.partition(':')[0]}"))
    return (*here, *sorted(_third_parties().keys() - _BUNDLED.keys()))


def get_dialect(name: str) -> Dialect:
    """Return a dialect by name.

    Raises:
        UnknownDialectError: There is none of this name.
        DialectError: A third party's dialect has not the members of one.
    """
    if name not in _BUNDLED and name not in _third_parties():
        raise UnknownDialectError(f"there is no dialect {name!r}; known are {', '.join(dialect_names())}")
    return _load(name)


@cache
def _load(name: str) -> Dialect:
    if name in _BUNDLED:
        module, _, member = _BUNDLED[name].partition(":")
        found: Any = getattr(import_module(f"{__package__}.{module}"), member)
    else:
        found = _third_parties()[name].load()
    dialect = found() if isinstance(found, type) else found
    if not isinstance(dialect, Dialect):
        raise DialectError(f"the entry point {name!r} is no dialect: members of dialects.base.Dialect are missing")
    return dialect


@cache
def _third_parties() -> Mapping[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def recognise(payload: Any) -> Dialect:
    """Return the dialect that is surest that a payload is of it.

    Raises:
        UnknownDialectError: None is sure enough.
    """
    scores = [(get_dialect(name).recognises(payload), -at, name) for at, name in enumerate(dialect_names())]
    score, _, name = max(scores)
    if score < LIKELY:
        raise UnknownDialectError(
            f"no dialect recognises this payload (a {type(payload).__name__}). "
            f"Name one with from_=: {', '.join(dialect_names())}."
        )
    return get_dialect(name)
