"""Clocks that disagree, and chance from a seed: what actors get for time and randomness."""

import asyncio
import random

from tests.simulation.loop import SimulatedLoop

EPOCH_S = 1_790_000_000.0
"""When simulations begin: some day of 2026."""


class SimulatedClock:
    """A clock of one machine, which outlives its processes.

    It runs faster than the simulation by the share `drift`; `now` may also jump. `monotonic` begins anywhere.
    """

    def __init__(
        self, loop: SimulatedLoop, name: str, *, drift: float = 0.0, offset_s: float = 0.0, began_s: float = 0.0
    ) -> None:
        self._loop = loop
        self.name = name
        self._rate = 1.0 + drift
        self._offset_s = self._first_offset_s = offset_s
        self._began_s = began_s

    def now(self) -> float:
        return EPOCH_S + self._loop.time() * self._rate + self._offset_s

    def monotonic(self) -> float:
        return self._began_s + self._loop.time() * self._rate

    def correct(self) -> None:
        """What jumps have added up to is taken back."""
        self._offset_s = self._first_offset_s

    def jump(self, seconds: float) -> None:
        self._loop.say(f"the clock of {self.name} jumps by {seconds:g} s")
        self._offset_s += seconds


class SeededChance:
    """Ids are short and tell who made them: `server-1.2.7` is the seventh of the second life of `server-1`."""

    def __init__(self, seed: int | str, name: str, life: int) -> None:
        self._random = random.Random(f"{seed}/{name}/{life}")
        self._prefix = f"{name}.{life}"
        self._ids = 0

    def new_id(self) -> str:
        self._ids += 1
        return f"{self._prefix}.{self._ids}"

    def draw(self) -> float:
        return self._random.random()


def chance_of_current() -> SeededChance:
    """The chance of the actor that runs now."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return SeededChance(loop.seed, loop.current.name, loop.current.life)
