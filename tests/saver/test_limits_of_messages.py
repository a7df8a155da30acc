"""Messages at the edge of what LangGraph's encoder takes: stored and read back alike, or refused like there."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint import errors
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"k": value}
    return value


def with_call(value: Any) -> BaseMessage:
    return AIMessage("", tool_calls=[{"name": "f", "args": {"a": value}, "id": "1", "type": "tool_call"}], id="m")


PLACES = {
    "additional_kwargs": lambda value: HumanMessage("hi", additional_kwargs={"a": value}, id="m"),
    "response_metadata": lambda value: AIMessage("hi", response_metadata={"a": value}, id="m"),
    "tool arguments": with_call,
    "artifact": lambda value: ToolMessage("hi", tool_call_id="1", artifact=value, id="m"),
    "content block": lambda value: HumanMessage([{"type": "text", "text": "hi", "a": value}], id="m"),
}


def put(calls: Calls, saver: Any, message: BaseMessage) -> Any:
    return calls.put(
        saver, config("t"), checkpoint({"messages": [message]}, {"messages": 1}), metadata(), {"messages": 1}
    )


@pytest.mark.parametrize("place", PLACES)
def test_nesting_that_is_taken_can_be_read_and_is_taken_where_langgraph_takes_it(
    make_saver: SaverFactory, calls: Calls, place: str
) -> None:
    taken = set()
    for depth in range(244, 262):
        message, saver, oracle = PLACES[place](nested(depth)), make_saver(), InMemorySaver()
        try:
            oracle_config = put(Calls(), oracle, message)
        except (TypeError, ValueError):
            with pytest.raises(errors.UnserializableValueError):
                put(calls, saver, message)
            continue
        taken.add(depth)
        put(calls, saver, message)
        expected = oracle.get_tuple(oracle_config)
        for reader in (saver, make_saver()):
            found = calls.get_tuple(reader, config("t"))
            assert expected is not None
            assert found is not None
            assert found.checkpoint["channel_values"] == expected.checkpoint["channel_values"]
        calls.run(saver, "delete_thread", "t")
    assert 0 < len(taken) < 18


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # said to users of LangGraph's own savers, too
@pytest.mark.parametrize("content", [None, 7, 1.5, {"a": 1}])
def test_content_of_another_type_than_the_class_says_is_kept(
    make_saver: SaverFactory, calls: Calls, content: Any
) -> None:
    message = HumanMessage("hi", id="m")
    message.content = content
    oracle = InMemorySaver()
    expected = oracle.get_tuple(put(Calls(), oracle, message))
    saver = make_saver()
    put(calls, saver, message)
    for reader in (saver, make_saver()):
        found = calls.get_tuple(reader, config("t"))
        assert expected is not None
        assert found is not None
        assert repr(found.checkpoint["channel_values"]) == repr(expected.checkpoint["channel_values"])
