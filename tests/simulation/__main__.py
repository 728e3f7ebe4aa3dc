"""The simulator by command.

python -m tests.simulation --seed 7                 one seed again, told as a story
python -m tests.simulation --count 2000 --jobs 2    seeds 0, 1, 2, …; every failure with its seed and compact log
python -m tests.simulation --from 5000 --count 100
"""

import argparse
import sys
import time
from collections.abc import Iterable

from tests.simulation.campaign import Ran, run_many
from tests.simulation.settings import setting
from tests.simulation.world import World

LOG_LINES_MAX = 200


def main() -> int:
    options = _options()
    if options.seed is not None:
        return tell(options.seed)
    began_s = time.monotonic()
    seeds = range(options.first, options.first + options.count)
    failed, cpu_s, executions, facts = 0, 0.0, 0, 0
    for ran in run_many(seeds, options.jobs):
        cpu_s, executions, facts = cpu_s + ran.cpu_s, executions + ran.executions, facts + ran.facts
        if ran.failures:
            failed += 1
            print("\n".join(_shown(ran)), flush=True)
            if failed >= options.failures_max:
                break
    print(
        f"{len(seeds):,} seeds, {failed:,} failed; {executions:,} executions, {facts:,} events; "
        f"{cpu_s / len(seeds) * 1000:.0f} ms of CPU a seed, {time.monotonic() - began_s:.0f} s in all"
    )
    return 1 if failed else 0


def tell(seed: int) -> int:
    world = World(setting(seed)).run()
    given = world.given
    print(f"seed {seed}: {given.servers} servers, {given.workers} workers, roots {list(given.roots)}\n{given.rates}")
    print(world.story())
    return 1 if world.failures else 0


def _shown(ran: Ran) -> Iterable[str]:
    yield f"seed {ran.seed} ({ran.play}) failed after {ran.virtual_s:g} s:"
    lines = ran.log.splitlines()
    if len(lines) > LOG_LINES_MAX:
        yield f"  … {len(lines) - LOG_LINES_MAX} lines before"
    yield from (f"  {line[:240]}" for line in lines[-LOG_LINES_MAX:])
    yield f"again: python -m tests.simulation --seed {ran.seed}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="only this one, with its story")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--jobs", type=int, help="processes; as many as there are processors where nothing is said")
    parser.add_argument("--failures-max", type=int, default=10, help="after so many it is enough")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
