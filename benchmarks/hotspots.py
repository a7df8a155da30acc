"""Where a saver's own time and memory go: ``python -m benchmarks.hotspots [--saver NAME] [--turns 200] [--top 15]``.

Profiles only the saver's methods, awaited, so that everything runs in one thread; the engine and the model are left out.
"""

import argparse
import cProfile
import pstats
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.lanes import open_lane
from benchmarks.meters import SaverCpu, counting_clients
from benchmarks.savers import CONTENDERS, OURS


@dataclass
class ProfiledCpu(SaverCpu):
    """Counts CPU and profiles the same stretches."""

    profile: cProfile.Profile = field(default_factory=cProfile.Profile)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Profile the outermost block."""
        outermost = not getattr(self._inside, "depth", 0)
        with super().counting():
            if outermost:
                self.profile.enable()
            try:
                yield
            finally:
                if outermost:
                    self.profile.disable()


def profiled(saver: str, *, turns: int) -> tuple[cProfile.Profile, dict[bytes, int]]:
    """Drive one saver through `turns` turns and return the profile of its methods, and the sizes of its keys if it has a server."""
    contender = next(contender for contender in CONTENDERS if contender.name == saver)
    cpu = ProfiledCpu()
    with counting_clients() as traffic, open_lane(contender, traffic=traffic, use_async=True, cpu=cpu) as lane:
        for _ in range(turns):
            lane.take_turn()
        return cpu.profile, lane.meter.key_sizes() if lane.meter else {}


def main() -> None:
    """Print the hot spots, by own time and by time with callees, and the largest keys."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hotspots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--saver", default=OURS, choices=[contender.name for contender in CONTENDERS])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--top", type=int, default=15)
    arguments = parser.parse_args()
    profile, sizes = profiled(arguments.saver, turns=arguments.turns)
    for order in ("tottime", "cumulative"):
        pstats.Stats(profile).sort_stats(order).print_stats(arguments.top)
    for key, size_bytes in sorted(sizes.items(), key=lambda item: -item[1])[: arguments.top]:
        print(f"{size_bytes:>12,} bytes  {key.decode(errors='replace')}")


if __name__ == "__main__":
    main()
