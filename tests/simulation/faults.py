"""What goes wrong, drawn from the seed: how often each fault happens, and the moment after which none does.

Only uniform draws and plain arithmetic are used, so that a seed means the same on every machine.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from tests.simulation.actors import Actor
from tests.simulation.clocks import SimulatedClock
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Carriage, Network, Service

LATENCY_S = {Carriage.MESSAGES: 0.02, Carriage.SESSION: 0.004}
SLOW_S = {Carriage.MESSAGES: 30.0, Carriage.SESSION: 8.0}
"""Most messages take up to the one, some up to the other: long enough for timeouts and leases to end."""
SHARE_MAX = 0.15
OUTAGE_MAX_S = 40.0
JUMP_MAX_S = 400.0


T = TypeVar("T")


class Rates(msgspec.Struct, frozen=True):
    """Shares of messages, shares of calls to a store, counts in 1,000 callbacks, counts in a minute."""

    lost: float = 0.0
    doubled: float = 0.0
    slow: float = 0.0
    refused: float = 0.0
    forgotten: float = 0.0
    crashes: float = 0.0
    freezes: float = 0.0
    partitions: float = 0.0
    jumps: float = 0.0
    blackouts: float = 0.0
    """Everything crashes at once."""


def draw_rates(seed: int | str) -> Rates:
    """Half of all faults, each at a rate of its own: a few kinds at a time reach states that all together hide."""
    chance = random.Random(f"{seed}/rates")
    tops = {
        "lost": SHARE_MAX,
        "doubled": SHARE_MAX,
        "slow": SHARE_MAX,
        "refused": SHARE_MAX,
        "forgotten": SHARE_MAX,
        "crashes": 8.0,
        "freezes": 4.0,
        "partitions": 6.0,
        "jumps": 6.0,
        "blackouts": 1.0,
    }
    return Rates(**{name: top * chance.random() if chance.random() < 0.5 else 0.0 for name, top in tops.items()})


class Stage(Protocol):
    """What the faults strike."""

    def victims(self) -> Sequence[str]:
        """Actors that may crash or freeze, always in the same order."""

    def restart(self, name: str) -> None:
        """The time has come for a new life of an actor that crashed."""

    def lines(self) -> Sequence[tuple[str, str]]:
        """Pairs of actors that talk to each other."""

    def clocks(self) -> Sequence[SimulatedClock]: ...


class Faults:
    """The weather of the network, and what befalls actors until `until_s`. Outages too are over by then."""

    def __init__(self, loop: SimulatedLoop, rates: Rates, *, until_s: float) -> None:
        self._loop = loop
        self._rates = rates
        self._until_s = until_s
        self._draw = random.Random(f"{loop.seed}/faults").random
        self._callbacks_left = 0

    @property
    def is_over(self) -> bool:
        return self._loop.time() >= self._until_s

    # -------------------------------------------------------------------------- messages and calls

    def journey(self, carriage: Carriage) -> Sequence[float]:
        rates, draw = self._rates, self._draw
        drawn = draw()
        if self.is_over or carriage is Carriage.SESSION or drawn >= rates.lost + rates.doubled:
            return (self._latency_s(carriage),)
        if drawn < rates.lost:
            return ()
        return (self._latency_s(carriage), self._latency_s(carriage))

    def _latency_s(self, carriage: Carriage) -> float:
        is_slow = not self.is_over and self._draw() < self._rates.slow
        return round(self._draw() * (SLOW_S if is_slow else LATENCY_S)[carriage], 6)

    def service(self, carriage: Carriage) -> Service:
        if carriage is Carriage.MESSAGES or self.is_over:
            return Service.GIVEN
        drawn = self._draw()
        if drawn < self._rates.refused:
            return Service.REFUSED
        return Service.FORGOTTEN if drawn < self._rates.refused + self._rates.forgotten else Service.GIVEN

    def is_reset_at_death(self) -> bool:
        return self._draw() < 0.5

    # -------------------------------------------------------------------------- actors, lines, clocks

    def begin(self, network: Network, stage: Stage) -> None:
        """From now on actors crash and freeze between any two of their callbacks, and the rest as time goes by."""
        if self._rates.crashes + self._rates.freezes > 0:
            self._callbacks_left = self._next_strike()
            self._loop.before = lambda actor: self._before(stage, actor)
        if self._rates.partitions + self._rates.jumps + self._rates.blackouts > 0:
            self._loop.start(self._loop.world, self._trouble(network, stage))

    def _before(self, stage: Stage, actor: Actor) -> None:
        self._callbacks_left -= 1
        if self._callbacks_left > 0:
            return
        if self.is_over:
            self._loop.before = None
        elif actor.name in stage.victims():
            self._callbacks_left = self._next_strike()
            self._strike(stage, actor)

    def _next_strike(self) -> int:
        return 1 + int(self._draw() * 2_000 / (self._rates.crashes + self._rates.freezes))

    def _strike(self, stage: Stage, actor: Actor) -> None:
        if self._draw() * (self._rates.crashes + self._rates.freezes) < self._rates.freezes:
            self._loop.freeze(actor, self._outage_s())
        else:
            self._crash(stage, actor)

    def _crash(self, stage: Stage, actor: Actor) -> None:
        self._loop.crash(actor)
        self._loop.call_later(self._outage_s(), stage.restart, actor.name, context=self._loop.world.context)

    def _outage_s(self) -> float:
        """Mostly short, at times longer than any lease, never beyond the last moment of faults."""
        top = OUTAGE_MAX_S if self._draw() < 0.3 else OUTAGE_MAX_S / 20
        return round(min(self._draw() * top, self._until_s - self._loop.time()), 6)

    async def _trouble(self, network: Network, stage: Stage) -> None:
        partitions, jumps, blackouts = self._rates.partitions, self._rates.jumps, self._rates.blackouts
        total = partitions + jumps + blackouts
        while True:
            await asyncio.sleep(round(self._draw() * 120 / total, 6))
            if self.is_over:
                return
            drawn = self._draw() * total
            if drawn < partitions:
                self._part(network, stage)
            elif drawn < partitions + jumps:
                self._one_of(stage.clocks()).jump(round((self._draw() - 0.5) * 2 * JUMP_MAX_S, 3))
            else:
                self._black_out(stage)

    def _part(self, network: Network, stage: Stage) -> None:
        """Two of them, or one from all others."""
        lines = stage.lines()
        line = self._one_of(lines)
        alone = line[int(self._draw() * 2)] if self._draw() < 0.5 else None
        seconds = self._outage_s()
        for one, other in lines:
            if (one, other) == line or alone in (one, other):
                network.cut(one, other, seconds)

    def _black_out(self, stage: Stage) -> None:
        for name in stage.victims():
            actor = self._loop.actor(name)
            if actor is not None and actor.is_alive:
                self._crash(stage, actor)

    def _one_of(self, choices: Sequence[T]) -> T:
        return choices[int(self._draw() * len(choices))]
