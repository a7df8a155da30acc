"""Threads copied between savers: everything arrives, whatever happens in between."""

from __future__ import annotations

import asyncio
import base64
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint.errors import ThreadExistsError, ThreadNotFoundError
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS
from langgraph_portable_checkpoint.transfer.copying import Progress, acopy_threads, copy_threads
from langgraph_portable_checkpoint.transfer.stored_copy import StoredCopy
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.graphs import SCENARIOS
from tests.saver.same import assert_same
from tests.saver.zoo import ZOO
from tests.servers import Room
from tests.transfer.threads import (
    OpenSaver,
    assert_same_thread,
    contents,
    memory_with,
    opened,
    play,
    put_chain,
    put_zoo,
    sqlite,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def test_every_kind_of_graph_run_arrives_and_returns(ours: OpenSaver) -> None:
    source = memory_with()
    target, back = ours(), InMemorySaver()
    assert copy_threads(source, target).equal
    assert copy_threads(target, back).equal
    for name in SCENARIOS:
        assert_same_thread(target, source, name)
        assert_same_thread(back, source, name)


def test_async_copies_are_the_same(ours: OpenSaver) -> None:
    source, target = memory_with("subgraph", "time_travel", "delta_channel"), ours()
    report = asyncio.run(acopy_threads(source, target))
    assert report.copied == 3
    assert report.equal
    for name in ("subgraph", "time_travel", "delta_channel"):
        assert_same_thread(target, source, name)


def test_sqlite_is_read_and_written(ours: OpenSaver) -> None:
    source, between, back = sqlite(), ours(), sqlite()
    names = play(source)
    assert copy_threads(source, between).equal
    assert copy_threads(between, back).equal
    for name in names:
        assert_same_thread(between, source, name)
        assert_same_thread(back, source, name)


def test_a_blocking_only_and_an_async_only_saver_meet(ours: OpenSaver, tmp_path: Path) -> None:
    blocking, target = sqlite(), ours()
    put_chain(blocking, "t", versions=lambda number: f"{number:032}.5")

    async def there_and_back() -> dict[Any, Any]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as waiting:
            assert (await acopy_threads(blocking, waiting)).equal
            assert (await acopy_threads(waiting, target)).equal
        return contents(target, "t")

    assert_same(asyncio.run(there_and_back()), contents(blocking, "t"))


def test_every_type_of_value_arrives(ours: OpenSaver) -> None:
    source, target = InMemorySaver(), ours()
    put_zoo(source)
    report = copy_threads(source, target)
    assert report.differences == []
    assert (report.checkpoints, report.writes) == (len(ZOO), len(ZOO))
    assert_same_thread(target, source, "zoo")


@pytest.mark.parametrize(
    "version", [lambda n: n, float, lambda n: f"{n:032}.{n / 7:016}"], ids=["int", "float", "text"]
)
def test_channel_versions_keep_their_kind_and_go_on_in_it(ours: OpenSaver, version: Any) -> None:
    source, target = InMemorySaver(), ours()
    put_chain(source, "t", versions=version)
    assert copy_threads(source, target).equal
    assert_same_thread(target, source, "t")
    head = target.get_tuple(config("t")).checkpoint["channel_versions"]["messages"]
    following = target.get_next_version(head, None)
    assert type(following) is type(head)
    assert following > head


def _chat(saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


@pytest.mark.parametrize("make", [InMemorySaver, sqlite])
def test_a_conversation_goes_on_after_the_copy(ours: OpenSaver, make: Any) -> None:
    source, target, place = make(), ours(), {"configurable": {"thread_id": "t"}}
    for turn in range(3):
        _chat(source).invoke({"messages": [HumanMessage(f"question {turn}")]}, place)
    copy_threads(source, target)
    state = _chat(target).invoke({"messages": [HumanMessage("and now?")]}, place)
    assert [message.content for message in state["messages"]][-2:] == ["and now?", "answer 7"]
    assert len(state["messages"]) == 8
    assert copy_threads(target, source, ["t"]).completed == 1, "and what was said since goes back"
    assert_same_thread(source, target, "t")


def test_conversations_of_threads_that_were_copied_are_not_kept_in_memory(ours: OpenSaver) -> None:
    target = ours()
    copy_threads(memory_with("conversation"), target)
    assert target._core.flats._flats == {}
    assert target._core.views.get("conversation") is None


def test_task_paths_arrive(ours: OpenSaver) -> None:
    source, between, target = InMemorySaver(), ours(), InMemorySaver()
    put_chain(source, "t")
    copy_threads(source, between)
    copy_threads(between, target)
    paths = {key: sorted(write[3] for write in writes.values()) for key, writes in source.writes.items()}
    assert any("~pull:1" in found for found in paths.values())
    assert paths == {key: sorted(write[3] for write in writes.values()) for key, writes in target.writes.items()}


def test_a_second_copy_reads_one_checkpoint_of_each_thread(ours: OpenSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = InMemorySaver(), ours()
    for thread in range(5):
        put_chain(source, f"t{thread}", turns=10)
    assert copy_threads(source, target).copied == 5
    reads: list[Any] = []
    get_tuple = InMemorySaver.get_tuple
    monkeypatch.setattr(InMemorySaver, "get_tuple", lambda self, place: reads.append(place) or get_tuple(self, place))
    monkeypatch.setattr(InMemorySaver, "list", lambda *_: pytest.fail("listed"))
    report = copy_threads(source, target)
    assert (report.unchanged, report.checkpoints, report.threads) == (5, 0, 5)
    assert len(reads) == 5


def test_what_was_said_in_the_source_since_is_added(ours: OpenSaver) -> None:
    source, target, place = InMemorySaver(), ours(), {"configurable": {"thread_id": "t"}}
    _chat(source).invoke({"messages": [HumanMessage("one")]}, place)
    copy_threads(source, target)
    _chat(source).invoke({"messages": [HumanMessage("two")]}, place)
    assert copy_threads(source, target).completed == 1
    assert_same_thread(target, source, "t")


def test_writes_that_the_last_checkpoint_lacks_are_added(ours: OpenSaver) -> None:
    source, target = InMemorySaver(), ours()
    put_chain(source, "t")
    copy_threads(source, target)
    head = source.get_tuple(config("t", ns="sub:1"))
    assert head is not None
    source.put_writes(head.config, [("late", 1)], "late-task")
    assert copy_threads(source, target).completed == 1
    assert_same_thread(target, source, "t")


def _with_a_foreign_thread(ours: OpenSaver) -> tuple[InMemorySaver, Any]:
    source, target = InMemorySaver(), ours()
    put_chain(source, "t")
    put_chain(source, "u")
    put_chain(target, "u", turns=1)
    return source, target


def test_a_thread_of_the_target_is_refused_before_anything_is_written(ours: OpenSaver) -> None:
    source, target = _with_a_foreign_thread(ours)
    before = contents(target, "u")
    with pytest.raises(ThreadExistsError, match="'u'"):
        copy_threads(source, target)
    assert contents(target, "t") == {}
    assert_same(contents(target, "u"), before)


def test_a_thread_of_the_target_is_skipped(ours: OpenSaver) -> None:
    source, target = _with_a_foreign_thread(ours)
    before = contents(target, "u")
    report = copy_threads(source, target, on_existing="skip")
    assert (report.copied, report.skipped) == (1, 1)
    assert_same(contents(target, "u"), before)


def test_a_thread_of_the_target_is_overwritten(ours: OpenSaver) -> None:
    source, target = _with_a_foreign_thread(ours)
    assert copy_threads(source, target, on_existing="overwrite").copied == 2
    assert_same_thread(target, source, "u")


def test_a_pruned_thread_overwrites_what_is_there(ours: OpenSaver) -> None:
    source, target = ours("source"), ours("target")
    put_chain(source, "t")
    source.prune(["t"])
    memory = InMemorySaver()
    copy_threads(source, memory)
    put_chain(target, "t")
    assert copy_threads(memory, target, on_existing="overwrite").equal
    assert_same_thread(target, memory, "t")


def test_a_thread_is_copied_as_new_once(ours: OpenSaver) -> None:
    source, target = _with_a_foreign_thread(ours)
    report = copy_threads(source, target, on_existing="as-new")
    assert report.renamed == {"u": "u-copy"}
    assert_same_thread(target, source, "u", "u-copy")
    again = copy_threads(source, target, on_existing="as-new")
    assert (again.unchanged, again.renamed) == (2, {"u": "u-copy"})


def test_a_named_thread_must_exist(ours: OpenSaver) -> None:
    source, target = memory_with("conversation"), ours()
    with pytest.raises(ThreadNotFoundError, match="'nothing'"):
        copy_threads(source, target, ["conversation", "nothing"])
    assert copy_threads(source, target, ["conversation"]).copied == 1


def test_progress_counts_threads(ours: OpenSaver) -> None:
    source, seen = InMemorySaver(), []
    put_chain(source, "a")
    put_chain(source, "b")
    copy_threads(source, ours(), progress=seen.append)
    assert seen == [Progress(1, 2, "a"), Progress(2, 2, "b")]


class _Careless(InMemorySaver):
    """Loses what it is told to lose, or adds writes of its own."""

    loses = ""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if self.loses == "type":
            values = {name: True if v == 1 else v for name, v in checkpoint["channel_values"].items()}
            checkpoint = {**checkpoint, "channel_values": values}
        if self.loses == "parent":
            config = {"configurable": {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}}
        if self.loses == "metadata":
            metadata = {**metadata, "step": float(metadata["step"])}
        if self.loses == "version":
            versions = {k: f"{v}." for k, v in checkpoint["channel_versions"].items()}
            checkpoint = {**checkpoint, "channel_versions": versions}
            new_versions = checkpoint["channel_versions"]
        if self.loses == "order":
            seen = {node: _turned(versions) for node, versions in _turned(checkpoint["versions_seen"]).items()}
            values, new_versions = (_turned(checkpoint[name]) for name in ("channel_values", "channel_versions"))
            checkpoint = dict(checkpoint, channel_values=values, channel_versions=new_versions, versions_seen=seen)
            metadata = _turned(metadata)
        if self.loses == "order within metadata":
            metadata = {name: _turned(v) if isinstance(v, dict) else v for name, v in metadata.items()}
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if self.loses == "write":
            writes = writes[1:]
        if self.loses == "value":
            writes = [(channel, str(value)) for channel, value in writes]
        super().put_writes(config, writes, f"{task_id}?" if self.loses == "task" else task_id, task_path)
        if self.loses == "nothing":
            super().put_writes(config, writes, f"{task_id}+", task_path)


def _turned(values: Any) -> Any:
    return dict(reversed(values.items()))


@pytest.mark.parametrize("loses", ["order", "order within metadata"])
def test_the_order_of_channels_is_not_compared_and_that_of_values_is(loses: str) -> None:
    """PostgreSQL sorts the keys of versions and metadata."""
    source, target = InMemorySaver(), _Careless()
    put_chain(source, "t")
    for each in source.list(config("t"), limit=1):
        changed = {**each.checkpoint, "versions_seen": {"a": {"x": 1, "yy": 2}, "b": {"yy": 2, "x": 1}}}
        labels = {**each.metadata, "labels": {"b": 1, "a": 2}}
        source.put(config("t"), {**changed, "id": "9"}, labels, changed["channel_versions"])
    target.loses = loses
    found = [each.detail for each in copy_threads(source, target).differences]
    assert found == (["metadata['labels']: keys in another order"] if "metadata" in loses else [])


@pytest.mark.parametrize(
    ("loses", "named"),
    [
        ("type", "channel 'n': bool instead of int"),
        ("parent", "parent"),
        ("metadata", "metadata"),
        ("version", "versions"),
        ("write", "writes"),
        ("value", "writes"),
        ("task", "writes"),
        ("nothing", "writes: of another task"),
    ],
)
def test_a_target_that_does_not_keep_everything_is_found_out(loses: str, named: str) -> None:
    source, target = InMemorySaver(), _Careless()
    put_chain(source, "t")
    target.loses = loses
    report = copy_threads(source, target)
    assert report.differences
    assert named in report.differences[0].detail


def test_what_our_own_server_lacks_is_found_out(ours: OpenSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph_portable_checkpoint.storage.programs import bulk

    source, target = InMemorySaver(), ours()
    put_chain(source, "t")
    put_many = bulk.put_many

    def forgetful(core: Any, thread_id: str, operations: Any) -> Any:
        changed = []
        for operation in operations:
            if isinstance(operation, bulk.CheckpointPut) and "messages" in operation.checkpoint["channel_values"]:
                values = operation.checkpoint["channel_values"]
                made = {**operation.checkpoint, "channel_values": {**values, "messages": values["messages"][:-1]}}
                operation = bulk.CheckpointPut(operation.checkpoint_ns, operation.parent_id, made, operation.metadata)
            changed.append(operation)
        return put_many(core, thread_id, changed)

    monkeypatch.setattr(bulk, "put_many", forgetful)
    report = copy_threads(source, target)
    assert [difference.detail[:18] for difference in report.differences] == ["channel 'messages'"] * 3


@pytest.mark.parametrize("part", ["items", "blobs", "media", "ckpts", "writes", "turns"])
def test_what_a_stored_copy_holds_otherwise_is_found_out(
    ours: OpenSaver, server: Room, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """One byte differs, at the same length."""
    source, target = ours(), ours("b")
    put_chain(source, "t")
    picture = {"type": "image", "mime_type": "image/png", "base64": base64.b64encode(bytes(5_000)).decode()}
    _chat(source).invoke({"messages": [HumanMessage([picture])]}, config("t"))
    source.put_writes(source.get_tuple(config("t")).config, [("messages", [HumanMessage("next")])], "task")
    copy = StoredCopy.copy

    def altered(self: StoredCopy, target_id: str, key: bytes) -> Any:
        yield from copy(self, target_id, key)
        name = target._core.layout.thread(target_id)[THREAD_PARTS.index(part)]
        with server.client() as client:
            field, value = max(client.hgetall(name).items())
            client.hset(name, field, value[:-1] + bytes([value[-1] ^ 1]))

    monkeypatch.setattr(StoredCopy, "copy", altered)
    report = copy_threads(source, target)
    assert [difference.detail for difference in report.differences] == [f"{part}: not what was sent"]


KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"


def test_encrypted_threads_move_in_their_stored_form_and_stay_sealed(ours: OpenSaver, server: Room) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    source, target = ours("a", serde=serde), ours("b", serde=serde)
    put_chain(source, "t")
    report = copy_threads(source, target)
    assert (report.copied, report.equal) == (1, True)
    assert_same_thread(target, source, "t")
    with server.client() as client:
        key = f"{server.prefix}-{{}}:1:{{t:t}}:items"
        assert client.hgetall(key.replace("{}", "a", 1)) == client.hgetall(key.replace("{}", "b", 1))


@pytest.mark.parametrize(
    "serde", [None, EncryptedSerializer.from_pycryptodome_aes(key=OTHER_KEY)], ids=["open", "other key"]
)
def test_encrypted_threads_are_sealed_anew_for_another_secret(ours: OpenSaver, serde: Any) -> None:
    source = ours("a", serde=EncryptedSerializer.from_pycryptodome_aes(key=KEY))
    target = ours("b", serde=serde)
    put_chain(source, "t")
    assert copy_threads(source, target).equal
    assert_same_thread(target, source, "t")
    assert copy_threads(target, source).unchanged == 1


def test_forks_and_their_order_do_not_matter_to_a_strict_target(ours: OpenSaver) -> None:
    source, target = memory_with("time_travel"), ours(on_conflict="raise")
    assert copy_threads(source, target).equal
    assert_same_thread(target, source, "time_travel")


def test_another_writer_meanwhile_is_survived(ours: OpenSaver) -> None:
    source, target, other = InMemorySaver(), ours(), ours()
    put_chain(source, "t", turns=8)
    place = config("t", ns="other")

    def interfere(_: Progress) -> None:
        other.delete_thread("t")
        other.put(place, checkpoint({"n": 1}), metadata(), {"n": 1})

    put_chain(source, "s")
    copy_threads(source, target, progress=interfere)
    other.delete_thread("t")
    copy_threads(source, target, on_existing="overwrite")
    assert_same_thread(target, source, "t")
    assert_same_thread(target, source, "s")


def test_a_copy_that_is_killed_at_any_moment_is_completed_by_the_next(server: Room, tmp_path: Path) -> None:
    path, chance = tmp_path / "source.db", random.Random(7)
    source = sqlite(str(path))
    for thread in range(12):
        put_chain(source, f"t{thread:02}", turns=12)
    source.conn.commit()
    kills = 0
    for attempt in range(40):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.transfer.copying_process", str(path), server.url, server.prefix + "-a"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        if attempt < 6:
            time.sleep(chance.uniform(0.005, 0.15))
            process.kill()
            kills += 1
        said = process.stdout.read()
        process.wait()
        if said == "done 12 0\n":
            break
    assert kills >= 1
    with opened(server) as make:
        target = make("a")
        for thread in range(12):
            assert_same_thread(target, source, f"t{thread:02}")
        assert copy_threads(source, target).unchanged == 12


def test_turns_are_dated_by_their_checkpoints_and_not_by_the_copy(ours: OpenSaver) -> None:
    source, target, place = InMemorySaver(), ours(), config("t")
    for turn in range(2):
        made = checkpoint(
            {"messages": [HumanMessage(f"q{n}", id=f"h{n}") for n in range(turn + 1)]}, {"messages": turn + 1}
        )
        made["ts"] = f"2020-01-0{turn + 1}T00:00:00+00:00"
        place = source.put(place, made, metadata(turn), made["channel_versions"])
    copy_threads(source, target)
    (turn,) = target.turns("t")
    assert [turn.record["started_at"][:10], turn.record["updated_at"][:10]] == ["2020-01-01", "2020-01-02"]


def test_a_copied_thread_has_the_turns_of_one_that_ran_here(ours: OpenSaver) -> None:
    here, source, target = ours("here"), InMemorySaver(), ours("there")
    for saver in (here, source):
        for turn in range(3):
            _chat(saver).invoke({"messages": [HumanMessage(f"question {turn}")]}, {"configurable": {"thread_id": "t"}})
    copy_threads(source, target)
    shown = [
        [
            (turn.record["turn"], turn.record["status"], [m["content"] for m in turn.messages])
            for turn in saver.turns("t")
        ]
        for saver in (here, target)
    ]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 3
