"""The benchmark of the command line measures what it says."""

from __future__ import annotations

from benchmarks.command_line import measure
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.servers import Server


def test_the_benchmark_runs_each_command_on_as_many_threads_as_asked_for(own_server: Server) -> None:
    found = measure(own_server.url, threads=3, rounds=1)
    with PortableRedisSaver.from_url(own_server.url) as saver:
        assert len(list(saver.threads())) == 3
    assert [len(command.wall_seconds) for command in found] == [1] * 4
    assert all(seconds > 0 for command in found for seconds in command.cpu_seconds)
