"""The laws by the thousand, outside of pytest.

    python -m tests.engine.laws --examples 2000 --seed 7     cases 7·10⁶, 7·10⁶+1, …; stops at the first broken law
    python -m tests.engine.laws --number 7000123             one case again

At the end it says what the runs were made of, so that nobody takes a campaign of empty runs for a proof.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from noetl.engine.envelope import NAMES
from tests.engine.laws.cases import bulky_case, case, dialect_case, one_branch_case
from tests.engine.laws.judging import (
    broken_reruns,
    differing_orders,
    differing_repeats,
    differing_snapshots,
    differing_spellings,
    effects_of_storing,
    ran,
    unexplained,
)
from tests.engine.laws.world import World

SEED_STRIDE = 10**6


def main() -> int:
    options = _options()
    first = options.seed * SEED_STRIDE
    numbers = [options.number] if options.number is not None else range(first, first + options.examples)
    seen: Counter[str] = Counter()
    for number in numbers:
        for name, law in _laws(number, seen):
            try:
                broken = next(law, None)
            except Exception:
                print(f'case {number} breaks "{name}"; again with --number {number}', file=sys.stderr)
                raise
            if broken is not None:
                print(f'case {number} breaks "{name}"; again with --number {number}\n{broken}', file=sys.stderr)
                return 1
    print(f"{len(numbers):,} cases, every law held")
    print("\n".join(f"{count:>9,} {name}" for name, count in sorted(seen.items())))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="only this case")
    return parser.parse_args()


def _laws(number: int, seen: Counter[str]) -> Iterator[tuple[str, Iterator[str]]]:
    yield "every run ends and its log explains it", _unended(number, seen)
    yield "a snapshot and the events after it", differing_snapshots(case(number))
    yield "the same case gives the same logs", differing_repeats(case(number))
    yield "every log can be explained", unexplained(case(number))
    yield "what has ended can run again", broken_reruns(case(number))
    yield "storing data elsewhere changes nothing", effects_of_storing(bulky_case(number))
    yield "the finishing order does not matter", differing_orders(one_branch_case(number))
    yield "the spelling does not matter", differing_spellings(*dialect_case(number))


def _unended(number: int, seen: Counter[str]) -> Iterator[str]:
    world = ran(case(number))
    _note(world, seen)
    yield from world.unended


def _note(world: World, seen: Counter[str]) -> None:
    seen["refused commands"] += world.refusals
    seen["executions"] += len(world.executions)
    for execution in world.executions.values():
        seen["blobs stored"] += len(execution.store.blobs)
        seen[f"status {execution.state.status}"] += 1
        error = execution.state.error
        seen[f"error {error.kind if error is not None else 'none'}"] += 1
        for fact in execution.facts:
            seen[NAMES[type(fact)][0]] += 1


if __name__ == "__main__":
    sys.exit(main())
