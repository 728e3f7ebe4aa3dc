"""The model against the engine, by the thousand.

    python -m tests.simulation.model --count 2000 --seed 7     cases 7·10⁶, 7·10⁶+1, …; stops at the first difference
    python -m tests.simulation.model --number 7000123          one case again, with what was expected of it

At the end it says how much the model was sure of, and why it was not sure of the rest.
"""

import argparse
import sys
from collections import Counter

import msgspec

from tests.engine.laws.cases import Case, case
from tests.engine.laws.judging import ran, shown
from tests.engine.laws.world import NO_TROUBLE
from tests.simulation.model.check import differences, expected
from tests.simulation.model.expected import Expected

SEED_STRIDE = 10**6
ORDERS = 2


def main() -> int:
    options = _options()
    first = options.seed * SEED_STRIDE
    numbers = [options.number] if options.number is not None else range(first, first + options.count)
    seen: Counter[str] = Counter()
    broken = [number for number in numbers if not agrees(number, seen, is_quiet=options.keep_going)]
    print(f"{len(numbers):,} cases, {len(broken):,} with differences {broken[:20]}")
    print("\n".join(f"{count:>9,} {name}" for name, count in sorted(seen.items())))
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="only this case")
    parser.add_argument("--keep-going", action="store_true", help="only the differences of each case")
    return parser.parse_args()


def agrees(number: int, seen: Counter[str], *, orders: int = ORDERS, is_quiet: bool = True) -> bool:
    plain = plain_case(number)
    seen["cases"] += 1
    foretold = expected(plain)
    seen["cases that are certain, if no time is used up"] += foretold.is_certain
    seen["cases that go in circles"] += any(doubt.startswith("too many") for doubt in foretold.doubts)
    for order in range(orders):
        world = ran(plain, NO_TROUBLE, order)
        if world.root.state.status == "cancelled":
            seen["too long"] += 1
            continue
        foretold = expected(plain, world)
        _note(foretold, seen)
        found = list(differences(world, foretold))
        if found:
            print(f"case {number}, order {order}: " + "\n    ".join(found[:5]), file=sys.stderr)
            if not is_quiet:
                print("\n".join(shown(plain, execution) for execution in world.executions.values()), file=sys.stderr)
                print(foretold, file=sys.stderr)
            return False
    return True


def plain_case(number: int) -> Case:
    """All data stands in the events: what is stored elsewhere is another law's business."""
    return msgspec.structs.replace(case(number), is_bulky=False)


def _note(foretold: Expected, seen: Counter[str]) -> None:
    seen["runs"] += 1
    seen["runs that are certain"] += foretold.is_certain
    seen["runs whose status is certain"] += isinstance(foretold.status, str)
    for doubt in foretold.doubts:
        seen[f"doubt: {doubt}"] += 1


if __name__ == "__main__":
    sys.exit(main())
