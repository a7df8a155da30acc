"""Overwriting a thread: the old one stays whole until the new one takes its place, whatever happens in between."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import PortableRedisSaver, copy_threads, errors, import_thread, verify_thread
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from langgraph_portable_checkpoint.transfer import copying as copying_module
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.saver.between import Between
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Cluster, Room
from tests.transfer.threads import contents, put_chain, sqlite

HISTORY = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "there"}]}


class Died(BaseException):
    """The process is no more."""


def newer(saver: Any) -> Any:
    """Put what is to take the old thread's place."""
    put_chain(saver, "t", turns=4)
    return saver


def older(saver: Any) -> None:
    saver.put(config("t"), checkpoint({"old": list(range(50))}), metadata(run_id="old"), {"old": 1})
    put_chain(saver, "t", turns=1)


@dataclass
class Way:
    """A way to overwrite thread t, and how to tell that it has been."""

    overwrite: Callable[[Any], Any]
    is_done: Callable[[Any], bool]


def _moving(source: Any, overwrite: Callable[[Any], Any]) -> Way:
    return Way(overwrite, lambda saver: repr(contents(saver, "t")) == repr(contents(source, "t")))


def _stored(server: Room) -> Any:
    return newer(PortableRedisSaver.from_url(server.url, prefix=f"{server.prefix}-source"))


def restoring(server: Room) -> Way:
    file, source = io.BytesIO(), _stored(server)
    backup(source, file)
    return _moving(source, lambda saver: restore(saver, io.BytesIO(file.getvalue()), on_existing="overwrite"))


def copying_stored(server: Room) -> Way:
    source = _stored(server)
    return _moving(source, lambda saver: copy_threads(source, saver, on_existing="overwrite"))


def copying(_: Room) -> Way:
    source = newer(InMemorySaver())
    return _moving(source, lambda saver: copy_threads(source, saver, on_existing="overwrite"))


def importing(_: Room) -> Way:
    def done(saver: Any) -> bool:
        return [len(found.checkpoint["channel_values"].get("messages", ())) for found in saver.list(config("t"))] == [2]

    return Way(lambda saver: import_thread(saver, "t", HISTORY, "anthropic", on_existing="overwrite"), done)


WAYS = (restoring, copying_stored, copying, importing)


class Scene:
    """A server with the old thread, which can be put back, and savers that are cut at a chosen call."""

    def __init__(self, server: Room, client: Any) -> None:
        self.server, self.client = server, client
        older(self.saver())
        self.kept = {key: client.dump(key) for key in self.keys()}
        self.old = repr(contents(self.saver(), "t"))

    def saver(self, before: Callable[[int], Any] = lambda _: None) -> Any:
        return PortableRedisSaver(client=Between(self.client, before), prefix=self.server.prefix)

    def keys(self) -> list[bytes]:
        return list(self.client.scan_iter(match=f"{self.server.prefix}:*", count=1000))

    def staged(self) -> list[bytes]:
        """Keys of whatever is to take the thread's place."""
        return [key for key in self.keys() if b"}:new:" in key]

    def put_back(self) -> None:
        self.client.delete(*self.keys())
        for key, data in self.kept.items():
            self.client.restore(key, 0, data)

    def is_old(self) -> bool:
        return repr(contents(self.saver(), "t")) == self.old

    def sound(self) -> bool:
        listed = [info.thread_id for info in self.saver().threads()] == ["t"]
        return listed and not [finding for finding in verify_thread(self.saver(), "t") if finding.severity == "error"]


@pytest.fixture
def scene(server: Room) -> Any:
    with server.client() as client:
        yield Scene(server, client)


def dying_at(moment: int) -> Callable[[int], None]:
    def die(call: int) -> None:
        if call == moment:
            raise Died

    return die


@pytest.mark.parametrize("make", WAYS)
def test_old_thread_is_whole_until_the_new_one_is(server: Room, scene: Scene, make: Callable[[Room], Way]) -> None:
    way, still_old = make(server), 0
    for moment in range(100):
        scene.put_back()
        try:
            way.overwrite(scene.saver(dying_at(moment)))
        except Died:
            assert scene.is_old() or way.is_done(scene.saver()), f"neither old nor new when cut before call {moment}"
            still_old += scene.is_old()
            assert scene.sound()
            way.overwrite(scene.saver())
        assert way.is_done(scene.saver())
        assert scene.sound()
        if not scene.staged() and moment > still_old + 1:
            break
    assert still_old > 2


@pytest.mark.parametrize("make", WAYS)
def test_what_is_staged_expires_and_is_no_part_of_the_thread(
    server: Room, scene: Scene, make: Callable[[Room], Way]
) -> None:
    seen = 0

    def look(_: int) -> None:
        nonlocal seen
        there = scene.staged()
        assert all(scene.client.pttl(key) > 0 for key in there), "it must not outlive a process that died"
        seen += bool(there)

    make(server).overwrite(scene.saver(look))
    assert seen
    assert not scene.staged()


@pytest.mark.parametrize("make", WAYS)
def test_a_thread_that_goes_on_meanwhile_is_not_overwritten(
    server: Room, scene: Scene, make: Callable[[Room], Way]
) -> None:
    said: list[Any] = []

    def go_on(_: int) -> None:
        if not said and scene.staged():
            said.append(scene.saver().put(config("t"), checkpoint({"said": 1}), metadata(), {"said": 9}))

    with pytest.raises(errors.ThreadExistsError):
        make(server).overwrite(scene.saver(go_on))
    assert scene.saver().get_tuple(said[0]) is not None
    assert scene.sound()
    assert not scene.staged(), "nothing stays of what was refused"


def puts_again(saver: Any) -> None:
    head = saver.get_tuple(config("t"))
    saver.put(
        head.parent_config or config("t"), {**head.checkpoint, "channel_values": {"messages": []}}, metadata(), {}
    )


def puts_inner_again(saver: Any, number: int = 2) -> None:
    inner = saver.get_tuple(config("t", ns="sub:1"))
    again = {**inner.checkpoint, "channel_values": {"n": number}, "channel_versions": {"n": number}}
    saver.put(config("t", ns="sub:1"), again, metadata(), {"n": number})


def uploads(saver: Any, number: int = 2) -> None:
    saver.record_upload("t", f"https://x.example/{number}", data=b"bytes", mime_type="image/png")


def fails_a_turn(saver: Any) -> None:
    with pytest.raises(OSError, match="no more"), saver.exclusive_turn("t"):
        raise OSError("no more")


CHANGES: dict[str, Callable[[Any], Any]] = {
    "pending writes": lambda saver: saver.put_writes(saver.get_tuple(config("t")).config, [("n", "approved")], "late"),
    "the same checkpoint again": puts_again,
    "the same checkpoint again, of values that were there": puts_inner_again,
    "an upload of what was there": uploads,
    "the end of a turn": fails_a_turn,
    "a time to live": lambda saver: saver.expire("t", 1000),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_acknowledged_meanwhile_is_not_lost(server: Room, scene: Scene, change: str) -> None:
    changed: list[Any] = []

    def go_on(_: int) -> None:
        if not changed and scene.staged():
            CHANGES[change](scene.saver())
            changed.append([scene.client.dump(key) for key in Layout(server.prefix).thread("t")[:9]])

    asked = {"messages": [HumanMessage("a turn that is open", id="h9")]}
    scene.saver().put(config("t"), checkpoint(asked, {"messages": 9}), metadata(), {"messages": 9})
    uploads(scene.saver(), 1)
    for number in (2, 3):
        puts_inner_again(scene.saver(), number)
    with pytest.raises(errors.ThreadExistsError):
        copying(server).overwrite(scene.saver(go_on))
    assert [scene.client.dump(key) for key in Layout(server.prefix).thread("t")[:9]] == changed[0]


@pytest.mark.parametrize("make", WAYS)
def test_a_thread_that_only_waited_for_a_turn_meanwhile_is_overwritten(
    server: Room, scene: Scene, make: Callable[[Room], Way]
) -> None:
    way, held = make(server), list[Any]()

    def hold(_: int) -> None:
        if not held and scene.staged():
            with scene.saver().exclusive_turn("t") as lease:
                held.append(lease)

    way.overwrite(scene.saver(hold))
    assert held
    assert way.is_done(scene.saver())


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("make", WAYS)
def test_a_thread_that_someone_else_holds_is_not_overwritten(
    server: Room, scene: Scene, make: Callable[[Room], Way], when: str
) -> None:
    way, other = make(server), scene.saver()
    with ExitStack() as held:

        def hold(_: int) -> None:
            if not scene.client.exists(lease) and (when == "before" or scene.staged()):
                held.enter_context(other.exclusive_turn("t"))

        lease = Layout(server.prefix).thread("t")[10]
        with pytest.raises(errors.TurnInProgressError):
            way.overwrite(scene.saver(hold))
        assert scene.client.exists(lease)
        assert scene.is_old()
        assert not scene.staged()
        puts_again(other)


@pytest.mark.parametrize("part", ["blobs", "runs"])
def test_a_key_of_another_program_is_not_taken_along(server: Room, scene: Scene, part: str) -> None:
    key = dict(zip(THREAD_PARTS, Layout(server.prefix).thread("t"), strict=True))[part]
    scene.client.delete(key)
    scene.client.set(key, "theirs")
    with pytest.raises(errors.WrongServerError):
        importing(server).overwrite(scene.saver())
    assert scene.client.get(key) == b"theirs"


@pytest.mark.parametrize("make", WAYS)
def test_the_holder_may_overwrite_and_still_holds(server: Room, scene: Scene, make: Callable[[Room], Way]) -> None:
    way, holder = make(server), scene.saver()
    with holder.exclusive_turn("t"):
        way.overwrite(holder)
        assert way.is_done(scene.saver())
        with pytest.raises(errors.TurnInProgressError):
            puts_again(scene.saver())
        puts_again(holder)


def test_a_holder_that_lost_the_thread_stays_refused_after_the_overwriting(server: Room, scene: Scene) -> None:
    way, loser = copying(server), scene.saver()
    with loser.exclusive_turn("t"):
        scene.client.delete(Layout(server.prefix).thread("t")[10])
        with scene.saver().exclusive_turn("t"):
            pass
        way.overwrite(scene.saver())
        with pytest.raises(errors.TurnInProgressError):
            puts_again(loser)
        with pytest.raises(errors.TurnInProgressError):
            importing(server).overwrite(loser)


@pytest.mark.parametrize("make", WAYS)
def test_a_run_of_the_old_thread_cannot_go_on_in_the_new_one(
    server: Room, scene: Scene, make: Callable[[Room], Way]
) -> None:
    way, run = make(server), scene.saver()
    said = run.put(config("t"), checkpoint({"said": 1}), metadata(), {"said": 1})
    way.overwrite(scene.saver())
    with pytest.raises(errors.ThreadDeletedError):
        run.put(said, checkpoint({"said": 2}), metadata(), {"said": 2})
    with pytest.raises(errors.ThreadDeletedError):
        run.put_writes(said, [("said", 2)], "late")
    assert way.is_done(scene.saver())
    assert 0 < scene.client.ttl(Layout(server.prefix).thread("t")[9]) <= 3600


@pytest.mark.parametrize("make", WAYS)
def test_the_new_thread_goes_on(server: Room, scene: Scene, make: Callable[[Room], Way]) -> None:
    way, saver = make(server), scene.saver()
    saver.put(config("t"), checkpoint({"said": 1}), metadata(), {"said": 1})
    way.overwrite(saver)
    for each in list(saver.list(config("t"))):
        saver.put_writes(each.config, [("n", "more")], "late")
    head = saver.get_tuple(config("t")).config
    put = saver.put(head, checkpoint({"said": 2}), metadata(), {"said": 2})
    assert saver.get_tuple(put).parent_config == head
    assert ("late", "n", "more") in saver.get_tuple(head).pending_writes
    assert scene.sound()


@pytest.mark.parametrize("make", WAYS)
def test_a_full_server_keeps_the_old_thread(server: Room, scene: Scene, make: Callable[[Room], Way]) -> None:
    way = make(server)
    scene.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(errors.ServerFullError):
            way.overwrite(scene.saver())
    finally:
        scene.client.config_set("maxmemory", 0)
    assert scene.is_old()


@pytest.mark.parametrize("ttl", [None, 0, 300])
@pytest.mark.parametrize("make", [restoring, copying_stored])
def test_the_new_thread_lives_as_long_as_it_is_to(server: Room, scene: Scene, make: Any, ttl: int | None) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=f"{server.prefix}-source") as source:
        newer(source)
        if ttl is not None:
            source.persist("t") if ttl == 0 else source.expire("t", ttl)
        file = io.BytesIO()
        backup(source, file)
        saver = PortableRedisSaver(client=scene.client, prefix=server.prefix, ttl_seconds=1000)
        if make is restoring:
            restore(saver, io.BytesIO(file.getvalue()), on_existing="overwrite")
        else:
            copy_threads(source, saver, on_existing="overwrite")
    left = {scene.client.ttl(key) for key in Layout(server.prefix).thread("t")[:9] if scene.client.exists(key)}
    assert {-1 if each == -1 else -(-each // 100) for each in left} == {{None: 10, 0: -1, 300: 3}[ttl]}


def test_the_old_threads_runs_are_forgotten(scene: Scene) -> None:
    way = copying(scene.server)
    way.overwrite(scene.saver())
    indexed = [scene.client.zrange(Layout(scene.server.prefix).run_index(shard), 0, -1) for shard in range(64)]
    assert sum(map(len, indexed)) == len(scene.client.smembers(Layout(scene.server.prefix).thread("t")[8]))


@pytest.mark.parametrize("name", ["restore", "copy"])
def test_a_sealed_thread_is_overwritten_by_a_sealed_one(server: Room, name: str) -> None:
    options: Any = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)}
    with (
        PortableRedisSaver.from_url(server.url, prefix=f"{server.prefix}-source", **options) as source,
        PortableRedisSaver.from_url(server.url, prefix=server.prefix, **options) as target,
    ):
        newer(source)
        older(target)
        if name == "restore":
            file = io.BytesIO()
            backup(source, file)
            restore(target, io.BytesIO(file.getvalue()), on_existing="overwrite")
        else:
            copy_threads(source, target, on_existing="overwrite")
        assert repr(contents(target, "t")) == repr(contents(source, "t"))


def test_a_cluster_overwrites_within_the_threads_slot(cluster: Cluster) -> None:
    with PortableRedisSaver.from_url(cluster.url, cluster=True, prefix="over") as saver:
        older(saver)
        source = newer(InMemorySaver())
        copy_threads(source, saver, on_existing="overwrite")
        assert repr(contents(saver, "t")) == repr(contents(source, "t"))


def test_a_copy_that_does_not_compare_equal_leaves_the_old_thread(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finding(sources: Any) -> Any:
        yield from ()
        return [(next(iter(sources)), "is another")]

    monkeypatch.setattr(copying_module, "comparer_of", lambda *_: finding)
    report = copy_threads(newer(InMemorySaver()), scene.saver(), on_existing="overwrite")
    assert (report.copied, report.skipped, report.equal, report.checkpoints) == (0, 1, False, 0)
    assert scene.is_old()
    assert not scene.staged()


def test_a_saver_of_others_keeps_its_thread_when_the_source_cannot_be_read() -> None:
    target, source = sqlite(), newer(InMemorySaver())
    older(target)
    before = repr(contents(target, "t"))
    real = source.get_tuple

    def failing(where: Any) -> Any:
        if where["configurable"].get("checkpoint_id"):
            raise OSError("the disk is gone")
        return real(where)

    source.get_tuple = failing
    source.list = lambda *args, **options: iter(())
    with pytest.raises(OSError, match="the disk is gone"):
        copy_threads(source, target, ["t"], on_existing="overwrite")
    assert repr(contents(target, "t")) == before


@pytest.mark.parametrize("word", ["skip", "append", "Overwrite", "", None])
def test_a_word_that_is_no_policy_stores_nothing(server: Room, word: Any) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        older(saver)
        before = contents(saver, "t")
        for thread_id in ("t", "new"):
            with pytest.raises(ValueError, match=r"on_existing is .*; use one of refuse, overwrite"):
                import_thread(saver, thread_id, HISTORY, on_existing=word)
        assert contents(saver, "t") == before
        assert saver.get_tuple(config("new")) is None


@pytest.mark.parametrize("make", [lambda saver: saver, lambda saver: InMemorySaver()])
def test_a_thread_is_not_overwritten_with_nothing(server: Room, make: Any) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as ours:
        saver = make(ours)
        older(saver)
        before = contents(saver, "t")
        with pytest.raises(errors.MalformedHistoryError, match="it has no message"):
            import_thread(saver, "t", {"messages": []}, "langchain", on_existing="overwrite")
        assert contents(saver, "t") == before


def history(who: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"I am {who}"}]}


def speaker(saver: Any) -> str:
    head = saver.get_tuple(config("t"))
    return str(head.checkpoint["channel_values"]["messages"][0].content).removeprefix("I am ")


def import_between(
    saver: Callable[[Callable[[int], Any]], Any], moment: int, on_existing: str
) -> tuple[list[str], Any]:
    """Import A, and B within A before one of its calls; return who was told that it is done, and a saver."""
    done: list[str] = []

    def run(who: str, before: Callable[[int], Any]) -> None:
        try:
            import_thread(saver(before), "t", history(who), "openai-chat", on_existing=on_existing)  # type: ignore[arg-type]
            done.append(who)
        except (errors.ThreadExistsError, errors.ConflictError):
            pass

    run("A", lambda call: run("B", lambda _: None) if call == moment and "B" not in done else None)
    return done, saver(lambda _: None)


@pytest.mark.parametrize("moment", range(3))
@pytest.mark.parametrize("on_existing", ["overwrite", "refuse"])
@pytest.mark.parametrize("there", [False, True])
def test_of_imports_at_once_those_that_are_told_so_have_made_the_thread(
    scene: Scene, there: bool, on_existing: str, moment: int
) -> None:
    if not there:
        scene.client.delete(*scene.keys())
    done, saver = import_between(scene.saver, moment, on_existing)
    if there and on_existing == "refuse":
        assert done == []
        assert scene.is_old()
        return
    assert done
    assert speaker(saver) == done[-1]
    assert len(list(saver.list(config("t")))) == 1
    assert done == (["B", "A"] if moment == 0 and on_existing == "overwrite" else ["B"])
    assert scene.sound()


def test_of_many_imports_of_a_new_thread_one_makes_it(scene: Scene) -> None:
    scene.client.delete(*scene.keys())
    saver, done = scene.saver(), list[int]()

    def run(number: int) -> None:
        with suppress(errors.ThreadExistsError):
            import_thread(saver, "t", history(str(number)), "openai-chat")
            done.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [speaker(scene.saver())] == [*map(str, done)]
    assert len(list(scene.saver().list(config("t")))) == 1


def test_an_import_takes_the_place_of_a_thread_that_was_deleted_a_moment_ago(scene: Scene) -> None:
    scene.saver().delete_thread("t")
    import_thread(scene.saver(), "t", history("new"), "openai-chat")
    saver = scene.saver()
    head = saver.get_tuple(config("t"))
    saver.put(head.config, checkpoint({"messages": []}), metadata(), {"messages": 99})
    assert len(list(saver.list(config("t")))) == 2
    assert scene.sound()
