"""Many seeds in parallel processes, and what they show."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain

import msgspec

from tests.simulation.settings import setting
from tests.simulation.world import World

CHUNK = 10
MESSAGE_CHARS_MAX = 1_000


class Ran(msgspec.Struct, frozen=True):
    """What became of a seed. `log` is there where it failed."""

    seed: int
    failures: Sequence[str]
    log: str
    play: str
    callbacks: int
    virtual_s: float
    cpu_s: float
    executions: int
    facts: int


def run_seed(seed: int) -> Ran:
    began_s = time.process_time()
    world = World(setting(seed)).run()
    failures = [failure[:MESSAGE_CHARS_MAX] for failure in world.failures]
    books = world.books.books
    return Ran(
        seed,
        failures,
        world.log() if failures else "",
        world.given.play.name,
        world.loop.callbacks,
        world.loop.time(),
        time.process_time() - began_s,
        len(books),
        sum(len(book.facts) for book in books.values()),
    )


def run_many(seeds: Sequence[int], jobs: int | None = None) -> Iterator[Ran]:
    """In the order of the seeds."""
    jobs = jobs or os.cpu_count() or 1
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(jobs) as pool:
        yield from chain.from_iterable(pool.map(_run_chunk, chunks))


def _run_chunk(seeds: Sequence[int]) -> list[Ran]:
    return [run_seed(seed) for seed in seeds]
