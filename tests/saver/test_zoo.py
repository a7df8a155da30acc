"""Every value that the serializer can store comes back as InMemorySaver gives it back, wherever it stands."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Send

from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, put_all
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable
from tests.saver.zoo import ZOO
from tests.saver.zoo_messages import MESSAGES, conversation

Make = Callable[[], Any]

PLACES: dict[str, Callable[[Make], Any]] = {
    "itself": lambda make: make(),
    "in a list": lambda make: [make()],
    "in a list of messages": lambda make: [HumanMessage("before"), make(), AIMessage("after")],
    "in a dict": lambda make: {"k": make(), 7: [make()]},
    "in a message": lambda make: AIMessage("x", additional_kwargs={"k": make()}),
    "in a send": lambda make: Send("node", {"messages": [make()]}),
}


@pytest.mark.parametrize("name", ZOO)
def test_value_comes_back_as_from_memory(
    saver: Any, make_saver: Any, oracle: ModelSaver, calls: Calls, name: str
) -> None:
    values = {place: wrap(ZOO[name]) for place, wrap in PLACES.items()}
    put = put_all(calls, [saver, oracle], config("t"), checkpoint(values), dict.fromkeys(values, 1))
    for each in (saver, oracle):
        calls.put_writes(each, put, list(values.items()), "task")
    expected = comparable(oracle.get_tuple(put))
    assert_same(comparable(calls.get_tuple(saver, put)), expected)
    assert_same(comparable(calls.get_tuple(make_saver(), config("t"))), expected)
    assert_same([comparable(found) for found in calls.list(make_saver(), config("t"))], [expected])


@pytest.mark.parametrize("name", ZOO)
def test_value_in_metadata_comes_back_as_from_memory(saver: Any, oracle: ModelSaver, calls: Calls, name: str) -> None:
    put = put_all(calls, [saver, oracle], config("t"), checkpoint({}), {}, extra=ZOO[name]())
    assert_same(comparable(calls.get_tuple(saver, put)), comparable(oracle.get_tuple(put)))


@pytest.mark.parametrize("name", MESSAGES)
def test_message_knows_which_of_its_fields_were_set(saver: Any, oracle: ModelSaver, name: str) -> None:
    put = put_all(Calls(), [saver, oracle], config("t"), checkpoint({"messages": [MESSAGES[name]()]}), {"messages": 1})
    ours, theirs = (each.get_tuple(put).checkpoint["channel_values"]["messages"][0] for each in (saver, oracle))
    assert ours.model_fields_set == theirs.model_fields_set


def _spoil(value: Any) -> None:
    """Change a state in place, at every depth that a careless node might."""
    message = value["messages"][0]
    message.content = "spoilt"
    message.additional_kwargs["deep"]["list"].append("spoilt")
    value["messages"].append(HumanMessage("spoilt"))
    value["plain"]["a"]["b"] = "spoilt"
    value["numbers"].clear()


def _spoilable() -> dict[str, Any]:
    extras = {"deep": {"list": [1]}}
    return {
        "messages": [AIMessage("x", additional_kwargs=extras)],
        "plain": {"a": {"b": 1}},
        "numbers": list(range(500)),
    }


def test_changing_what_was_put_does_not_change_what_is_stored(saver: Any, calls: Calls) -> None:
    values = _spoilable()
    put = calls.put(saver, config("t"), checkpoint(values), {}, dict.fromkeys(values, 1))
    calls.put_writes(saver, put, list(values.items()), "task")
    _spoil(values)
    found = calls.get_tuple(saver, put)
    assert found is not None
    assert_same(found.checkpoint["channel_values"], _spoilable())
    assert_same({channel: value for _, channel, value in found.pending_writes or ()}, _spoilable())


def test_changing_what_was_read_does_not_change_what_is_read_next(saver: Any, calls: Calls) -> None:
    values = _spoilable()
    put = calls.put(saver, config("t"), checkpoint(values), {"source": "loop"}, dict.fromkeys(values, 1))
    calls.put_writes(saver, put, list(values.items()), "task")
    for _ in range(3):
        found = calls.get_tuple(saver, put)
        assert found is not None
        assert_same(found.checkpoint["channel_values"], _spoilable())
        assert_same({channel: value for _, channel, value in found.pending_writes or ()}, _spoilable())
        assert found.metadata == {"source": "loop"}
        _spoil(found.checkpoint["channel_values"])
        _spoil({channel: value for _, channel, value in found.pending_writes or ()})
        found.metadata["source"] = "fork"
        found.checkpoint["channel_versions"].clear()


def test_two_reads_share_no_object(saver: Any) -> None:
    put = saver.put(config("t"), checkpoint({"messages": conversation()}), {}, {"messages": 1})
    first, second = (saver.get_tuple(put).checkpoint["channel_values"]["messages"] for _ in range(2))
    assert not {id(message) for message in first} & {id(message) for message in second}


CHANGES: dict[str, tuple[Any, Any]] = {
    "one becomes true": (1, True),
    "one becomes a float": (1, 1.0),
    "zero changes its sign": (0.0, -0.0),
    "tuple becomes list": ((1,), [1]),
    "text becomes bytes": ("x", b"x"),
    "dict changes its order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "nested value": ({"a": [1]}, {"a": [2]}),
    "none appears": ({}, {"a": None}),
}
FIELDS: dict[str, Callable[[AIMessage, Any], None]] = {
    "additional_kwargs": lambda message, value: message.additional_kwargs.update(k=value),
    "response_metadata": lambda message, value: message.response_metadata.update(k=value),
    "content block": lambda message, value: message.content.__setitem__(0, {"type": "text", "text": "x", "k": value}),  # type: ignore[union-attr]
    "tool call arguments": lambda message, value: message.tool_calls[0]["args"].update(k=value),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("change", CHANGES)
def test_message_changed_in_place_between_two_puts(
    saver: Any, oracle: ModelSaver, calls: Calls, field: str, change: str
) -> None:
    """The same object, with the same id, changed by a node: a cache by identity or by `==` would miss it."""
    call = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}
    message, place = AIMessage([{"type": "text", "text": "x"}], id="a", tool_calls=[call]), config("t")
    puts = []
    for version, value in enumerate(CHANGES[change], start=1):
        FIELDS[field](message, copy.deepcopy(value))
        made = checkpoint({"messages": [message]}, {"messages": version})
        place = put_all(calls, [saver, oracle], place, made, {"messages": version})
        puts.append(place)
    for put in puts:
        assert_same(comparable(calls.get_tuple(saver, put)), comparable(oracle.get_tuple(put)))
