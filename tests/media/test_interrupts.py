"""Media in the value of an interrupt: the turn's record shows none that the policy strips or stores apart."""

from __future__ import annotations

import asyncio
import base64
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_portable_checkpoint import PortableRedisSaver, copy_threads
from tests.servers import Room

CONFIG: Any = {"configurable": {"thread_id": "t"}}
BASE64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(2200)).decode()
PART = {"type": "image", "base64": BASE64, "mime_type": "image/png"}
STRIPPED = {"type": "text", "text": "[image/png, 2208 B, removed on save]"}
POLICIES: list[Any] = ["strip", {"preserve_media": False}]


def asking(saver: PortableRedisSaver, value: Any = PART) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda _state: {"messages": [AIMessage(str(interrupt(value)))]})
    return builder.add_edge(START, "ask").compile(checkpointer=saver)


def opened(server: Room, suffix: str = "", **options: Any) -> PortableRedisSaver:
    return PortableRedisSaver.from_url(server.url, prefix=server.prefix + suffix, **options)


def told(saver: PortableRedisSaver) -> list[Any]:
    """Give what the log, and the same derived anew, say of the last turn's interrupts."""
    head = saver.get_tuple(CONFIG).config["configurable"]["checkpoint_id"]
    turns = [list(saver.turns("t"))[-1], list(saver.turns("t", checkpoint_id=head))[-1]]
    return [{key: part for key, part in turn.record["interrupts"][0].items() if key != "id"} for turn in turns]


def has_base64(server: Room) -> list[bytes]:
    """List the keys in which the picture stands as text."""
    found = []
    with server.client() as client:
        for key in list(server.keys()):
            values = client.hgetall(key).values() if client.type(key) == b"hash" else ()
            found += [key for value in values if BASE64[60:90].encode() in value]
    return found


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize(
    ("policy", "shown"),
    [(None, {"omitted": "dict"}), ("inline", {"value": PART}), *[(each, {"value": STRIPPED}) for each in POLICIES]],
)
def test_a_record_shows_what_the_policy_leaves_of_an_interrupt(
    server: Room, policy: Any, shown: Any, durability: Any, *, awaited: bool
) -> None:
    with opened(server, media_policy=policy) as saver:
        given = {"messages": [HumanMessage("x", id="h")]}
        if awaited:
            asyncio.run(asking(saver).ainvoke(given, CONFIG, durability=durability))
        else:
            asking(saver).invoke(given, CONFIG, durability=durability)
    with opened(server, media_policy=policy) as saver:
        assert told(saver) == [shown, shown]
        value = asking(saver).get_state(CONFIG).tasks[0].interrupts[0].value
        assert value == shown.get("value", PART)
        assert told(saver) == [shown, shown], "whether the bytes are at hand makes no difference"
    assert policy == "inline" or has_base64(server) == []


def test_a_policy_of_one_call_counts_for_the_record(server: Room) -> None:
    with opened(server) as saver:
        config: Any = {"configurable": {"thread_id": "t", "media_policy": "strip"}}
        asking(saver).invoke({"messages": [HumanMessage("x", id="h")]}, config)
        assert told(saver) == [{"value": STRIPPED}] * 2


def test_an_interrupt_that_hands_on_what_was_not_read_shows_none_of_its_media(server: Room) -> None:
    def asks(state: MessagesState) -> Any:
        interrupt(state["messages"][0].content)

    builder = StateGraph(MessagesState).add_node("ask", asks).add_edge(START, "ask")
    asked: Any = {"configurable": {"thread_id": "t", "media": "none"}}
    with opened(server) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.update_state(CONFIG, {"messages": [HumanMessage([PART], id="h")]}, as_node="__start__")
        graph.invoke(None, asked)
        assert told(saver) == [{"omitted": "list"}] * 2
        assert graph.get_state(CONFIG).tasks[0].interrupts[0].value == [PART]


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("how", ["copied", "from JSON"])
@pytest.mark.parametrize("source", [None, "inline"])
@pytest.mark.parametrize("target", POLICIES)
def test_a_saver_that_strips_takes_none_in_with_a_thread(
    server: Room, source: Any, target: Any, how: str, *, sealed: bool
) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"1" * 16) if sealed else None
    with opened(server, media_policy=source, serde=serde) as old, opened(server, "-2", media_policy=target) as new:
        asking(old).invoke({"messages": [HumanMessage("x", id="h")]}, CONFIG)
        if how == "copied":
            assert copy_threads(old, new, ["t"]).differences == []
        else:
            new.from_json(old.to_json("t"), thread_id="t")
        assert BASE64 not in str(list(new.turns("t")))
        assert BASE64 not in new.to_json("t")
        (entry,) = next(iter(new.turns("t"))).record["interrupts"]
        assert "omitted" in entry or entry["value"] == STRIPPED


def test_a_document_with_a_medium_that_is_too_large_here_tells_its_interrupt_by_type(server: Room) -> None:
    with opened(server, media_policy="inline") as old, opened(server, "-2", media_policy={"max_bytes": 2100}) as new:
        asking(old).invoke({"messages": [HumanMessage("x", id="h")]}, CONFIG)
        new.from_json(old.to_json("t"), thread_id="t")
        (entry,) = next(iter(new.turns("t"))).record["interrupts"]
        assert entry["omitted"] == "dict"


def test_a_turn_that_goes_on_is_complete_whatever_its_interrupt_held(server: Room) -> None:
    with opened(server) as saver:
        asking(saver).invoke({"messages": [HumanMessage("x", id="h")]}, CONFIG)
        asking(saver).invoke(Command(resume="y"), CONFIG)
        assert [turn.record["status"] for turn in saver.turns("t")] == ["complete"]
