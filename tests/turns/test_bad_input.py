"""Conversations that no one should write, and what becomes of them."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph

from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError
from tests.saver.conftest import SaverFactory
from tests.turns.scenes import Talk, answered, calling, result
from tests.turns.shapes import outline, substance

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Overwritten(TypedDict):
    """A conversation that each step replaces, so that ids stay as they are given."""

    messages: list[Any]


def write(saver: Any, messages: list[Any]) -> None:
    builder = StateGraph(Overwritten).add_node("say", lambda state: state).add_edge(START, "say")
    builder.compile(checkpointer=saver).update_state(CONFIG, {"messages": messages}, as_node="say")


def read_anew(make_saver: SaverFactory) -> list[Any]:
    """The turns, as another process reads them, stored and derived; both must agree."""
    saver = make_saver()
    stored = list(saver.turns("t"))
    head = saver.get_tuple(CONFIG).config["configurable"]["checkpoint_id"]
    derived = list(make_saver().turns("t", checkpoint_id=head))
    assert [substance(turn) for turn in derived] == [substance(turn) for turn in stored]
    return stored


def test_messages_without_ids_are_read_without_ids(saver: Any, make_saver: SaverFactory) -> None:
    write(saver, [HumanMessage("q"), AIMessage("a"), HumanMessage("q"), AIMessage("a")])
    turns = read_anew(make_saver)
    assert [message["id"] for turn in turns for message in turn.messages] == [None] * 4
    assert [turn.record["count"] for turn in turns] == [2, 2]


def test_messages_that_share_an_id_are_all_kept(saver: Any, make_saver: SaverFactory) -> None:
    write(
        saver, [HumanMessage("q", id="x"), AIMessage("a", id="x"), HumanMessage("q2", id="x"), AIMessage("a2", id="")]
    )
    turns = read_anew(make_saver)
    assert [message["id"] for turn in turns for message in turn.messages] == ["x", "x", "x", ""]


@pytest.mark.parametrize("message_id", ["\0", "ü\U0001f600", "A1B2C3D4-0000-4000-8000-000000000001", "x" * 5000])
def test_ids_of_any_content_are_read_as_they_are(saver: Any, make_saver: SaverFactory, message_id: str) -> None:
    write(saver, [HumanMessage("q", id=message_id), AIMessage("a")])
    (turn,) = read_anew(make_saver)
    assert turn.messages[0]["id"] == turn.record["messages"][0][1] == message_id


def test_a_list_that_shrinks_and_grows_again_is_followed(saver: Any, make_saver: SaverFactory) -> None:
    said = [
        message for n in range(30) for message in (HumanMessage(f"q{n}", id=f"q{n}"), AIMessage(f"a{n}", id=f"a{n}"))
    ]
    for size in (60, 7, 0, 1, 40, 39, 60):
        write(saver, said[:size])
        if size:
            assert [message["id"] for turn in read_anew(make_saver) for message in turn.messages] == [
                message.id for message in said[:size]
            ]
        else:
            assert list(make_saver().turns("t")) == []


def test_a_list_in_another_order_is_followed(saver: Any, make_saver: SaverFactory) -> None:
    said = [HumanMessage("q", id="q"), AIMessage("a", id="a"), HumanMessage("r", id="r"), AIMessage("b", id="b")]
    write(saver, said)
    write(saver, [said[2], said[3], said[0], said[1]])
    assert outline(saver, "t") == [("complete", ["r", "b"]), ("complete", ["q", "a"])]
    read_anew(make_saver)


def test_a_turn_that_never_ends_is_open(saver: Any, make_saver: SaverFactory) -> None:
    write(saver, [HumanMessage("q"), calling("a"), result("a"), calling("b")])
    (turn,) = read_anew(make_saver)
    assert (turn.status, turn.record["open_calls"]) == ("open", ["call-b"])


def test_ten_thousand_messages_in_one_turn_are_all_there(saver: Any, make_saver: SaverFactory) -> None:
    talk = [HumanMessage("go", id="go")]
    for n in range(5000):
        talk += [AIMessage("", id=f"c{n}", tool_calls=[{"name": "t", "args": {}, "id": f"{n}"}])]
        talk += [ToolMessage("ok", id=f"r{n}", tool_call_id=f"{n}")]
    write(saver, talk)
    write(saver, [*talk, AIMessage("done", id="done")])
    (turn,) = make_saver().turns("t")
    assert (turn.status, turn.record["count"], turn.record["pages"]) == ("complete", 10_002, 156)
    assert [message["id"] for message in turn.messages] == [message.id for message in [*talk, AIMessage("", id="done")]]
    assert len(turn.record["messages"]) == 10_002 - 156 * 64


def test_twenty_megabytes_in_one_message_are_one_message(saver: Any, make_saver: SaverFactory) -> None:
    write(saver, [HumanMessage("x" * 20_000_000), AIMessage("long")])
    (turn,) = make_saver().turns("t")
    assert len(turn.messages[0]["content"][0]["text"]) == 20_000_000
    with make_saver.room.client() as client:
        assert len(client.hget(f"{make_saver.room.prefix}:1:{{t:t}}:turns", "0")) < 2_000


def test_clocks_that_go_backwards_do_not_take_times_back(make_saver: SaverFactory) -> None:
    clock = iter(range(2_000_000_000_000, 0, -1_000_000_000))
    saver = make_saver()
    saver._core.now_ms = lambda: next(clock)
    talk = Talk(saver, "t")
    talk.ask("q", calling("a"), result("a"), answered("x"))
    talk.ask("r", answered("y"))
    for turn in saver.turns("t"):
        assert turn.record["started_at"] <= turn.record["updated_at"]


def test_text_that_is_no_unicode_is_read_as_it_is(saver: Any, make_saver: SaverFactory) -> None:
    write(saver, [HumanMessage("half \ud83d"), AIMessage("a")])
    turns = read_anew(make_saver)
    assert len(turns) == 1
    assert len(turns[0].messages) == 2


def test_an_error_that_is_no_unicode_is_recorded(saver: Any) -> None:
    talk = Talk(saver, "t")
    with pytest.raises(ValueError, match="half"):
        talk.ask("q", ValueError("half \ud83d"))
    assert saver.interrupted_turn("t")["error"].startswith("half")


def _break(make_saver: SaverFactory, field: str, data: bytes) -> Any:
    saver = make_saver()
    Talk(saver, "t").ask("q", answered("a"))
    with make_saver.room.client() as client:
        client.hset(f"{make_saver.room.prefix}:1:{{t:t}}:turns", field, data)
    return make_saver()


def test_a_record_from_the_future_is_refused_by_name(make_saver: SaverFactory) -> None:
    import msgpack

    with pytest.raises(FutureVersionError, match="turn 0 of thread 't' has version 2"):
        list(_break(make_saver, "0", msgpack.packb({"v": 2})).turns("t"))


@pytest.mark.parametrize("data", [b"", b"\xff", b"not msgpack at all", b"\x80", b"\x93\x01\x02"])
def test_a_damaged_record_is_named(make_saver: SaverFactory, data: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="turn 0"):
        list(_break(make_saver, "0", data).turns("t"))


def test_a_record_that_is_gone_is_named(make_saver: SaverFactory) -> None:
    saver = make_saver()
    Talk(saver, "t").ask("q", answered("a"))
    with make_saver.room.client() as client:
        client.delete(f"{make_saver.room.prefix}:1:{{t:t}}:turns")
    with pytest.raises(CorruptRecordError, match="turn 0"):
        list(make_saver().turns("t"))


def test_a_page_that_is_gone_is_named(make_saver: SaverFactory) -> None:
    saver = make_saver()
    Talk(saver, "t").ask("q", *[line for n in range(40) for line in (calling(f"{n}"), result(f"{n}"))])
    with make_saver.room.client() as client:
        client.hdel(f"{make_saver.room.prefix}:1:{{t:t}}:turns", "0:0")
    with pytest.raises(CorruptRecordError, match="page 0:0"):
        list(make_saver().turns("t"))


def test_a_message_that_is_gone_is_named(make_saver: SaverFactory) -> None:
    saver = make_saver()
    Talk(saver, "t").ask("q", answered("a"))
    ref = next(saver.turns("t")).record["messages"][0][0]
    with make_saver.room.client() as client:
        client.hdel(f"{make_saver.room.prefix}:1:{{t:t}}:items", ref)
    with pytest.raises(CorruptRecordError, match=ref.hex()):
        list(make_saver().turns("t"))
