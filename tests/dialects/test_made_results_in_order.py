"""Results made for open calls stand where the call's own result would."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages


def _calls(count: int) -> list[dict[str, object]]:
    return [{"name": "look", "args": {"n": n}, "id": f"c{n}", "type": "tool_call"} for n in range(count)]


@pytest.mark.parametrize("answered", [(0,), (1,), (2,), (0, 2), (1, 2), (2, 0)])
def test_vertex_gets_each_answer_at_its_calls_place(answered: tuple[int, ...]) -> None:
    """Vertex takes no ids: it matches calls and responses of one function by their order (G8, G12)."""
    messages = [
        HumanMessage("look three times"),
        AIMessage("", tool_calls=_calls(3)),
        *(ToolMessage(f"seen {n}", tool_call_id=f"c{n}", name="look") for n in answered),
        HumanMessage("and?"),
    ]
    contents = export_messages(messages, "google", profile="vertex", incomplete="synthesize").payload["contents"]
    responses = [
        part["functionResponse"]["response"]
        for content in contents
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert [response.get("output") for response in responses] == [
        f"seen {n}" if n in answered else None for n in range(3)
    ]
    assert ["error" in response for response in responses] == [n not in answered for n in range(3)]
