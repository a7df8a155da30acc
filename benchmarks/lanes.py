"""One run: every saver drives its own thread of the same conversation, turn by turn, in turns.

A *lane* is one saver with its own server (or file) and its own compiled graph. All lanes take ten turns, then all take the next ten,
and so on, each time beginning with another lane: whatever else the machine does hits them alike. At the asked
thread lengths a lane is read out. A lane that outgrows its limits stops there, and says why.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from benchmarks import servers
from benchmarks.conversation import MESSAGES_PER_TURN, Graph, compile_graph, question
from benchmarks.meters import ClientTraffic, Footprint, SaverCpu, ServerCounters, ServerMeter, count_cpu
from benchmarks.savers import Contender, Place, Saver

WINDOW_TURNS = 10
TURNS_AT_A_TIME = 10
"""One at a time, each lane would find its server's core asleep and the caches full of the other lanes' threads."""
WARM_READS = 15
COLD_READS = 5
LIMIT_CHECK_TURNS = 10


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a lane has to stop, so that savers that grow quadratically do not eat the machine."""

    seconds: float
    """Of this process's CPU in the lane's turns, so that a busy machine cuts nobody short."""
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class TurnCost:
    """What one turn cost on the client's side."""

    wall_seconds: float
    process_seconds: float
    """CPU of this whole process: engine, model and saver. Unlike wall time, other programs hardly disturb it."""
    cpu_seconds: float
    """CPU inside the saver's methods alone."""
    commands: int
    round_trips: int


@dataclass(frozen=True, kw_only=True)
class ReadCost:
    """Median time and round trips of one read of the newest checkpoint."""

    milliseconds: float
    round_trips: int


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One lane read out at one thread length."""

    saver: str
    turns: int
    costs: tuple[TurnCost, ...]
    """One per turn, from the first on."""
    spent: ServerCounters
    """Server side of all turns."""
    window: ServerCounters
    """Server side of the last `window_turns` turns."""
    window_turns: int
    footprint: Footprint
    warm: ReadCost
    cold: ReadCost | None
    """None where a saver has no second process to be read from."""
    state: ReadCost
    """`graph.get_state`, which adds the engine's share to a warm read."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All readings of one run, the sizes sampled on the way, and the lanes that stopped early."""

    readings: tuple[Reading, ...]
    sizes: Mapping[str, Mapping[int, int]]
    """Saver -> turns -> bytes."""
    costs: Mapping[str, tuple[TurnCost, ...]]
    stopped: Mapping[str, str]
    """Saver -> after how many turns it stopped and why."""
    servers: Mapping[str, str]
    """Saver -> what it stored to."""


@dataclass(kw_only=True)
class Lane:
    """One saver on its way through the conversation."""

    contender: Contender
    place: Place
    saver: Saver
    graph: Graph
    cpu: SaverCpu
    traffic: ClientTraffic
    meter: ServerMeter | None
    server_name: str
    costs: list[TurnCost] = field(default_factory=list)
    spent: ServerCounters = field(default_factory=ServerCounters)
    marks: dict[int, ServerCounters] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    stopped: str | None = None
    _segment: ServerCounters = field(default_factory=ServerCounters)

    @property
    def config(self) -> RunnableConfig:
        """The thread's config."""
        return {"configurable": {"thread_id": "bench"}}

    def resume_counting(self) -> None:
        """Begin a stretch of turns whose server side is counted."""
        if self.meter:
            self._segment = self.meter.counters()

    def mark(self) -> None:
        """End the stretch and note the server side of all turns so far."""
        if self.meter:
            self.spent += self.meter.counters() - self._segment
        self.marks[len(self.costs)] = self.spent
        self.resume_counting()

    def take_turn(self) -> None:
        """Run the next turn and note what it cost."""
        state = {"messages": [question(len(self.costs))]}
        cpu, (commands, trips) = self.cpu.seconds, self.traffic.snapshot()
        started, process_started = time.perf_counter(), time.process_time()
        self._invoke(state)
        wall, process = time.perf_counter() - started, time.process_time() - process_started
        commands_now, trips_now = self.traffic.snapshot()
        self.costs.append(
            TurnCost(
                wall_seconds=wall,
                process_seconds=process,
                cpu_seconds=self.cpu.seconds - cpu,
                commands=commands_now - commands,
                round_trips=trips_now - trips,
            )
        )

    def footprint(self) -> Footprint:
        """Return what the saver holds now."""
        if self.contender.footprint:
            return self.contender.footprint(self.saver, self.place)
        assert self.meter
        return self.meter.footprint()

    def sample_size(self) -> None:
        """Note the size at this length, for the plot."""
        self.sizes[len(self.costs)] = self.footprint().size_bytes
        self.resume_counting()

    def stop_if_beyond(self, limits: Limits) -> None:
        """Stop the lane when it has used up its time or its memory."""
        if sum(cost.process_seconds for cost in self.costs) > limits.seconds:
            self._stop(f"{limits.seconds:g} s of CPU were used up")
        elif len(self.costs) % LIMIT_CHECK_TURNS == 0 and self._held_bytes() > limits.size_bytes:
            self._stop(f"{limits.size_bytes / 1e9:g} GB were used up")

    def read_out(self) -> Reading:
        """Measure the reads and sizes at this length."""
        turns = len(self.costs)
        window_turns = min(WINDOW_TURNS, turns)
        self._check_history()
        reading = Reading(
            saver=self.contender.name,
            turns=turns,
            costs=tuple(self.costs),
            spent=self.spent,
            window=self.spent - self.marks[turns - window_turns],
            window_turns=window_turns,
            footprint=self.footprint(),
            warm=self._read_cost(WARM_READS, lambda: self._get_tuple(self.saver, self.config)),
            cold=None if self.contender.server == "none" else self._cold_read(),
            state=self._read_cost(WARM_READS, self._get_state),
        )
        self.sizes[turns] = reading.footprint.size_bytes
        self.resume_counting()
        return reading

    def _stop(self, why: str) -> None:
        self.sample_size()
        held, last = self.sizes[len(self.costs)] / 1e6, self.costs[-1].wall_seconds * 1e3
        self.stopped = (
            f"after {len(self.costs)} turns: {why}; it held {held:,.0f} MB and its last turn took {last:,.0f} ms"
        )

    def _held_bytes(self) -> int:
        return self.meter.used_memory_bytes() if self.meter else self.footprint().size_bytes

    def _check_history(self) -> None:
        """A saver that loses messages would look fast."""
        messages = self._get_state().values["messages"]
        if len(messages) != MESSAGES_PER_TURN * len(self.costs):
            raise AssertionError(f"{self.contender.name} holds {len(messages)} messages after {len(self.costs)} turns")

    def _invoke(self, state: dict[str, Any]) -> None:
        if loop := self.place.loop:
            loop.run_until_complete(self.graph.ainvoke(state, self.config))
        else:
            self.graph.invoke(state, self.config)

    def _get_state(self) -> Any:
        if loop := self.place.loop:
            return loop.run_until_complete(self.graph.aget_state(self.config))
        return self.graph.get_state(self.config)

    def _get_tuple(self, saver: Saver, config: RunnableConfig) -> Any:
        if loop := self.place.loop:
            return loop.run_until_complete(saver.aget_tuple(config))
        return saver.get_tuple(config)

    def _read_cost(self, times: int, read: Callable[[], Any]) -> ReadCost:
        seconds, trips = zip(*(self._timed(read) for _ in range(times)), strict=True)
        return ReadCost(milliseconds=statistics.median(seconds) * 1e3, round_trips=round(statistics.median(trips)))

    def _cold_read(self) -> ReadCost:
        """Read with new saver objects that are connected but have seen nothing of the thread."""
        seconds, trips = zip(*(self._one_cold_read() for _ in range(COLD_READS)), strict=True)
        return ReadCost(milliseconds=statistics.median(seconds) * 1e3, round_trips=round(statistics.median(trips)))

    def _one_cold_read(self) -> tuple[float, int]:
        with ExitStack() as stack:
            saver = self.contender.opened(Place(location=self.place.location, loop=self.place.loop, stack=stack))
            self._get_tuple(saver, {"configurable": {"thread_id": "another", "checkpoint_ns": ""}})
            return self._timed(lambda: self._get_tuple(saver, self.config))

    def _timed(self, read: Callable[[], Any]) -> tuple[float, int]:
        trips, started = self.traffic.round_trips, time.perf_counter()
        read()
        return time.perf_counter() - started, self.traffic.round_trips - trips


@contextmanager
def open_lane(
    contender: Contender,
    *,
    traffic: ClientTraffic,
    use_async: bool = False,
    urls: Mapping[str, str] = MappingProxyType({}),
    cpu: SaverCpu | None = None,
) -> Iterator[Lane]:
    """Open a saver on a fresh server or file. `urls` names servers to use instead of starting one, by server kind."""
    with ExitStack() as stack:
        loop = asyncio.new_event_loop() if use_async else None
        if loop:
            stack.callback(loop.close)
        location, server_name = stack.enter_context(_storage(contender, urls=urls))
        meter = ServerMeter(location) if contender.server in ("plain", "modules") else None
        if meter:
            stack.callback(meter.close)
        place = Place(location=location, loop=loop, stack=stack)
        saver, cpu = contender.opened(place), cpu or SaverCpu()
        count_cpu(saver, cpu)
        yield Lane(
            contender=contender,
            place=place,
            saver=saver,
            graph=compile_graph(saver),
            cpu=cpu,
            traffic=traffic,
            meter=meter,
            server_name=server_name,
        )


@contextmanager
def _storage(contender: Contender, *, urls: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if contender.server == "none":
        yield "", "process memory"
    elif contender.server == "file":
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            yield str(Path(folder) / "checkpoints.sqlite"), "file"
    else:
        url, command = urls.get(contender.server), server_command(contender.server)
        started = servers.given(url) if url else servers.running(cast("list[str]", command))
        with started as server:
            yield server.url, server.name


def server_command(kind: str) -> list[str] | None:
    """Return how a server of that kind is started here, or None where its packages are missing."""
    return {"plain": servers.plain_command, "modules": servers.modules_command}[kind]()


def run_lanes(lanes: Sequence[Lane], lengths: Iterable[int], *, limits: Limits, say: Callable[[str], None]) -> Run:
    """Drive all lanes through the conversation and read them out at each of `lengths` (in turns)."""
    read_at = sorted(set(lengths))
    mark_at = {max(0, length - WINDOW_TURNS) for length in read_at}
    sample_at = _sample_points(read_at[-1]) - set(read_at)
    readings: list[Reading] = []
    for lane in lanes:
        lane.resume_counting()
        lane.mark()
    for block, first in enumerate(range(1, read_at[-1] + 1, TURNS_AT_A_TIME)):
        for lane in _running(lanes, first=block):
            for turn in range(first, min(first + TURNS_AT_A_TIME, read_at[-1] + 1)):
                _drive(lane, turn, mark=turn in mark_at or turn in read_at, sample=turn in sample_at)
                if turn in read_at:
                    readings.append(lane.read_out())
                    say(f"{lane.contender.name}: {turn} turns in {sum(cost.wall_seconds for cost in lane.costs):.1f} s")
                lane.stop_if_beyond(limits)
                if lane.stopped:
                    say(f"{lane.contender.name} stopped {lane.stopped}")
                    break
    return Run(
        readings=tuple(readings),
        sizes={lane.contender.name: dict(sorted(lane.sizes.items())) for lane in lanes},
        costs={lane.contender.name: tuple(lane.costs) for lane in lanes},
        stopped={lane.contender.name: lane.stopped for lane in lanes if lane.stopped and _cut(lane, read_at[-1])},
        servers={lane.contender.name: lane.server_name for lane in lanes},
    )


def _drive(lane: Lane, turn: int, *, mark: bool, sample: bool) -> None:
    lane.take_turn()
    if mark or sample:
        lane.mark()
    if sample:
        lane.sample_size()


def _cut(lane: Lane, last: int) -> bool:
    return len(lane.costs) < last


def _running(lanes: Sequence[Lane], *, first: int) -> list[Lane]:
    start = first % len(lanes)
    return [lane for lane in (*lanes[start:], *lanes[:start]) if not lane.stopped]


def _sample_points(last: int) -> set[int]:
    """Lengths at which sizes are sampled: evenly spread on a logarithmic axis."""
    return {round(last ** (step / 12)) for step in range(13)} | {2}
