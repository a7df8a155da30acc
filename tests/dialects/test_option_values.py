"""Options that mean nothing, and selections that leave nothing, are errors that name them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_portable_checkpoint.dialects.export import export_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError

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
