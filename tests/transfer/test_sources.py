"""Savers opened by URL: of every kind that is installed, and a clear word where one is not there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint.errors import MissingPackageError, SaverUrlError
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.sources import open_saver, redacted
from tests.servers import Room, Server
from tests.transfer.threads import assert_same_thread, put_chain


def _memory() -> InMemorySaver:
    saver = InMemorySaver()
    put_chain(saver, "t")
    return saver


@pytest.mark.parametrize("kind", ["unix", "tcp", "sqlite", "embedded", "folder"])
def test_threads_move_through_urls(kind: str, server: Room, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    if kind == "folder":
        folder.mkdir()
    urls = {
        "unix": server.url,
        "tcp": server.server.tcp_url,
        "sqlite": f"sqlite:///{tmp_path / 'x.db'}",
        "embedded": f"embedded://{folder}",
        "folder": str(folder),
    }
    options = {} if kind == "sqlite" else {"prefix": server.prefix}
    with open_saver(urls[kind], **options) as target:
        assert copy_threads(_memory(), target).equal
    with open_saver(urls[kind], create=False, **options) as again:
        assert sum(1 for _ in again.list({"configurable": {"thread_id": "t"}})) == 4


def test_a_valkey_saver_gives_and_takes(own_server: Server) -> None:
    pytest.importorskip("langgraph_checkpoint_aws.checkpoint.valkey.saver")
    source = InMemorySaver()
    put_chain(source, "t")
    put_chain(source, "a{b}*[c]")
    with open_saver(f"valkey-aws+unix://{own_server.socket_path}") as between:
        report = copy_threads(source, between)
        assert (report.copied, report.checkpoints) == (2, 8)
        back = InMemorySaver()
        copied = copy_threads(between, back)
        assert (copied.copied, copied.differences) == (2, [])
        assert copy_threads(source, between).unchanged == 2
    for thread_id in ("t", "a{b}*[c]"):
        assert set(back.storage[thread_id]) == set(source.storage[thread_id])


def test_a_plain_redis_saver_gives_and_takes(own_server: Server) -> None:
    plainredis = pytest.importorskip("langgraph_checkpoint_plainredis")
    source, back = InMemorySaver(), InMemorySaver()
    for name in ("t", "u"):
        put_chain(source, name, versions=lambda number: f"{number:032}.5")
    between = plainredis.RedisSaver(own_server.client())
    assert copy_threads(source, between).copied == 2
    assert copy_threads(between, back).differences == []
    assert_same_thread(back, between, "t")
    assert_same_thread(back, source, "u")
    between.close()


@pytest.mark.parametrize("url", ["tests.transfer.test_sources:_memory", "tests.transfer.threads:sqlite"])
def test_a_factory_makes_a_saver(url: str) -> None:
    with open_saver(url) as saver:
        assert type(saver).__name__ in {"InMemorySaver", "SqliteSaver"}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://example.invalid/x",
        "nothing",
        "no_such_module_here:make",
        "tests.transfer.threads:nothing",
        "tests.transfer.threads:play.nothing",
        "redis://host:not-a-port/0",
        "sqlite:file.db",
        "sqlite://file.db",
        "tests.servers:free_port",
    ],
)
def test_what_names_no_saver_is_refused(url: str) -> None:
    with pytest.raises(SaverUrlError), open_saver(url):
        pass


@pytest.mark.parametrize("url", ["sqlite:///{}/missing.db", "embedded://{}/missing"])
def test_what_is_only_read_is_not_made(url: str, tmp_path: Path) -> None:
    with pytest.raises(SaverUrlError, match="there is no"), open_saver(url.format(tmp_path), create=False):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("sqlite:///x.db", "langgraph.checkpoint.sqlite", "langgraph-checkpoint-sqlite"),
        ("postgresql://u:hidden@h/d", "langgraph.checkpoint.postgres", "langgraph-checkpoint-postgres"),
        ("redisjson+redis://:hidden@h", "langgraph.checkpoint.redis", "langgraph-checkpoint-redis"),
        ("valkey-aws://:hidden@h", "langgraph_checkpoint_aws.checkpoint.valkey.saver", "langgraph-checkpoint-aws"),
    ],
)
def test_a_missing_package_is_named(url: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=package) as caught, open_saver(url):
        pass
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:hidden@host:1/0", "redis://user:***@host:1/0"),
        ("redis://:hidden@host", "redis://:***@host"),
        ("postgresql://host/db?user=me&password=hidden&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("redis://a:b:c@d@host", "redis://a:***@host"),
        ("redis://[bad", "the URL given"),
        ("sqlite:////a/b", "sqlite:////a/b"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: Any) -> None:
    assert redacted(url) == shown
