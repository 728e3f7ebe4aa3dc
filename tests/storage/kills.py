"""Kills writers in the middle of their commits, again and again on one file, and looks for what was lost.

python -m tests.storage.kills --count 100 [--seed N]
"""

import argparse
import asyncio
import random
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.storage.children import Told, losses, told, writer


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        heard, wrong = kill_often(Path(folder) / "noetl.db", options.count, options.seed)
    print("\n".join(wrong) or "nothing was lost")
    print(f"{options.count} kills, {len(heard.events)} acknowledged commits, {len(heard.epochs)} leases")
    return 1 if wrong else 0


def kill_often(path: Path, count: int, seed: int) -> tuple[Told, list[str]]:
    """Writers one after the other, each with a life of its own length; all that they heard, and what is wrong."""
    chance = random.Random(seed)
    heard = Told((), (), ())
    for number in range(count):
        own = killed(path, f"w{number}", chance.expovariate(4.0))
        heard = Told((*heard.events, *own.events), (*heard.epochs, *own.epochs), (*heard.troubles, *own.troubles))
        wrong = [*heard.troubles, *asyncio.run(losses(path, heard))]
        if wrong:
            return heard, [f"kill {number}:", *wrong]
    return heard, []


def killed(path: Path, name: str, seconds: float) -> Told:
    """A writer on executions that others wrote before it, killed so long after its first commit."""
    child = writer(path, name, "--shared")
    assert child.stdout is not None
    lines = [child.stdout.readline()]
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    lines += child.stdout.readlines()
    timer.join()
    child.wait()
    child.stdout.close()
    return told(lines)


if __name__ == "__main__":
    sys.exit(main())
