"""Users who lack a right: the error names it and the rule that grants it, and nothing is written in part.

Each command of the published rule is taken away in turn, also from a saver that has worked with it before; whatever an
operation does not need goes on.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from langgraph_portable_checkpoint import PortableRedisSaver, errors, import_thread
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from langgraph_portable_checkpoint.transfer.repairing import repair
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.test_interruptions import OPERATIONS, made, seen
from tests.servers import ACL_COMMANDS, BUILDS, Server, acl_rules

PREFIX = "acl"
LARGE = os.urandom(300_000)
CONNECTING = ("auth", "hello", "ping", "select", "client|setname")
USED = tuple(name for name in ACL_COMMANDS if name not in CONNECTING)
WRITING = {"hset", "hdel", "zadd", "zrem", "sadd", "set", "unlink", "pexpire", "persist"}


def _put_large(saver: Any) -> None:
    saver.put(config("t", "0002"), checkpoint({"shot": LARGE}, checkpoint_id="0003"), metadata(3), {"shot": 9})


def _first_writes(saver: Any) -> None:
    saver.put_writes(config("copy", "0001"), [("n", 1)], "task")


def _overwrite(saver: Any) -> None:
    history = {"messages": [{"role": "user", "content": "hi"}]}
    import_thread(saver, "t", history, "anthropic", on_existing="overwrite")


def _upload(saver: Any) -> None:
    saver.record_upload("t", "https://example.com/1", data=b"bytes", mime_type="image/png")


def _turn(saver: Any) -> None:
    with saver.exclusive_turn("t"):
        OPERATIONS["put"](saver)


ATTEMPTS: dict[str, Callable[[Any], Any]] = {
    **OPERATIONS,
    "put of a large medium": _put_large,
    "first put_writes": _first_writes,
    "put in an exclusive turn": _turn,
    "expire as the saver says": lambda saver: saver.expire("t", None),
    "import in a thread's place": _overwrite,
    "record_upload": _upload,
    "reading": seen,
}


@dataclass
class Guarded:
    """A server with a user whose rights can be changed."""

    server: Server
    admin: redis.Redis
    name: str

    def saver(self, **options: Any) -> PortableRedisSaver:
        """A saver as that user."""
        url = f"redis://{self.name}:secret@127.0.0.1:{self.server.port}"
        return PortableRedisSaver.from_url(url, prefix=PREFIX, **options)

    def rule(self, *rules: str) -> None:
        """Give the published rights, changed by `rules`."""
        self.admin.execute_command("ACL SETUSER", self.name, *acl_rules(PREFIX, password="secret"), *rules)

    def dumps(self) -> dict[bytes, bytes]:
        """Return what puts all keys of the prefix back."""
        return {key: self.admin.dump(key) for key in self.admin.scan_iter(match=f"{PREFIX}:*", count=1000)}

    def contents(self) -> dict[bytes, Any]:
        """Return what the keys of the prefix hold, and whether they expire."""
        return {key: (self._value(key), self.admin.pttl(key) > 0) for key in self.dumps()}

    def _value(self, key: bytes) -> Any:
        read = {
            b"hash": self.admin.hgetall,
            b"zset": lambda k: self.admin.zrange(k, 0, -1, withscores=True),
            b"set": self.admin.smembers,
            b"string": self.admin.get,
        }
        return read[self.admin.type(key)](key)

    def put_back(self, kept: dict[bytes, bytes]) -> None:
        """Make the keys what they were."""
        self.admin.flushall()
        for key, data in kept.items():
            self.admin.restore(key, 0, data)

    def seen(self) -> Any:
        """Return what one with all rights reads."""
        with PortableRedisSaver.from_url(self.server.url, prefix=PREFIX) as saver:
            return seen(saver)


@pytest.fixture(scope="module", params=sorted(BUILDS))
def guarded(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with Server.start(request.param, tcp=True) as server, server.client() as admin:
        yield Guarded(server, admin, f"app-{uuid.uuid4().hex[:8]}")


def _prepared(guarded: Guarded) -> tuple[dict[bytes, bytes], Any]:
    guarded.rule()
    guarded.admin.flushall()
    with guarded.saver(ttl_seconds=1000) as saver:
        made(saver)
        saver.persist("t")
    return guarded.dumps(), guarded.seen()


def _refusal(attempt: Callable[[Any], Any], saver: Any) -> str | None:
    """Return the words of the refusal, or None where the attempt succeeds."""
    try:
        attempt(saver)
    except errors.ServerReadOnlyError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("name", ATTEMPTS)
def test_lacking_any_command_an_operation_is_done_whole_or_refused_whole(guarded: Guarded, name: str) -> None:
    kept, before = _prepared(guarded)
    guarded.put_back(kept)
    stored, refused = guarded.contents(), set()
    for command in USED:
        guarded.put_back(kept)
        guarded.rule()
        with guarded.saver(ttl_seconds=1000) as saver:
            assert saver.get_tuple(config("t")) is not None
            guarded.rule(f"-{command}")
            if (told := _refusal(ATTEMPTS[name], saver)) is None:
                continue
            assert f"+{command}" in told, f"the error must name {command}"
            refused.add(command)
            if guarded.contents() != stored:
                assert guarded.seen() == before, f"half done without {command}"
    assert {"eval", "evalsha"} & refused
    assert refused != set(USED)
    if name == "put":
        assert WRITING & refused == WRITING - {"hdel", "zrem", "set", "unlink"}


def _repair(saver: Any) -> None:
    list(repair(saver, ["t"], dry_run=False))


def test_a_repair_that_lacks_a_command_mends_all_or_nothing(guarded: Guarded) -> None:
    """Of a thread that has lost its index, with a tombstone that never goes, and keys that do not expire together."""
    _prepared(guarded)
    keys = dict(zip(THREAD_PARTS, Layout(PREFIX).thread("t"), strict=True))
    guarded.admin.delete(keys["index"])
    guarded.admin.set(keys["gone"], "0")
    guarded.admin.hset(keys["writes"], "x", "")
    damaged, stored, refused = guarded.dumps(), guarded.contents(), set()
    with guarded.saver() as saver:
        _repair(saver)
    mended = guarded.contents()
    for command in USED:
        guarded.put_back(damaged)
        guarded.rule(f"-{command}")
        with guarded.saver() as saver:
            told = _refusal(_repair, saver)
        if told is not None:
            assert f"+{command}" in told
            refused.add(command)
            assert guarded.contents() in (stored, mended), f"half mended without {command}"
    assert {"zadd", "hdel", "pexpire", "hkeys"} <= refused
    assert mended != stored


@pytest.mark.parametrize("name", ["first put", "first put_writes"])
@pytest.mark.parametrize("part", ["registry", "thread", "all but meta", "read only"])
def test_lacking_a_key_pattern_nothing_is_stored(guarded: Guarded, name: str, part: str) -> None:
    kept, before = _prepared(guarded)
    patterns = {
        "registry": [f"~{PREFIX}:1:{{t:*"],
        "thread": [f"~{PREFIX}:1:{{r:*"],
        "all but meta": [f"~{PREFIX}:1:{{r:*", f"~{PREFIX}:1:*:meta"],
        "read only": [f"%R~{PREFIX}:*"],
    }[part]
    if part == "read only" and guarded.server.build.name == "redis-6.2":
        patterns = [f"~{PREFIX}:1:*:items"]  # rights to read alone came with Redis 7
    guarded.put_back(kept)
    stored = guarded.contents()
    with guarded.saver() as saver:
        guarded.rule("resetkeys", *patterns)
        with pytest.raises(errors.ServerReadOnlyError, match=f"~{PREFIX}:\\*"):
            ATTEMPTS[name](saver)
        assert guarded.contents() == stored
        guarded.rule()
        ATTEMPTS[name](saver)
    assert guarded.seen() != before or name == "first put_writes"


def test_a_user_who_may_begin_a_transaction_and_not_end_it_gets_no_others_answers(guarded: Guarded) -> None:
    """The connection would stay within the transaction, and everything after it be answered with QUEUED."""
    _prepared(guarded)
    guarded.rule("-exec")
    with guarded.saver() as saver:
        _put_large(saver)
        found = saver.get_tuple(config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"shot": LARGE}


def test_the_published_rights_are_enough_for_every_operation(guarded: Guarded) -> None:
    kept, _ = _prepared(guarded)
    for attempt in ATTEMPTS.values():
        guarded.put_back(kept)
        with guarded.saver(ttl_seconds=1000) as saver:
            attempt(saver)


@pytest.mark.parametrize("command", CONNECTING)
def test_lacking_what_connecting_takes_is_told_or_not_needed(guarded: Guarded, command: str) -> None:
    _prepared(guarded)
    stored = guarded.contents()
    old = guarded.server.build.name == "redis-6.2"  # takes commands away whole
    guarded.rule(f"-{command.partition('|')[0] if old else command}")
    with guarded.saver() as saver:
        told = _refusal(OPERATIONS["put"], saver)
        assert told is None or (len(told.split()) > 5 and guarded.contents() == stored)
