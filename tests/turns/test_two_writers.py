"""Two clients on one thread, each believing what it knew: the turn log stays that of the head, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.storage.drivers import BlockingDriver
from langgraph_portable_checkpoint.storage.layout import Layout
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.checking import verify_thread
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.saver.between import Between
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.test_interruptions import conversation
from tests.servers import Room
from tests.turns.shapes import outline


def put(saver: Any, checkpoint_id: str, turns: int, parent: str | None = None) -> Any:
    """Put a conversation of so many turns."""
    values = {"messages": conversation(turns)}
    made = checkpoint(values, {"messages": int(checkpoint_id)}, checkpoint_id=checkpoint_id)
    return saver.put(config("t", parent), made, metadata(), {"messages": int(checkpoint_id)})


def check(make_saver: SaverFactory, turns: int, status: str = "complete") -> None:
    """Every way to ask says the same of the head's turns."""
    saver = make_saver()
    found = outline(saver, "t")
    assert found == outline(saver, "t", checkpoint_id=saver.get_tuple(config("t")).checkpoint["id"])
    assert (len(found), found[-1][0]) == (turns, status)
    info = saver.thread_info("t")
    assert (info.turns, info.status) == (turns, status)
    assert [(each.turns, each.status) for each in saver.threads()] == [(turns, status)]


def interrupt(saver: Any, checkpoint_id: str, value: str) -> None:
    """Write the interrupt of a task of its own."""
    saver.put_writes(config("t", checkpoint_id), [("__interrupt__", [Interrupt(value, id=value)])], f"task {value}")


def interrupts(make_saver: SaverFactory) -> list[str]:
    """Return what the last turn was interrupted with."""
    return sorted(entry["value"] for entry in list(make_saver().turns("t"))[-1].record["interrupts"])


def test_a_checkpoint_that_one_who_is_behind_stores_anew_under_its_id(make_saver: SaverFactory) -> None:
    first, second = make_saver(), make_saver()
    put(first, "1", 1)
    put(second, "2", 3, "1")
    put(second, "3", 4, "2")
    put(first, "3", 2, "1")
    check(make_saver, 2)
    assert [found for found in verify_thread(make_saver(), "t") if found.severity == "error"] == []
    told, archive = outline(make_saver(), "t"), BytesIO()
    backup(make_saver(), archive)
    make_saver().copy_thread("t", "copy")
    assert outline(make_saver(), "copy") == told
    make_saver().delete_thread("copy")
    make_saver().delete_thread("t")
    archive.seek(0)
    restore(make_saver(), archive)
    assert outline(make_saver(), "t") == told
    put(second, "4", 5, "3")
    put(first, "5", 3, "4")
    check(make_saver, 3)


def test_a_put_that_arrives_twice_leaves_the_turn_log_to_its_checkpoint(make_saver: SaverFactory, server: Room) -> None:
    saver = make_saver()
    put(saver, "1", 1)
    call = BlockingDriver._call
    with patch.object(BlockingDriver, "_call", lambda driver, script: (call(driver, script), call(driver, script))[1]):
        put(saver, "2", 2, "1")
    with server.client() as client:
        assert client.hget(saver._core.layout.thread("t")[0], "th") == b"\x002"
    check(make_saver, 2)


def test_a_branch_from_what_the_other_has_gone_beyond(make_saver: SaverFactory) -> None:
    first, second = make_saver(), make_saver()
    put(first, "1", 1)
    put(second, "2", 2, "1")
    put(second, "3", 3, "2")
    put(first, "4", 2, "1")
    check(make_saver, 2)
    put(second, "5", 4, "3")
    check(make_saver, 4)


def test_a_branch_beside_one_that_rewrote_an_earlier_turn(make_saver: SaverFactory) -> None:
    first, second = make_saver(), make_saver()
    put(first, "1", 2)
    edited = [HumanMessage("edited", id="h0"), *conversation(2)[1:]]
    made = checkpoint({"messages": edited}, {"messages": 2}, checkpoint_id="2")
    second.put(config("t", "1"), made, metadata(), {"messages": 2})
    put(first, "3", 3, "1")
    check(make_saver, 3)
    assert outline(make_saver(), "t")[0][1][0] == "question 0"


def test_a_checkpoint_that_is_put_again_with_more(make_saver: SaverFactory) -> None:
    saver = make_saver()
    put(saver, "1", 1)
    put(saver, "1", 3)
    check(make_saver, 3)


def test_an_older_checkpoint_that_comes_later_is_not_the_head(make_saver: SaverFactory) -> None:
    saver = make_saver()
    put(saver, "5", 3)
    put(saver, "3", 1)
    put(make_saver(), "4", 2, "3")
    check(make_saver, 3)
    with make_saver.room.client() as client:
        assert client.hget(Layout(make_saver.room.prefix).thread("t")[0], "th") == b"\x005"


def test_a_subgraph_that_writes_first_begins_no_turn_log(make_saver: SaverFactory) -> None:
    saver = make_saver()
    saver.put(config("t", ns="sub"), checkpoint({"messages": conversation(1)}), metadata(), {"messages": 1})
    put(saver, "1", 2)
    check(make_saver, 2)


def test_an_interrupt_at_what_is_no_longer_the_head_leaves_the_head_alone(make_saver: SaverFactory) -> None:
    first, second = make_saver(), make_saver()
    put(first, "1", 1)
    put(second, "2", 2, "1")
    interrupt(first, "1", "late")
    check(make_saver, 2)


def test_interrupts_of_clients_that_do_not_know_of_each_other_are_all_noted(make_saver: SaverFactory) -> None:
    first, second = make_saver(), make_saver()
    put(first, "1", 1)
    interrupt(second, "1", "a")
    interrupt(first, "1", "b")
    assert interrupts(make_saver) == ["a", "b"]
    interrupt(second, "1", "c")
    check(make_saver, 1, "interrupted")
    assert interrupts(make_saver) == ["a", "b", "c"]


def _beyond(saver: Any) -> None:
    put(saver, "2", 2, "1")


def _again(saver: Any) -> None:
    interrupt(saver, "1", "between")


def _anew(saver: Any) -> None:
    saver.delete_thread("t")
    put(saver, "1", 2)


MEANWHILE: dict[str, tuple[Callable[[Any], None], int, str, list[str]]] = {
    "the other goes on": (_beyond, 2, "complete", []),
    "the other is interrupted, too": (_again, 1, "interrupted", ["between", "mine"]),
    "the other begins anew": (_anew, 2, "complete", []),
}


@pytest.mark.parametrize(("meanwhile", "turns", "status", "noted"), MEANWHILE.values(), ids=MEANWHILE)
@pytest.mark.parametrize("moment", [2, 3])
def test_an_interrupt_is_noted_where_it_belongs_whatever_happens_meanwhile(
    make_saver: SaverFactory,
    moment: int,
    meanwhile: Callable[[Any], None],
    turns: int,
    status: str,
    noted: list[str],
) -> None:
    """A client that does not hold the turn's record writes the interrupt (two calls), reads the record, and marks it."""
    for thread_id in ("other", "t"):  # the first, so that the server knows all scripts
        make_saver().put(
            config(thread_id), checkpoint({"messages": conversation(1)}, checkpoint_id="1"), metadata(), {"messages": 1}
        )
        if thread_id == "other":
            make_saver().put_writes(config(thread_id, "1"), [("__interrupt__", [Interrupt("x", id="x")])], "task")
    make_saver().delete_thread("other")
    with make_saver.room.client() as client:
        between = Between(client, lambda call: meanwhile(make_saver()) if call == moment else None)
        interrupt(PortableRedisSaver(client=between, prefix=make_saver.room.prefix), "1", "mine")
        assert between.calls > moment
    check(make_saver, turns, status)
    assert interrupts(make_saver) == noted


def step(saver: Any, effect: Any) -> Any:
    """Perform one effect of a program."""

    def one() -> Any:
        return (yield effect)

    return saver._run(one())


def finish(saver: Any, program: Any, reply: Any) -> None:
    """Run a program from a reply to its end."""
    with suppress(StopIteration):
        while True:
            reply = step(saver, program.send(reply))


def test_an_interrupt_and_its_checkpoint_that_begin_a_thread_side_by_side(make_saver: SaverFactory) -> None:
    """As under durability="exit": the answer to the first comes while the second is on its way."""
    saver = make_saver()
    made = checkpoint({"messages": conversation(1)}, checkpoint_id="1")
    putting, _ = saver._put(config("t"), made, metadata(), {"messages": 1})
    writing = saver._put_writes(config("t", "1"), [("__interrupt__", [Interrupt("why?", id="i")])], "task", "")
    answer = step(saver, next(writing))
    second_try = putting.send(step(saver, next(putting)))
    finish(saver, writing, answer)
    finish(saver, putting, step(saver, second_try))
    check(make_saver, 1, "interrupted")
