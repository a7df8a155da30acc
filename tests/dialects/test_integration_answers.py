"""Answers as each LangChain integration puts them into a thread go back to their provider whole, and to others safely."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, lint
from tests.dialects.recorded import breaches, entries
from tests.envelope.integrations import ANSWERS

HOMES: dict[str, tuple[str, str | None]] = {
    "openai chat": ("openai-chat", None),
    "openai responses": ("openai-responses", None),
    "anthropic": ("anthropic", None),
    "mistral": ("mistral", None),
    "groq": ("openai-chat", "groq"),
    "fireworks": ("openai-chat", "fireworks"),
}
TARGETS = tuple(dict.fromkeys(HOMES.values()))


def home_of(name: str) -> tuple[str, str | None] | None:
    return next((home for start, home in HOMES.items() if name.startswith(start)), None)


def thread(name: str) -> list[Any]:
    answer = ANSWERS[name]()
    results = [ToolMessage("18 degrees", tool_call_id=call["id"]) for call in answer.tool_calls]
    assert results
    return [HumanMessage("What is the weather?"), answer, *results]


def _tokenizer(name: str) -> str | None:
    """Mistral's own text beside calls goes back as it is; only tokenizers that could have made it take it."""
    return "v13" if name == "mistral" else None


@pytest.mark.parametrize("name", [name for name in ANSWERS if home_of(name)])
def test_an_answer_goes_home_whole(name: str) -> None:
    dialect, profile = home_of(name) or ("", None)
    export = export_messages(thread(name), dialect, profile=profile)
    assert not breaches(export.payload, dialect, _tokenizer(name) or profile)
    assert not lint(export.payload, dialect, profile=profile)
    # Mistral's ids have nine characters; the recorded one of this answer has not.
    assert [loss.rule for loss in export.report] == (["M1"] if dialect == "mistral" else [])
    if name not in ("openai chat", "openai chat as v1", "mistral"):
        assert "hm" in str(export.payload)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("dialect", "profile"), TARGETS)
def test_an_answer_of_anyone_is_valid_everywhere(name: str, dialect: str, profile: str | None) -> None:
    export = export_messages(thread(name), dialect, profile=profile)
    assert not breaches(export.payload, dialect, (dialect == "mistral" and _tokenizer(name)) or profile)
    assert not lint(export.payload, dialect, profile=profile)
    assert "Let me see." in str(export.payload)
    assert "18 degrees" in str(export.payload)
    if home_of(name) != (dialect, profile):
        assert "c2lnbmF0dXJl" not in str(export.payload), "a signature went to another provider"
        assert not any("reasoning" in entry for entry in entries(export.payload, dialect))
