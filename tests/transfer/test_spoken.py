"""Threads of our own saver are exported from stored envelopes: as their messages would be, from any other saver."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.dialects.export import read_messages
from langgraph_portable_checkpoint.envelope.everyday import said_of
from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.storage.codec import STRICT, native_encode
from langgraph_portable_checkpoint.storage.items import pack, unpack
from langgraph_portable_checkpoint.transfer.comparing import difference
from langgraph_portable_checkpoint.transfer.conversations import config_of, read_conversation
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import hard_messages, plain_messages, spoken_messages
from tests.proxy import Proxy
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory, make_saver
from tests.storage.test_foreseen import ODD
from tests.turns.scenes import Ask, Talk

__all__ = ["make_saver"]
CALL: dict[str, Any] = {"name": "look", "args": {"q": "tea", "n": [1, None]}, "id": "c", "type": "tool_call"}
EVERYDAY: dict[str, BaseMessage] = {
    "question": HumanMessage("hi", id="a"),
    "instruction": SystemMessage("be brief"),
    "answer": AIMessage("hi", id="0195d4f0-7a1c-7000-8000-00000000000a"),
    "call": AIMessage("", tool_calls=[CALL, {**CALL, "id": "d"}], id="é"),
    "both": AIMessage("let me look", tool_calls=[CALL], name="n"),
    "result": ToolMessage("tea", tool_call_id="c", status="error", name="look"),
    "silence": HumanMessage(""),
}


def _wrong(messages: Iterable[BaseMessage]) -> list[str]:
    """Say where what a stored envelope says differs from what the message that is read from it says."""
    found = []
    for message in messages:
        try:
            stored = unpack(pack(to_envelope(message)))
            read = STRICT.loads_typed(("msgpack", native_encode(message)))
        except ormsgpack.MsgpackEncodeError:
            continue
        said = said_of(stored)
        if said is not None and isinstance(read, BaseMessage):
            (told,) = read_messages([read])
            differs = difference(said.envelope(read.id), told, "envelope")
            if differs is not None:
                found.append(f"{message!r:.200}: {differs}")
    return found


@pytest.mark.parametrize("name", EVERYDAY)
def test_stored_envelopes_of_everyday_messages_tell_all(name: str) -> None:
    said = said_of(to_envelope(EVERYDAY[name]))
    assert said is not None
    assert _wrong([EVERYDAY[name]]) == []
    one, other = said.envelope("a"), said.envelope("b")
    for block in one["content"]:
        block.setdefault("args", {})["changed"] = True  # type: ignore[typeddict-item]
    assert other == {**read_messages([EVERYDAY[name]])[0], "id": "b"}


TEXT = {"type": "text", "text": "hi"}
TOLD_OTHERWISE: list[dict[str, Any]] = [
    {"role": "user", "content": [TEXT, TEXT]},
    {"role": "user", "content": [{"type": "text", "text": ""}]},
    {"role": "user", "content": [CALL]},
    {"role": "assistant", "content": [CALL, TEXT]},
    {"role": "assistant", "content": [CALL, CALL]},
    {"role": "assistant", "content": [{**CALL, "arguments": "{}"}]},
    {"role": "assistant", "content": [{**CALL, "args": {"n": 2**64}}]},
    {"role": "assistant", "content": [{**TEXT, "annotations": []}]},
    {"role": "assistant", "content": [TEXT], "state": {}},
    {"role": "other", "content": [TEXT]},
    {"role": "user", "content": [TEXT], "v": 2},
]


@pytest.mark.parametrize("stored", TOLD_OTHERWISE, ids=repr)
def test_envelope_that_no_everyday_message_has_is_left_to_the_general_way(stored: dict[str, Any]) -> None:
    assert said_of({"v": 1, **stored}) is None
    assert said_of({"v": 1, "role": "user", "content": [TEXT]}) is not None


def test_any_odd_value_in_any_field_is_told_rightly_or_not_at_all() -> None:
    changed = [
        base.model_copy(update={name: value}) for base in EVERYDAY.values() for name in base.__dict__ for value in ODD
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pydantic's, at values of the wrong type
        assert _wrong(changed) == []


def test_recorded_and_hard_messages_are_told_rightly_or_not_at_all() -> None:
    recorded = [message for history in corpus_histories().values() for message in history]
    assert any(said_of(to_envelope(message)) is not None for message in recorded)
    for some in (recorded, plain_messages().values(), hard_messages().values(), spoken_messages().values()):
        assert _wrong(some) == []


@given(
    text=st.text(), name=st.none() | st.text(), args=st.dictionaries(st.text(), st.none() | st.text() | st.integers())
)
def test_any_call_is_told_rightly_or_not_at_all(text: str, name: str | None, args: Any) -> None:
    calls = [{**CALL, "args": args}]
    assert _wrong([AIMessage(text, tool_calls=calls, name=name), ToolMessage(text, tool_call_id=text, name=name)]) == []


def test_conversations_read_from_our_saver_are_those_of_any_other(make_saver: SaverFactory) -> None:
    ours, other = make_saver(), InMemorySaver()
    histories = {**corpus_histories(), "everyday": [*EVERYDAY.values()], "zoo": [*spoken_messages().values()]}
    for name, messages in histories.items():
        made = checkpoint({"note": [1], "messages": messages})
        for saver in (ours, other):
            saver.put(config(name), made, metadata(), {"note": 1, "messages": 1})
        for reader in (ours, ours, make_saver()):  # what was written, what was read before, and a stranger
            found, told = (
                read_conversation(source, config_of(name, "", None), None, full=False, read_media=True)
                for source in (reader, other)
            )
            assert read_messages(found.messages) == read_messages(told.messages), name
            assert found.pending == told.pending


THINKS: dict[str, Any] = {"type": "thinking", "thinking": "tea", "signature": "c2ln"}


@pytest.mark.parametrize("ids", [("a", "b", "a"), ("a", None, "b"), (None, "a", None)])
def test_a_message_that_was_read_before_is_read_again_under_any_id(
    make_saver: SaverFactory, ids: tuple[str | None, ...]
) -> None:
    saver = make_saver()
    big = AIMessage([{**THINKS, "thinking": "tea " * 9000}], id="big")
    said = [*(AIMessage([THINKS, TEXT, {**TEXT, "b": b"1"}], tool_calls=[CALL], id=one) for one in ids), big]
    saver.put(config("t"), checkpoint({"messages": said}), metadata(), {"messages": 1})
    for _ in range(4):
        read = read_conversation(saver, config_of("t", "", None), None, full=False, read_media=True)
        told = read_messages(said)
        found = read_messages(read.messages)
        assert found == told
        for envelope in found:
            envelope["content"][0].setdefault("extras", {})["signature"] = "changed"
            envelope["content"].pop()
            envelope["role"] = "user"


def test_items_that_wait_for_a_result_are_calls_also_without_media(make_saver: SaverFactory) -> None:
    item = {"type": "apply_patch_call", "id": "i", "call_id": "c", "status": "completed", "operation": {"path": "a"}}
    picture = {"type": "image", "base64": "AAAA" * 1024, "mime_type": "image/png"}
    made = {"model_provider": "openai", "object": "response", "id": "resp_1"}
    said = [HumanMessage("patch"), AIMessage([item, picture], response_metadata=made), HumanMessage("thanks")]
    saver = make_saver()
    saver.put(config("t"), checkpoint({"messages": said}), metadata(), {"messages": 1})
    for media in (True, False):
        read = read_conversation(saver, config_of("t", "", None), None, full=False, read_media=media)
        (envelope,) = read_messages(read.messages)[1:2]
        assert [block["type"] for block in envelope["content"]] == ["tool_call", "image"]


@pytest.mark.parametrize("media", [True, False])
def test_an_export_asks_no_more_often_than_a_read(make_saver: SaverFactory, proxy: Proxy, media: bool) -> None:
    said = [*EVERYDAY.values()] * 40
    writer, near = make_saver(), make_saver(proxy.url)
    writer.put(config("t"), checkpoint({"messages": said}), metadata(), {"messages": 1})
    trips = []
    for read in (
        lambda saver: saver.get_tuple(config("t")),
        lambda saver: export_thread(saver, "t", "langchain", resolve_media=media),
    ):
        reader = make_saver(proxy.url)
        near.get_tuple(config("another"))
        for _ in range(2):
            proxy.reset()
            assert read(reader) is not None
            trips.append(proxy.traffic.round_trips)
    assert trips[2:] == trips[:2]
    assert trips[3] == 1


class OwnList(list[Any]):
    """Is read back as a list."""


VALUES: dict[str, Any] = {
    "the channel is named otherwise": {"history": [EVERYDAY["question"], EVERYDAY["answer"]]},
    "two lists": {"a": [EVERYDAY["answer"]], "messages": [EVERYDAY["question"]]},
    "no messages": {"messages": [], "a": [EVERYDAY["answer"]]},
    "more than messages": {"messages": [EVERYDAY["question"], "text"], "a": [EVERYDAY["answer"]]},
    "a list within": {"messages": [[EVERYDAY["question"]]], "a": [EVERYDAY["question"], EVERYDAY["answer"]]},
    "a message alone": {"messages": EVERYDAY["question"], "a": [EVERYDAY["answer"], HumanMessage([{"type": "x"}])]},
    "nothing": {"n": 1},
    "a tuple": {"messages": (EVERYDAY["question"],), "a": [EVERYDAY["answer"]]},
    "a list of their own": {"messages": OwnList([EVERYDAY["question"]]), "a": [EVERYDAY["answer"]]},
    "a tuple after other values": {"n": "text " * 50, "b": {"k": "text " * 500}, "a": (EVERYDAY["answer"],)},
}


@pytest.mark.parametrize("media", [True, False])
@pytest.mark.parametrize("channel", [None, "messages", "a", "absent"])
@pytest.mark.parametrize("name", VALUES)
def test_the_same_channel_is_chosen(make_saver: SaverFactory, name: str, channel: str | None, media: bool) -> None:
    told = []
    for saver in (make_saver(), InMemorySaver()):
        saver.put(config("t"), checkpoint(VALUES[name]), metadata(), dict.fromkeys(VALUES[name], 1))
        try:
            found = read_conversation(saver, config_of("t", "", None), channel, full=False, read_media=media)
            told.append((read_messages(found.messages), ""))
        except ValueError as error:
            told.append(([], str(error)))
    assert told[0] == told[1]


def _with_history(saver: Any) -> Any:
    """Run a thread whose first messages were removed and whose last call waits for a human."""
    talk = Talk(saver, "t")
    talk.ask(HumanMessage("old question", id="1"), AIMessage("old answer", id="2"))
    talk.update(RemoveMessage(id="1"), RemoveMessage(id="2"))
    talk.ask(HumanMessage("new question", id="3"), AIMessage("", tool_calls=[CALL], id="4"), Ask("may I?"))
    return saver


@pytest.mark.parametrize("full", [False, True])
def test_lost_messages_and_waiting_calls_are_found_as_in_any_other(make_saver: SaverFactory, full: bool) -> None:
    ours, other = (
        read_conversation(_with_history(saver), config_of("t", "", None), None, full=full, read_media=True)
        for saver in (make_saver(), InMemorySaver())
    )
    assert ours.pending == other.pending == {"c"}
    assert read_messages(ours.messages) == read_messages(other.messages)
    assert len(ours.messages) == (4 if full else 2)
