"""What the shells cost at scale, in virtual time: per execution, step, claim and iteration, and the memory it takes.

    python benchmarks/simulation.py            1,000 workers, 10,000 executions, a loop of 1,000,000 iterations
    python benchmarks/simulation.py --quick    a fiftieth of it
    python benchmarks/simulation.py --profile  where the time of an execution and of an iteration goes

Times are of the process's own CPU and hold everything: engine, shells, the store in memory, and the virtual clock's
own loop. Exit code 1 where memory grows with what is done, or where a unit of a large run costs more than of a small.
"""

import argparse
import cProfile
import pstats
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.simulation.scale import STEPS, Cost, idle_workers, long_loop, many_executions

QUICK = 50
GROWTH_MAX = 2.0
"""A unit of the whole run in units of one of a tenth of it."""

RSS_BYTES_MAX = 2_000 * 1024 * 1024
IDLE_S = 60.0
LINES = 25


def main() -> int:
    options = _options()
    part = QUICK if options.quick else 1
    workers, executions, iterations = 1_000 // part, 10_000 // part, 1_000_000 // part
    if options.profile:
        _profile(partial(many_executions, 1_000, workers=100))
        _profile(partial(long_loop, 10_000, workers=10))
        return 0
    small = many_executions(executions // 10, workers=workers // 10)
    many = many_executions(executions, workers=workers)
    short = long_loop(iterations // 10, workers=10)
    long = long_loop(iterations, workers=10)
    idle = idle_workers(workers, IDLE_S)
    print(_executions(many, workers), _iterations(long), _idle(idle), sep="\n")
    return _verdict({"an execution": (small, many), "an iteration": (short, long)})


def _executions(cost: Cost, workers: int) -> str:
    step_us, claim_us = cost.unit_us / STEPS, cost.cpu_s / cost.claims * 1e6
    return (
        f"{cost.units:,} executions of {STEPS} steps on {workers:,} workers: {cost.unit_us:,.0f} µs an execution, "
        f"{step_us:,.0f} µs a step, {claim_us:,.0f} µs a claim; {cost.commits:,} commits, "
        f"{cost.callbacks / cost.units:.1f} callbacks each, {cost.virtual_s:,.0f} s of virtual time"
    )


def _iterations(cost: Cost) -> str:
    return (
        f"a loop of {cost.units:,} iterations: {cost.unit_us:,.0f} µs an iteration, {cost.claims:,} claims, "
        f"{cost.commits:,} commits, {cost.rss_bytes / 2**20:,.0f} MiB more memory, {cost.virtual_s:,.0f} s"
    )


def _idle(cost: Cost) -> str:
    minute_us = cost.unit_us * 60 / IDLE_S
    return f"{cost.units:,} workers with nothing to do: {minute_us:,.0f} µs a worker and minute"


def _verdict(pairs: dict[str, tuple[Cost, Cost]]) -> int:
    failed = 0
    for what, (small, large) in pairs.items():
        growth = large.unit_us / small.unit_us
        is_good = growth <= GROWTH_MAX and large.rss_bytes <= RSS_BYTES_MAX
        failed += not is_good
        print(f"{'ok' if is_good else 'OVER'}: {what} of a run ten times as large costs {growth:.2f} times as much")
    return 1 if failed else 0


def _profile(run: Callable[[], Cost]) -> None:
    profiler = cProfile.Profile()
    print(profiler.runcall(run))
    pstats.Stats(profiler).sort_stats("tottime").print_stats(LINES)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
