"""A small stage for the ground itself: clerks send entries through offices to one ledger, and everything fails.

    python -m tests.simulation.rehearsal SEED

prints the trace of one seed.
"""

import asyncio
import sys
from collections.abc import Sequence

from noetl.ports import Unavailable
from tests.simulation.clocks import SimulatedClock, chance_of_current
from tests.simulation.faults import Faults, Rates, draw_rates
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Carriage, Network

OFFICES = ("office-1", "office-2")
CLERKS = ("clerk-1", "clerk-2", "clerk-3")
LEDGER = "ledger"
ENTRIES_EACH = 5
FAULTS_UNTIL_S = 60.0
END_WITHIN_S = 120.0


class Ledger:
    """Keeps each entry once. What was not flushed is lost in a crash."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.unflushed: dict[str, str] = {}

    async def write(self, key: str, text: str) -> None:
        self.unflushed[key] = text
        await asyncio.sleep(0.001)
        self.entries.update(self.unflushed)
        self.unflushed.clear()

    def crash(self) -> None:
        self.unflushed.clear()


class Office:
    """Hands entries on to the ledger, a few at a time, as a server does."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def hand_in(self, batch: Sequence[tuple[str, str]]) -> frozenset[str]:
        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(self._write(key, text)): key for key, text in batch}
        return frozenset(key for task, key in tasks.items() if task.result())

    async def _write(self, key: str, text: str) -> bool:
        try:
            await self._network.call(LEDGER, "write", (key, text), carriage=Carriage.SESSION, timeout_s=2.0)
        except Unavailable:
            return False
        return True


class Rehearsal:
    """The stage of the faults: offices, clerks and the ledger come back whenever they have crashed."""

    def __init__(self, loop: SimulatedLoop, rates: Rates) -> None:
        self.loop = loop
        self.faults = Faults(loop, rates, until_s=FAULTS_UNTIL_S)
        self.network = Network(loop, self.faults)
        self.ledger = Ledger()
        self.acknowledged: set[str] = set()
        self._clocks = [SimulatedClock(loop, name) for name in self.victims()]

    def victims(self) -> Sequence[str]:
        return (*OFFICES, *CLERKS, LEDGER)

    def restart(self, name: str) -> None:
        if name == LEDGER:
            self.ledger.crash()
            self.network.host(LEDGER, self.ledger)
        elif name in OFFICES:
            self.network.host(name, Office(self.network))
        else:
            self.loop.spawn(name, self._clerk(name))

    def lines(self) -> Sequence[tuple[str, str]]:
        return [(office, other) for office in OFFICES for other in (*CLERKS, LEDGER)]

    def clocks(self) -> Sequence[SimulatedClock]:
        return self._clocks

    async def play(self) -> None:
        for name in self.victims():
            self.restart(name)
        self.faults.begin(self.network, self)
        async with asyncio.timeout(FAULTS_UNTIL_S + END_WITHIN_S):
            while any((actor := self.loop.actor(name)) and actor.is_alive for name in CLERKS) or not self.is_done():
                await asyncio.sleep(1)

    def is_done(self) -> bool:
        return len(self.acknowledged) == len(CLERKS) * ENTRIES_EACH

    async def _clerk(self, name: str) -> None:
        chance = chance_of_current()
        left = {f"{name}/{number}": chance.new_id() for number in range(ENTRIES_EACH)}
        while left := {key: text for key, text in left.items() if key not in self.acknowledged}:
            try:
                taken = await self.network.call(
                    self.network.choose(OFFICES),
                    Office.hand_in.__name__,
                    (tuple(left.items())[:2],),
                    carriage=Carriage.MESSAGES,
                    timeout_s=5.0,
                )
            except Unavailable:
                await asyncio.sleep(chance.draw())
                continue
            assert isinstance(taken, frozenset)
            self.acknowledged |= taken
            self.loop.say(f"is told of {sorted(taken)}")


def rehearse(seed: int, rates: Rates | None = None) -> tuple[Rehearsal, Sequence[str]]:
    with SimulatedLoop(seed) as loop:
        rehearsal = Rehearsal(loop, draw_rates(seed) if rates is None else rates)
        loop.run(rehearsal.play())
        assert loop.failures() == []
        return rehearsal, loop.trace


if __name__ == "__main__":
    print(*rehearse(int(sys.argv[1]))[1], sep="\n")
