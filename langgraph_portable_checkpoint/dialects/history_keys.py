"""Under which keys of a payload the dialects find a history.

A dialect reads one form of a payload: a request, or a response. What stands beside it is a setting of the request, or
another history (a response logged beside its request, another dialect's list): that one is told, and kept among the
settings as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final, NamedTuple

from .concerns import SECOND_HISTORY
from .report import Report


class Form(NamedTuple):
    """Keys that a payload of this form has, and others that are read with them."""

    marks: tuple[str, ...]
    also: tuple[str, ...] = ()


_CHAT: Final = (Form(("messages",)), Form(("choices",)))
_OTEL: Final = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages", "messages")
_GOOGLE_SYSTEM: Final = ("system_instruction", "systemInstruction")
_FORMS: Final[Mapping[str, tuple[Form, ...]]] = {
    "openai-responses": (Form(("output",), ("instructions",)), Form(("input",), ("instructions",))),
    "openai-chat": _CHAT,
    "anthropic": (Form(("role", "content")), Form(("messages",), ("system",))),
    "google": (
        Form(("candidates",)),
        Form(("method", "response")),
        Form(("sessionId", "messages")),
        Form(("contents",), _GOOGLE_SYSTEM),
        Form(("parts",), ("role",)),
    ),
    "bedrock": (Form(("output",)), Form(("messages",), ("system",))),
    "mistral": _CHAT,
    "otel": (Form((), _OTEL),),
    "agent-checkpoint": (Form(("lines",)),),
    "langchain": (Form(("messages",)),),
    "session-envelope": (Form(("messages",)),),
}
"""The forms that a dialect reads, in the order in which it looks for them."""
_HISTORIES: Final = frozenset(
    {"messages", "input", "output", "choices", "candidates", "contents", "content", "parts", "lines", *_OTEL}
    | {"response", "system", "instructions", *_GOOGLE_SYSTEM}
)


def settings_of(payload: Any, dialect: str, report: Report) -> dict[str, Any]:
    """Return what of a payload was not read as its history, and tell where that is a history too."""
    if not isinstance(payload, Mapping):
        return {}
    form = next((form for form in _FORMS.get(dialect, ()) if _has(payload, form)), None)
    if form is None:
        return {key: value for key, value in payload.items() if key not in _HISTORIES}
    read = {*form.marks, *form.also}
    for key in payload:
        if key in _HISTORIES and key not in read and payload[key]:
            action = f"left out {key}, which is kept among the settings: the history was read from {_named(form, read)}"
            report.add(SECOND_HISTORY.rule, SECOND_HISTORY.kind, action=action, path=key)
    return {key: value for key, value in payload.items() if key not in read and (value or key not in _HISTORIES)}


def _has(payload: Mapping[str, Any], form: Form) -> bool:
    return all(isinstance(payload.get(key), (str, list, tuple, Mapping)) for key in form.marks)


def _named(form: Form, read: Set[str]) -> str:
    return " and ".join(form.marks or sorted(read))
