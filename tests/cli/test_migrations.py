"""`migrate` from and to the savers of other packages, on their own servers: real graphs, moved and gone on with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.types import Command

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.sources import open_saver
from tests.cli.conftest import Cli, process
from tests.cli.threads import graph_on, talk
from tests.foreign_servers import Postgres, postgres, redis_with_modules
from tests.saver.same import assert_same, comparable
from tests.servers import Room, Server
from tests.transfer.threads import play, put_chain

VERSIONS: dict[str, Callable[[int], Any]] = {
    "int versions": lambda number: number,
    "float versions": float,
    "text versions": lambda number: f"{number:032}.{number / 7:016}",
}
ODD = ("a:b", "A", "a", "x*[?]^", 'with "quotes" and spaces', "two\nlines", "ünï|$x,y\\z", "{t:x}")
"""Thread ids that keys, patterns and search queries may take for something else."""


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests."""
    with postgres() as running:
        yield running


@pytest.fixture(scope="session")
def running_modules() -> Iterator[Server]:
    """One Redis with modules for all tests."""
    with redis_with_modules() as running:
        yield running


@pytest.fixture(params=["postgresql", "redisjson", "valkey-aws"])
def place(request: pytest.FixtureRequest) -> str:
    """The URL of another package's saver, empty, on a server that runs."""
    if request.param == "postgresql":
        pytest.importorskip("langgraph.checkpoint.postgres")
        server = request.getfixturevalue("running_postgres")
        return str(server.make(re.sub(r"\W", "_", request.node.name)))
    if request.param == "redisjson":
        pytest.importorskip("langgraph.checkpoint.redis")
        server = request.getfixturevalue("running_modules")
        with server.client() as client:
            client.flushall()
        return f"redisjson+{server.tcp_url}"
    pytest.importorskip("langgraph_checkpoint_aws.checkpoint.valkey.saver")
    return f"valkey-aws+{request.getfixturevalue('own_server').url}"


def _fill(saver: Any) -> list[str]:
    """Play everything that graphs do on a saver; return the thread ids."""
    names = play(saver)
    for name, versions in VERSIONS.items():
        put_chain(saver, name, versions=versions)
    for name in ODD:
        put_chain(saver, name, turns=1)
    talk(saver, "waiting", "hello", "wait")
    return [*names, *VERSIONS, *ODD, "waiting"]


def _read(saver: Any, thread_id: str, at: CheckpointTuple) -> Any:
    """Read a checkpoint as a graph of that saver would, in the form in which savers are compared."""
    where = {**at.config["configurable"], "thread_id": thread_id}
    found = comparable(saver.get_tuple({"configurable": where}))
    if found is not None:
        found["writes"] = sorted(found["writes"] or [], key=lambda each: (each[0], WRITES_IDX_MAP.get(each[1], 0)))
    return found


def _compare(target: Any, source: Any, thread_id: str) -> int:
    """Compare a thread of two savers by the tests' own means; return how many checkpoints it has."""
    copies = list(target.list({"configurable": {"thread_id": thread_id}}))
    for copy in copies:
        here, there = (_read(saver, thread_id, copy) for saver in (target, source))
        if type(source).__name__ == "RedisSaver" and not there["writes"]:
            # It hides writes that were stored before their checkpoint; see `OfRedisJson.read`.
            found = source._load_pending_writes(*(copy.config["configurable"][name] for name in _PLACE))
            there["writes"] = sorted(found, key=lambda each: (each[0], WRITES_IDX_MAP.get(each[1], 0)))
        assert_same(here, there)
    return len(copies)


_PLACE = ("thread_id", "checkpoint_ns", "checkpoint_id")


@contextmanager
def _opened(place: str) -> Iterator[Any]:
    with open_saver(place) as saver:
        yield saver


def test_everything_arrives_and_interrupted_graphs_go_on(on_server: Cli, saver: PortableRedisSaver, place: str) -> None:
    with _opened(place) as source:
        names = _fill(source)
        ran = on_server("migrate", "--from", place, "--json")
        assert (ran.code, ran.json["differences"]) == (0, []), ran.err or ran.out
        assert ran.json["copied"] == len(names)
        assert {info.thread_id for info in saver.threads()} == set(names)
        assert sum(_compare(saver, source, name) for name in names) == ran.json["checkpoints"]
        there, here = (_resumed(each) for each in (source, saver))
    assert here == there == ["hello", "echo hello", "wait", "echo wait", "more", "echo more"]
    assert on_server("verify").code == 0


def _resumed(saver: Any) -> list[str]:
    graph, where = graph_on(saver), {"configurable": {"thread_id": "waiting"}}
    graph.invoke(Command(resume="yes"), where)
    state = graph.invoke({"messages": [("user", "more")]}, where)
    return [message.text for message in state["messages"]]


def test_a_second_run_finds_everything_there(on_server: Cli, place: str) -> None:
    with _opened(place) as source:
        names = _fill(source)
    assert on_server("migrate", "--from", place, "--json").json["copied"] == len(names)
    again = on_server("migrate", "--from", place, "--json").json
    assert (again["unchanged"], again["checkpoints"], again["writes"]) == (len(names), 0, 0)
    one = on_server("migrate", "--from", place, "--thread", "x*[?]^", "--json").json
    assert (one["unchanged"], one["copied"]) == (1, 0)


def test_threads_of_ours_go_there_and_come_back(on_server: Cli, cli: Cli, server: Room, saver: Any, place: str) -> None:
    play(saver, ["conversation", "subgraph", "tool_loop", "time_travel"])
    talk(saver, "waiting", "hello", "wait")
    back = ("--redis-url", server.url, "--prefix", f"{server.prefix}-back")
    ours = ("--from", server.url, "--from-prefix", server.prefix)
    there = cli("migrate", *ours, "--to", place, "--json")
    assert (there.json["copied"], there.json["respelled"]) == (5, 5), there.err
    assert {each["detail"].partition(":")[0] for each in there.json["differences"]} <= _CHANGED_BY[
        place.partition(":")[0]
    ]
    with _opened(place) as elsewhere:
        assert _resumed(elsewhere)[-2:] == ["more", "echo more"]
    returned = cli("migrate", "--from", place, *back, "--json")
    assert (returned.code, returned.json["copied"], returned.json["differences"]) == (0, 5, []), returned.err
    with PortableRedisSaver.from_url(server.url, prefix=f"{server.prefix}-back") as came:
        state = graph_on(came).invoke({"messages": [("user", "again")]}, {"configurable": {"thread_id": "waiting"}})
        assert [message.text for message in state["messages"]][-3:] == ["echo more", "again", "echo again"]


_CHANGED_BY: dict[str, set[str]] = {
    "postgresql": set(),
    "valkey-aws+unix": set(),
    "redisjson+redis": {"checkpoint", "versions"},
}
"""What each saver itself makes something else of, in the words of the report: RedisSaver makes every version a text."""


def test_a_factory_in_the_working_folder_is_a_source(server: Room, saver: PortableRedisSaver, tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "from tests.transfer.threads import put_chain\n"
        "def make():\n    saver = InMemorySaver()\n    put_chain(saver, 'm')\n    return saver\n"
    )
    place = ("--redis-url", server.url, "--prefix", server.prefix)
    ran = process("migrate", "--from", "mine:make", *place, "--json", cwd=tmp_path)
    assert ran.json["copied"] == 1, ran.err
    assert [info.thread_id for info in saver.threads()] == ["m"]


def test_a_wrong_password_of_another_database_is_not_shown(on_server: Cli, running_postgres: Postgres) -> None:
    pytest.importorskip("langgraph.checkpoint.postgres")
    ran = on_server("migrate", "--from", running_postgres.url("postgres", password="hunter2"))
    assert (ran.code, len(ran.err.splitlines())) == (4, 1), ran.err
    assert "password" in ran.err
    assert "hunter2" not in ran.err


def test_a_database_without_threads_is_said_to_have_no_tables(on_server: Cli, running_postgres: Postgres) -> None:
    pytest.importorskip("langgraph.checkpoint.postgres")
    ran = on_server("migrate", "--from", running_postgres.make("nothing"))
    assert (ran.code, len(ran.err.splitlines())) == (4, 1), ran.err
    assert "checkpoints" in ran.err


def test_a_redis_without_threads_of_the_other_kind_is_left_as_it_is(
    on_server: Cli, running_modules: Server, server: Room
) -> None:
    pytest.importorskip("langgraph.checkpoint.redis")
    with running_modules.client() as client:
        client.flushall()
        for index in client.execute_command("FT._LIST"):
            client.execute_command("FT.DROPINDEX", index)
        ran = on_server("migrate", "--from", f"redisjson+{running_modules.tcp_url}")
        assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
        assert client.execute_command("FT._LIST") == []
    ran = on_server("migrate", "--from", f"redisjson+{server.server.tcp_url}")
    assert (ran.code, len(ran.err.splitlines())) == (4, 1), ran.err
