"""Two programs written from docs/format.md alone read what the package reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import PortableRedisSaver, envelope
from langgraph_portable_checkpoint.envelope.turn_wire import dump_turn, load_turn, turn_to_json
from langgraph_portable_checkpoint.envelope.wire import json_view
from tests.readers.dump import PAGE, rewritten
from tests.servers import Server, skip_or_fail
from tests.turns.scenes import SCENES, Talk, play, thread_id_of

HERE = Path(__file__).parent
PREFIX = "read"


class Stage:
    """A server with one thread of every kind."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.saver = PortableRedisSaver.from_url(server.url, prefix=PREFIX)
        self.talks = play(self.saver)

    def read(self, argv: Sequence[str], *thread_ids: str) -> list[Any]:
        """What a reader says of threads."""
        lines = "".join(json.dumps(thread_id) + "\n" for thread_id in thread_ids)
        shown = subprocess.run(
            [*argv, self.server.tcp_url, PREFIX], input=lines, capture_output=True, text=True, timeout=120, check=False
        )
        assert shown.returncode == 0, shown.stderr
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def turns(self, thread_id: str) -> list[Any]:
        """What the package says, as JSON."""
        return [
            {"record": json_record(turn.record), "messages": [json_view(message) for message in turn.messages]}
            for turn in self.saver.turns(thread_id, media=False)
        ]


def json_record(record: Any) -> Any:
    return json.loads(json.dumps(turn_to_json(record)))


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Server.start(tcp=True) as server:
        made = Stage(server)
        yield made
        made.saver.close()


@pytest.fixture(params=["python", "javascript"])
def argv(request: pytest.FixtureRequest) -> list[str]:
    """How a reader is called."""
    if request.param == "python":
        return [sys.executable, "-I", str(HERE / "reader.py")]
    if shutil.which("node") is None or not (HERE / "node_modules").is_dir():
        skip_or_fail("no Node, or `npm ci` was not run in tests/readers")
    return ["node", str(HERE / "reader.mjs")]


def test_a_reader_without_the_package_prints_the_same_turns_of_every_thread(stage: Stage, argv: list[str]) -> None:
    found = stage.read(argv, *map(thread_id_of, SCENES))
    for scene, turns in zip(SCENES, found, strict=True):
        assert turns == stage.turns(thread_id_of(scene)), scene
        assert [message["id"] for turn in turns for message in turn["messages"]] == [
            message.id for message in stage.talks[scene].messages
        ]


def test_a_reader_finds_the_bytes_of_media(stage: Stage, argv: list[str]) -> None:
    (turns,) = stage.read(argv, thread_id_of("media"))
    media = [use for turn in turns for use in turn["record"]["media"] if use["ref"]]
    with stage.server.client() as client:
        blobs = client.hgetall(f"{PREFIX}:1:{{t:{thread_id_of('media')}}}:blobs")
    assert {(use["ref"], use["size_bytes"]) for use in media} == {(ref.hex(), len(data)) for ref, data in blobs.items()}
    assert {sha256(data).digest()[:16] for data in blobs.values()} == set(blobs)
    assert len(media) == 3


def test_a_reader_finds_no_turns_in_a_thread_that_is_not_there(stage: Stage, argv: list[str]) -> None:
    assert stage.read(argv, "never seen") == [[]]


def leave_turns_behind(stage: Stage, thread_id: str, turns: int, channel: str = "messages") -> Talk:
    """Make a thread whose stored turns are those of an older checkpoint: as a writer leaves it that lost a race."""
    talk = Talk(stage.saver, thread_id)
    for number in range(turns):
        talk.ask(f"q{number}", AIMessage(f"a{number}"))
    talk.ask("last", AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "c"}]))
    heads = [state.config["configurable"]["checkpoint_id"] for state in talk.graph.get_state_history(talk.config)]
    with stage.server.client() as client:
        client.hset(f"{PREFIX}:1:{{t:{thread_id}}}:meta", "th", b"\0" + heads[-1].encode())
    return talk


@pytest.mark.parametrize("turns", [0, 1, 2, 7, 8, 9, 40])
def test_a_reader_reads_the_head_itself_where_the_stored_turns_are_not_its(
    stage: Stage, argv: list[str], turns: int
) -> None:
    thread_id = f"behind-{turns}-{len(argv)}"
    talk = leave_turns_behind(stage, thread_id, turns)
    (found,) = stage.read(argv, thread_id)
    expected = stage.turns(thread_id)
    assert [turn["messages"] for turn in found] == [turn["messages"] for turn in expected]
    assert [turn["record"] for turn in found] == [None] * (turns + 1)
    assert sum(len(turn["messages"]) for turn in found) == len(talk.messages)


def test_readers_cut_by_the_published_table(stage: Stage, argv: list[str]) -> None:
    thread_id = f"cut-{len(argv)}"
    talk = leave_turns_behind(stage, thread_id, 1)
    talk.update(AIMessage("early"), HumanMessage("note", additional_kwargs={"lc_source": "notification"}))
    talk.update(HumanMessage("sum", additional_kwargs={"lc_source": "summary"}), AIMessage("x"), HumanMessage("new"))
    with stage.server.client() as client:
        client.hset(f"{PREFIX}:1:{{t:{thread_id}}}:meta", "th", b"\0gone")
    (found,) = stage.read(argv, thread_id)
    assert [len(turn["messages"]) for turn in found] == [2, 6, 1]
    assert [turn["messages"] for turn in found] == [turn["messages"] for turn in stage.turns(thread_id)]


def test_readers_refuse_a_sealed_thread(stage: Stage, argv: list[str]) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0" * 32)
    with PortableRedisSaver.from_url(stage.server.url, prefix=PREFIX, serde=serde) as sealed:
        Talk(sealed, "sealed").ask("hi", AIMessage("hello"))
    assert stage.read(argv, "sealed") == [{"refused": "the thread is sealed"}]


def test_readers_refuse_a_turn_from_the_future_by_its_version(stage: Stage, argv: list[str]) -> None:
    thread_id = f"future-{len(argv)}"
    Talk(stage.saver, thread_id).ask("hi", AIMessage("hello"))
    key = f"{PREFIX}:1:{{t:{thread_id}}}:turns"
    with stage.server.client() as client:
        record = load_turn(client.hget(key, "0"), where="test")
        client.hset(key, "0", dump_turn({**record, "v": 2}))
    (answer,) = stage.read(argv, thread_id)
    assert "turn 0 has version 2" in answer["refused"]


def test_readers_keep_fields_that_they_do_not_know(stage: Stage, argv: list[str]) -> None:
    thread_id = f"more-{len(argv)}"
    Talk(stage.saver, thread_id).ask("hi", AIMessage("hello"))
    key = f"{PREFIX}:1:{{t:{thread_id}}}:turns"
    with stage.server.client() as client:
        record = load_turn(client.hget(key, "0"), where="test")
        client.hset(key, "0", dump_turn({**record, "mood": {"level": 3}}))
    ((turn,),) = stage.read(argv, thread_id)
    assert turn["record"]["mood"] == {"level": 3}
    assert [turn] == stage.turns(thread_id)


def test_the_dump_in_the_published_format_is_what_the_code_writes() -> None:
    page = PAGE.read_text()
    assert rewritten(page) == page, "run `python -m tests.readers.dump` and look at what changed"


def _schema(name: str) -> Draft202012Validator:
    text = (files(envelope) / f"schemas/{name}-envelope.schema.json").read_text()
    return Draft202012Validator(json.loads(text))


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_stored_fits_the_published_schemas(stage: Stage, scene: str) -> None:
    turn_schema, message_schema = _schema("turn"), _schema("message")
    for turn in stage.turns(thread_id_of(scene)):
        turn_schema.validate(turn["record"])
        for message in turn["messages"]:
            message_schema.validate(message)
