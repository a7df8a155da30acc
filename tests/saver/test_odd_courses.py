"""Turns of threads that take an odd course: prunes and deletes between puts, much rewritten at once, odd messages."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint.serde import DataSerializer
from langgraph_portable_checkpoint.transfer.comparing import difference
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory

SAID = [HumanMessage("hi", id="1"), AIMessage("yo", id="2"), HumanMessage("more", id="3"), AIMessage("ok", id="4")]


def _put(saver: Any, calls: Calls, place: Any, said: list[Any], *, other: int = 0, new: tuple[str, ...] = ()) -> Any:
    values = {"messages": said, "other": other}
    versions = {"messages": len(said), "other": other}
    return calls.put(saver, place, checkpoint(values, versions), metadata(), {name: versions[name] for name in new})


@pytest.mark.parametrize("between", ["prune", "prune by another", "another saver"])
def test_turns_stay_when_a_step_that_says_nothing_follows(make_saver: SaverFactory, calls: Calls, between: str) -> None:
    saver = make_saver()
    first = _put(saver, calls, config("t"), SAID, new=("messages", "other"))
    place = _put(saver, calls, first, SAID, other=1, new=("other",))
    started = [turn.record["started_at"] for turn in saver.turns("t")]
    if between == "another saver":
        saver = make_saver()
    else:
        (saver if between == "prune" else make_saver()).prune(["t"])
    place = _put(saver, calls, place, SAID, other=2, new=("other",))
    assert [len(turn.messages) for turn in make_saver().turns("t")] == [2, 2]
    _put(saver, calls, place, [*SAID, HumanMessage("again", id="5")], other=2, new=("messages",))
    after = list(make_saver().turns("t"))
    assert [len(turn.messages) for turn in after] == [2, 2, 1]
    assert [turn.record["started_at"] for turn in after[:2]] == started


def test_thousands_of_turns_may_go_at_once(make_saver: SaverFactory) -> None:
    """More than a script may hand to one command."""
    saver, calls = make_saver(), Calls()
    said = [(HumanMessage, AIMessage)[number % 2](str(number), id=str(number)) for number in range(16_400)]
    place = _put(saver, calls, config("t"), said, new=("messages", "other"))
    _put(saver, calls, place, said[:2], new=("messages",))
    assert [len(turn.messages) for turn in make_saver().turns("t")] == [2]
    assert make_saver().get_tuple(config("t")).checkpoint["channel_values"]["messages"] == said[:2]


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
def test_a_client_that_knew_a_deleted_thread_begins_it_anew(
    make_saver: SaverFactory, calls: Calls, sealed: bool
) -> None:
    key = b"0123456789abcdef"
    options = {"serde": EncryptedSerializer.from_pycryptodome_aes(DataSerializer(), key=key)} if sealed else {}
    saver, other = make_saver(**options), make_saver(**options)
    place = _put(saver, calls, config("t"), SAID[:2], new=("messages", "other"))
    _put(saver, calls, place, SAID, new=("messages",))
    other.delete_thread("t")
    _put(other, calls, config("t"), SAID[:1], new=("messages", "other"))
    _put(saver, calls, config("t"), SAID[:3], new=("messages", "other"))
    assert [len(turn.messages) for turn in make_saver(**options).turns("t")] == [2, 1]


def _changed(**fields: Any) -> AIMessage:
    message = AIMessage("hi", id="m")
    for name, value in fields.items():
        message.__dict__[name] = value
    return message


ODD: dict[str, BaseMessage] = {
    "a call without an id": _changed(tool_calls=[{"name": "f", "args": {}}]),
    "a call of another type": _changed(tool_calls=["x"]),
    "calls that are a map": _changed(tool_calls={"a": 1}),
    "a call whose id is a list": _changed(tool_calls=[{"name": "f", "args": {}, "id": [1]}]),
    "blocks and a call without an id": _changed(content=[{"type": "text", "text": "t"}], tool_calls=[{"name": "f"}]),
    "usage that is a list": _changed(usage_metadata=[1]),
    "metadata that is a list": _changed(response_metadata=[1]),
    "kwargs that are a text": _changed(additional_kwargs="x"),
    "an id that is no text": _changed(id="\ud800"),
}
del ODD["a call whose id is a list"].__dict__["name"]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("name", ODD)
def test_odd_messages_are_kept_as_the_framework_keeps_them(make_saver: SaverFactory, calls: Calls, name: str) -> None:
    saver, memory, said = make_saver(), InMemorySaver(serde=DataSerializer()), [ODD[name]]
    found = []
    for each, run in ((saver, calls), (memory, Calls())):
        place = _put(each, run, config("t"), said, new=("messages", "other"))
        run.put_writes(each, place, [("messages", said)], "task")
        found.append(run.get_tuple(make_saver() if each is saver else each, place))
    ours, theirs = ((each.checkpoint["channel_values"], each.pending_writes) for each in found if each is not None)
    assert difference(ours, theirs, "kept") is None
    assert [len(turn.messages) for turn in saver.turns("t")] == [1]
