"""Options that mean nothing, and selections that leave nothing, are errors that name them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_portable_checkpoint import export_messages, export_thread, import_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.errors import (
    IncompatibleHistoryError,
    MalformedHistoryError,
    PortableCheckpointError,
)

HISTORY: list[BaseMessage] = [HumanMessage("hi"), AIMessage("yo"), HumanMessage("more")]
PROVIDERS = [name for name in bundled_names() if get_dialect(name).writes and name not in ("otel", "langchain")]


@pytest.mark.parametrize(
    "option", ["incomplete", "orphans", "reasoning", "missing_signature", "on_unsupported_part", "server_tools"]
)
@pytest.mark.parametrize("value", ["keep_everything", None, ["drop"]])
def test_a_word_that_an_option_does_not_know_is_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{option}="):
        export_messages(HISTORY, "anthropic", **{option: value})


@pytest.mark.parametrize("turns", [-1, (2, 1), (-1, -2)])
def test_turns_that_cannot_be_selected_are_refused(turns: Any) -> None:
    with pytest.raises(ValueError, match=r"^turns="):
        export_messages(HISTORY, "openai-chat", turns=turns)


@pytest.mark.parametrize("turns", [(0, -1), (-2, None), (0, 1), 1])
def test_turns_counted_from_either_end_are_selected(turns: Any) -> None:
    assert export_messages(HISTORY, "openai-chat", turns=turns).payload["messages"]


@pytest.mark.parametrize("dialect", PROVIDERS)
@pytest.mark.parametrize(("history", "turns"), [([], None), (HISTORY, 0), (HISTORY, (5, 7))])
def test_an_export_without_messages_is_refused(dialect: str, history: list[BaseMessage], turns: Any) -> None:
    with pytest.raises(IncompatibleHistoryError, match="no message"):
        export_messages(history, dialect, turns=turns)


@pytest.mark.parametrize("dialect", ["anthropic", "google", "bedrock"])
def test_instructions_alone_are_refused_where_they_stand_apart(dialect: str) -> None:
    with pytest.raises(IncompatibleHistoryError, match="nothing but system messages"):
        export_messages([SystemMessage("be kind")], dialect)


@pytest.mark.parametrize("dialect", ["otel", "langchain"])
def test_neutral_dialects_keep_an_empty_history(dialect: str) -> None:
    assert export_messages([], dialect).payload == {"messages": []}


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "turns as text": (lambda: export_messages(HISTORY, "anthropic", turns="2"), "turns='2'"),  # type: ignore[arg-type]
    "turns as flag": (lambda: export_messages(HISTORY, "anthropic", turns=True), "turns=True"),
    "a range of three": (lambda: export_messages(HISTORY, "anthropic", turns=(1, 2, 3)), "turns="),  # type: ignore[arg-type]
    "a counter of texts": (
        lambda: export_messages(HISTORY, "anthropic", max_tokens=3, count_tokens=lambda _: "x"),  # type: ignore[arg-type,return-value]
        "count_tokens gave 'x'",
    ),
    "no messages": (lambda: export_messages(None, "anthropic"), "list of messages"),  # type: ignore[arg-type]
    "one message": (lambda: export_messages(HISTORY[0], "anthropic"), "HumanMessage is no list"),  # type: ignore[arg-type]
    "a model object": (lambda: export_messages(HISTORY, "anthropic", model=object()), "model="),
    "an id for ids": (lambda: export_messages(HISTORY, "anthropic", pending="c1"), "a set of call ids"),
    "a word for a flag": (lambda: export_messages(HISTORY, "anthropic", strict="no"), "strict='no'"),
    "a number for a function": (lambda: export_messages(HISTORY, "anthropic", load_media=5), "load_media=5"),
    "another path": (lambda: import_messages(Path("/data/session")), "is a path"),
    "messages to import": (lambda: import_messages(HISTORY), "LangChain messages already"),
    "a server as source": (lambda: export_thread("redis://h", "t", to="anthropic"), "from_url"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_what_to_do(mistake: str) -> None:
    make, named = MISTAKES[mistake]
    with pytest.raises(TypeError, match=re.escape(named)):
        make()


@pytest.mark.parametrize("text", ["{}", "[1]", "hello there.json", '{"a": "/tmp"}'])
def test_texts_that_are_no_paths_are_read(text: str) -> None:
    with pytest.raises(PortableCheckpointError):
        import_messages(text, "anthropic")


@pytest.mark.parametrize("path", ["session.jsonl", "~/.codex/sessions/a", "~", "/data/a"])
def test_a_path_as_text_is_no_history_and_says_so(path: str) -> None:
    with pytest.raises(MalformedHistoryError, match="is a path: give what the file holds"):
        import_messages(path, "claude-code")
