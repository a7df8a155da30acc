"""Threads in a file: all of them come back, and a file that is not whole restores nothing."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint.errors import (
    CorruptRecordError,
    FutureVersionError,
    PlaintextRecordError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from langgraph_portable_checkpoint.storage.items import MESSAGE, pack, unpack
from langgraph_portable_checkpoint.storage.programs import whole
from langgraph_portable_checkpoint.transfer import frames
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.checking import verify
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.graphs import SCENARIOS, Play
from tests.servers import Room, Server
from tests.transfer.threads import (
    OpenSaver,
    assert_same_thread,
    contents,
    memory_with,
    opened,
    put_chain,
    put_zoo,
)


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def _turns(saver: Any, thread_id: str) -> list[Any]:
    return [(turn.record, turn.messages) for turn in saver.turns(thread_id)]


def test_every_kind_of_thread_comes_back_on_another_server(ours: OpenSaver, own_server: Server, tmp_path: Path) -> None:
    saver, file = ours(), tmp_path / "all.bak"
    copy_threads(memory_with(), saver)
    put_zoo(saver)
    for name in ("conversation", "interrupts_in_one_node"):
        SCENARIOS[name](Play(saver, Calls(), config={"configurable": {"thread_id": f"played {name}"}}))
    made = backup(saver, file)
    assert made.size_bytes == file.stat().st_size
    other = type(saver).from_url(own_server.url)
    report = restore(other, file)
    assert report.restored == made.threads == len(SCENARIOS) + 3
    for name in [*SCENARIOS, "zoo", "played conversation", "played interrupts_in_one_node"]:
        assert_same_thread(other, saver, name)
        assert _turns(other, name) == _turns(saver, name)
    assert list(verify(other)) == list(verify(saver))
    other.close()


def test_a_restored_thread_goes_on_and_forgets_its_runs_as_the_first(ours: OpenSaver) -> None:
    saver, copy, file = ours("a"), ours("b"), io.BytesIO()
    put_chain(saver, "t")
    backup(saver, file)
    file.seek(0)
    restore(copy, file)
    copy.delete_for_runs(["r1"])
    assert len(contents(copy, "t")) == len(contents(saver, "t")) - 1
    head = copy.get_tuple(config("t"))
    copy.put(head.config, checkpoint({"n": 1}), metadata(), {"n": 1})
    assert copy.get_tuple(config("t")).parent_config["configurable"]["checkpoint_id"] == head.checkpoint["id"]


def test_a_thread_keeps_its_own_time_to_live(ours: OpenSaver, server: Room) -> None:
    saver, copy, file = ours("a"), ours("b", ttl_seconds=1000), io.BytesIO()
    put_chain(saver, "short")
    put_chain(saver, "kept")
    saver.expire("short", 500)
    saver.persist("kept")
    backup(saver, file)
    file.seek(0)
    restore(copy, file)
    with server.client() as client:
        keys = {key: client.pttl(key) for key in client.scan_iter(match=f"{server.prefix}-b:1:{{t:*")}
    assert all(0 < ttl <= 500_000 for key, ttl in keys.items() if b"short" in key)
    assert all(ttl == -1 for key, ttl in keys.items() if b"kept" in key)


KEY = b"0123456789abcdef"


def _sealed(key: bytes = KEY) -> EncryptedSerializer:
    return EncryptedSerializer.from_pycryptodome_aes(key=key)


def test_an_encrypted_backup_shows_nothing_and_needs_its_key(ours: OpenSaver, tmp_path: Path) -> None:
    saver, file = ours("a", serde=_sealed()), tmp_path / "sealed.bak"
    put_chain(saver, "t")
    backup(saver, file)
    plain = b"".join(pack(frame.value) for frame in frames.FrameReader(file.open("rb"), "x"))
    assert b"question" not in plain
    same = ours("b", serde=_sealed())
    restore(same, file)
    assert_same_thread(same, saver, "t")
    for stranger in (ours("c", serde=_sealed(b"another key 0123")), ours("c")):
        with pytest.raises(CorruptRecordError):
            restore(stranger, file)
    assert contents(ours("c"), "t") == {}


def test_an_open_backup_is_not_trusted_by_an_encrypting_saver(ours: OpenSaver, tmp_path: Path) -> None:
    saver, file = ours("a"), tmp_path / "open.bak"
    put_chain(saver, "t")
    backup(saver, file)
    with pytest.raises(PlaintextRecordError):
        restore(ours("b", serde=_sealed()), file)


def _whole(ours: OpenSaver, threads: int = 3) -> tuple[Any, bytes]:
    saver, file = ours(), io.BytesIO()
    for thread in range(threads):
        put_chain(saver, f"t{thread}")
    backup(saver, file)
    return saver, file.getvalue()


def test_half_a_backup_restores_nothing(ours: OpenSaver) -> None:
    _, data = _whole(ours)
    target = ours("target")
    for size in (0, 3, 8, 20, len(data) // 3, len(data) // 2, len(data) - 1):
        with pytest.raises(CorruptRecordError):
            restore(target, io.BytesIO(data[:size]))
    assert list(target.list(None)) == []


@pytest.mark.parametrize("at", [0.02, 0.3, 0.6, 0.99])
def test_an_altered_backup_restores_nothing(ours: OpenSaver, at: float) -> None:
    _, data = _whole(ours)
    changed = bytearray(data)
    changed[int(len(data) * at)] ^= 1
    target = ours("target")
    with pytest.raises(CorruptRecordError):
        restore(target, io.BytesIO(bytes(changed)))
    assert list(target.list(None)) == []


def _frame_starts(data: bytes) -> list[int]:
    starts, at = [], len(frames.MAGIC)
    while at < len(data):
        starts.append(at)
        at += frames.HEAD_BYTES + int.from_bytes(data[at + 2 : at + 6], "big")
    return starts


CUTS: dict[str, Callable[[bytes, list[int]], bytes]] = {
    "a frame left out": lambda data, at: data[: at[3]] + data[at[4] :],
    "frames swapped": lambda data, at: data[: at[2]] + data[at[3] : at[4]] + data[at[2] : at[3]] + data[at[4] :],
    "a thread left out": lambda data, at: data[: at[1]] + data[at[-1] :],
    "no trailer": lambda data, at: data[: at[-1]],
    "two files": lambda data, at: data + data,
    "another file": lambda data, at: b'{"role": "user"}' * 100,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_frames_are_taken_only_in_their_order(ours: OpenSaver, cut: Callable[[bytes, list[int]], bytes]) -> None:
    _, data = _whole(ours)
    target = ours("target")
    with pytest.raises(CorruptRecordError):
        restore(target, io.BytesIO(cut(data, _frame_starts(data))))
    assert list(target.list(None)) == []


def test_a_frame_that_unpacks_to_more_than_it_says_is_refused(ours: OpenSaver) -> None:
    bomb = io.BytesIO()
    writer = frames.FrameWriter(bomb)
    writer.write(frames.HEADER, {"format": frames.FORMAT})
    packing, stored = frames._packed(pack(["items", bytes(50_000_000)]))
    head = frames.DATA + packing + len(stored).to_bytes(4, "big") + (100).to_bytes(4, "big")
    bomb.write(head + frames._checksum(writer._before, head, stored) + stored)
    bomb.seek(0)
    tracemalloc.start()
    with pytest.raises(CorruptRecordError, match="another size"):
        restore(ours(), bomb)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_backup_of_a_later_version_is_refused_by_name(ours: OpenSaver) -> None:
    later = io.BytesIO()
    writer = frames.FrameWriter(later)
    writer.write(frames.HEADER, {"format": frames.FORMAT + 1})
    writer.write(b"?", {"new": "things"})
    later.seek(0)
    with pytest.raises(FutureVersionError, match="version 2"):
        restore(ours(), later)


def test_existing_threads_are_refused_before_anything_is_written(ours: OpenSaver) -> None:
    _, data = _whole(ours)
    target = ours("target")
    put_chain(target, "t2")
    before = contents(target, "t2")
    with pytest.raises(ThreadExistsError, match="'t2'"):
        restore(target, io.BytesIO(data))
    assert [each for each in ("t0", "t1") if contents(target, each)] == []
    assert contents(target, "t2").keys() == before.keys()


def test_existing_threads_are_skipped_overwritten_or_left_beside(ours: OpenSaver) -> None:
    saver, data = _whole(ours)
    for policy, counts in (("skip", (2, 1)), ("as-new", (3, 0)), ("overwrite", (3, 0))):
        target = ours(policy)
        put_chain(target, "t2", turns=1)
        report = restore(target, io.BytesIO(data), on_existing=policy)  # type: ignore[arg-type]  # one of the words
        assert (report.restored, report.skipped) == counts
        if policy == "as-new":
            assert report.renamed == {"t2": "t2-copy"}
            assert_same_thread(target, saver, "t2", "t2-copy")
            assert len(_turns(target, "t2-copy")) == len(_turns(saver, "t2"))
        if policy == "overwrite":
            assert_same_thread(target, saver, "t2")
        assert_same_thread(target, saver, "t0")


def test_a_restore_that_stopped_half_way_goes_on(ours: OpenSaver) -> None:
    saver, data = _whole(ours)
    target, seen = ours("target"), []

    def stop(progress: Any) -> None:
        seen.append(progress)
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(target, io.BytesIO(data), progress=stop)
    assert [(each.done, each.total) for each in seen] == [(1, 3), (2, 3)]
    report = restore(target, io.BytesIO(data))
    assert (report.restored, report.unchanged) == (1, 2)
    for thread in range(3):
        assert_same_thread(target, saver, f"t{thread}")


def test_what_a_killed_restore_staged_is_in_nobodys_way(ours: OpenSaver) -> None:
    saver, data = _whole(ours, threads=1)
    target = ours("target")
    stored = saver._run(whole.dump_thread(saver._core, "t0"))
    program = whole.load_thread(target._core, "t0", stored, key=b"")
    effect = next(program)
    for _ in range(3):  # claimed, registered, one stage: then the process is gone
        effect = program.send(target._run(_just(effect)))
    assert list(target.list(None)) == []
    assert restore(target, io.BytesIO(data)).restored == 1
    assert_same_thread(target, saver, "t0")


def _just(effect: Any) -> Any:
    return (yield effect)


def test_two_restores_at_once_leave_one_whole_thread(ours: OpenSaver) -> None:
    saver, _ = _whole(ours, threads=1)
    target = ours("target")
    stored = saver._run(whole.dump_thread(saver._core, "t0"))
    first = whole.load_thread(target._core, "t0", stored, key=b"")
    effect = next(first)
    for _ in range(2):
        effect = first.send(target._run(_just(effect)))
    target._run(whole.load_thread(target._core, "t0", stored, key=b""))
    with pytest.raises(ThreadExistsError):
        first.send(target._run(_just(effect)))
    assert_same_thread(target, saver, "t0")


def test_a_failed_backup_leaves_no_file(ours: OpenSaver, tmp_path: Path) -> None:
    saver, file = ours(), tmp_path / "x.bak"
    put_chain(saver, "t")
    file.write_bytes(b"the one before")
    with pytest.raises(ThreadNotFoundError, match="'nothing'"):
        backup(saver, file, ["t", "nothing"])
    assert file.read_bytes() == b"the one before"
    assert list(tmp_path.iterdir()) == [file]
    assert backup(saver, file, ["t"]).threads == 1


def test_a_damaged_thread_comes_back_as_damaged_as_it_was(ours: OpenSaver, server: Room) -> None:
    saver, copy, file = ours("a"), ours("b"), io.BytesIO()
    put_chain(saver, "t")
    with server.client() as client:
        key = f"{server.prefix}-a:1:{{t:t}}:items"
        first, second, *_ = client.hkeys(key)
        client.hset(key, first, b"garbage")
        client.hdel(key, second)
    backup(saver, file)
    file.seek(0)
    restore(copy, file)
    with server.client() as client:
        assert client.hgetall(key) == client.hgetall(key.replace("-a:", "-b:"))


def _said(number: int, words: int) -> str:
    chance = random.Random(number)
    return " ".join("".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(words))


def _look(state: MessagesState) -> Any:
    number = len(state["messages"])
    call = {"name": "search", "args": {"query": _said(number, 4)}, "id": f"call_{number}"}
    return {"messages": [AIMessage("", tool_calls=[call]), ToolMessage(_said(number, 60), tool_call_id=call["id"])]}


def _answer(state: MessagesState) -> Any:
    return {"messages": [AIMessage(_said(len(state["messages"]), 40))]}


def test_a_backup_is_little_larger_than_what_was_said(ours: OpenSaver) -> None:
    saver, file, neutral = ours(), io.BytesIO(), 0
    builder = StateGraph(MessagesState).add_node("look", _look).add_node("answer", _answer)
    graph = builder.add_edge(START, "look").add_edge("look", "answer").compile(saver)
    for turn in range(20):
        graph.invoke({"messages": [HumanMessage(_said(turn, 12))]}, {"configurable": {"thread_id": "t"}})
    stored = saver._run(whole.dump_thread(saver._core, "t"))
    for data in stored.items.values():
        if data[1] == MESSAGE:
            body = unpack(data)[2]
            neutral += len(pack(body[0] if isinstance(body, list) else body))
    size = backup(saver, file).size_bytes
    assert size <= 1.2 * neutral, f"{size} bytes for {neutral}"
