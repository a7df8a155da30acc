"""Turns on every server build, behind encryption, after a restart of the process, and after cancelled runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph

from tests.saver.conftest import SaverFactory
from tests.servers import Room
from tests.turns.scenes import SCENES, Chat, Talk, play, thread_id_of
from tests.turns.shapes import covered, outline

SOME = ("tools", "removed", "forked", "long", "interrupted", "failed", "after failure", "media", "odd")


@pytest.mark.parametrize("scene", SOME)
def test_turns_are_the_same_on_every_server(any_server: Room, saver: Any, scene: str) -> None:
    factory = SaverFactory(any_server)
    there = factory()
    talk = play(there, [scene])[scene]
    play(saver, [scene])
    assert outline(there, thread_id_of(scene)) == outline(saver, thread_id_of(scene))
    assert covered(there, thread_id_of(scene)) == [message.id for message in talk.messages]
    factory.close()


@pytest.mark.parametrize("scene", SCENES)
def test_turns_of_an_encrypted_thread_are_the_same_and_show_nothing(
    make_saver: SaverFactory, saver: Any, scene: str
) -> None:
    def sealed() -> Any:
        return make_saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32), prefix="sealed")

    talk = Talk(sealed(), thread_id_of(scene))
    SCENES[scene](talk)
    play(saver, [scene])
    other = sealed()
    assert outline(other, thread_id_of(scene)) == outline(saver, thread_id_of(scene))
    with make_saver.room.client() as client:
        records = [value for key in client.scan_iter("sealed:*:turns") for value in client.hvals(key)]
        assert not any(b"complete" in record or b"openai" in record or b"messages" in record for record in records)
        for key in client.scan_iter("sealed:*"):
            client.delete(key)


CRASHING = """
import sys
from langgraph_portable_checkpoint import PortableRedisSaver
from tests.turns.scenes import *
talk = Talk(PortableRedisSaver.from_url(sys.argv[1], prefix=sys.argv[2]), "t")
talk.ask("hi", answered("hello"))
talk.ask(picture("what is it?"), calling("look"), ValueError("no such file"))
"""


def test_a_question_survives_the_process_that_failed_to_answer_it(make_saver: SaverFactory) -> None:
    room = make_saver.room
    argv = [sys.executable, "-c", CRASHING, room.url, room.prefix]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "ValueError: no such file" in ended.stderr
    question = make_saver().interrupted_turn("t")
    assert (question["error"], question["turn"], question["attachments"]) == ("no such file", 1, 1)
    assert question["message"]["content"][0]["text"] == "what is it?"


async def test_a_cancelled_turn_is_failed_and_its_question_can_be_sent_again(saver: Any) -> None:
    started = asyncio.Event()

    async def think(state: Any) -> Any:
        started.set()
        await asyncio.sleep(600)
        return {"messages": AIMessage("too late")}

    graph = StateGraph(Chat).add_node("think", think).add_edge(START, "think").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    async def run() -> None:
        async with saver.aexclusive_turn(config):
            await graph.ainvoke({"messages": HumanMessage("q")}, config)

    task = asyncio.create_task(run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    question = await saver.ainterrupted_turn("t")
    assert (question["status"], question["error_type"]) == ("failed", "CancelledError")
    async with saver.aexclusive_turn(config):
        pass


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_turns_do_not_depend_on_when_checkpoints_are_written(saver: Any, durability: Any) -> None:
    talk = Talk(saver, "t")
    for number in range(3):
        talk.script = [AIMessage(f"a{number}"), AIMessage(f"b{number}")]
        talk.graph.invoke({"messages": HumanMessage(f"q{number}")}, talk.config, durability=durability)
    assert outline(saver, "t") == [("complete", [f"q{n}", f"a{n}", f"b{n}"]) for n in range(3)]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_failures_do_not_depend_on_when_checkpoints_are_written(saver: Any, durability: Any) -> None:
    talk = Talk(saver, "t")
    talk.script = [AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "c"}]), ValueError("boom")]
    with pytest.raises(ValueError, match="boom"):
        talk.graph.invoke({"messages": HumanMessage("q")}, talk.config, durability=durability)
    assert [status for status, _ in outline(saver, "t")] == ["failed"]
    assert saver.interrupted_turn("t")["error"] == "boom"
