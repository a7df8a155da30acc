"""Uploads are renewed in the channel that holds the conversation; a channel that is not there is refused."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.types import Send

from langgraph_portable_checkpoint.errors import MediaError
from tests.media.test_refreshed_graphs import CONFIG, NEW, OLD, refresh
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

PART = {"type": "file", "url": OLD, "mime_type": "audio/wav"}
ASKED = [HumanMessage([PART], id="q"), AIMessage("ok", id="a")]
OTHER = [HumanMessage("a note", id="n")]


def put(calls: Calls, saver: Any, values: dict[str, Any]) -> None:
    made = checkpoint(values)
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])


@pytest.mark.parametrize(
    ("channels", "values", "renewed"),
    [
        (("messages",), {"notes": OTHER, "messages": ASKED}, "messages"),
        (("chat",), {"messages": OTHER, "chat": ASKED}, "chat"),
        (("chat", "messages"), {"messages": ASKED, "n": 1}, "messages"),
        (("messages",), {"n": 1, "chat": ASKED}, "chat"),
        (("messages",), {"messages": [], "chat": ASKED}, "chat"),
        (("messages",), {"messages": [{"role": "user", "content": [PART]}]}, "messages"),
        (("messages",), {"messages": "no list", "chat": ASKED}, "chat"),
        (("messages",), {"__root__": ASKED}, "__root__"),
    ],
)
def test_the_channel_of_the_conversation_is_renewed(
    make_saver: SaverFactory, calls: Calls, channels: tuple[str, ...], values: dict[str, Any], renewed: str
) -> None:
    saver = make_saver(conversation_channels=channels)
    put(calls, saver, values)
    assert [report.new_uri for report in refresh(calls, saver).reports] == [NEW]
    head = calls.get_tuple(saver, CONFIG)
    assert head is not None
    found = head.checkpoint["channel_values"]
    assert NEW in repr(found.pop(renewed))
    assert found == {name: value for name, value in values.items() if name != renewed}


def test_a_thread_without_a_conversation_has_nothing_to_renew(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, {"n": 1})
    assert refresh(calls, saver) == ((), (), (), (), {})


def test_a_channel_that_the_thread_has_not_is_refused_with_those_that_it_has(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    put(calls, saver, {"messages": ASKED, "notes": [], "branch:to:model": None})
    with pytest.raises(MediaError, match=r"no channel 'massages'; it has 'messages', 'notes'\."):
        refresh(calls, saver, channel="massages")
    assert refresh(calls, saver, channel="notes").changed == ()
    assert refresh(calls, saver, channel="messages").changed == (0,)


SAID = HumanMessage([PART], id="q")
NESTED: dict[str, Any] = {
    "a note with messages": [{"said": [SAID, AIMessage("ok", id="a")], "n": 1}],
    "a long note with messages": [{"said": [SAID], "text": "so much text " * 300}, {"n": 1}],
    "lists of messages": [[SAID], [AIMessage("ok", id="a")]],
    "a message beside notes": [{"n": 1}, SAID],
    "an artifact": [ToolMessage("seen", artifact={"said": SAID}, tool_call_id="c", id="t")],
    "an artifact that is a message": [ToolMessage("seen", artifact=SAID, tool_call_id="c", id="t")],
    "a task": [{"next": Send("node", {"messages": [SAID]})}],
    "deep": [{"said": [ToolMessage("x", artifact=[{"said": [SAID, OTHER[0]]}], tool_call_id="c", id="t")]}],
}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("notes", NESTED.values(), ids=NESTED)
def test_messages_within_elements_are_renewed(
    make_saver: SaverFactory, calls: Calls, notes: list[Any], sealed: bool
) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32) if sealed else None
    saver = make_saver(serde=serde)
    put(calls, saver, {"messages": OTHER, "notes": notes})
    before = calls.get_tuple(saver, CONFIG)
    assert before is not None
    wanted = str(before.checkpoint["channel_values"]["notes"]).replace(OLD, NEW)
    assert [report.new_uri for report in refresh(calls, saver, channel="notes").reports] == [NEW]
    for reader in (saver, make_saver(serde=serde)):
        head = calls.get_tuple(reader, CONFIG)
        assert head is not None
        found = head.checkpoint["channel_values"]
        assert str(found["notes"]) == wanted
        assert found["messages"] == OTHER
    refreshed = refresh(calls, saver, channel="notes")
    assert refreshed.reports == ()


def test_what_a_refresh_returns_has_the_messages_within_elements_renewed(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    put(calls, saver, {"notes": [{"said": [SAID]}, {"n": 1}]})
    refreshed = refresh(calls, saver, channel="notes")
    assert (refreshed.changed, str(refreshed.values[0]).count(NEW)) == ((0,), 1)
