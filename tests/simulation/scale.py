"""The shells at scale, in virtual time: thousands of workers and executions, a loop of a million iterations.

Nothing goes wrong and nothing is judged here: it is about what one unit costs. A worker calls a server directly and a
server the store, so that what is measured is the shells, the engine and the store in memory.
"""

import asyncio
import gc
import resource
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from noetl.control_plane.limits import Limits as ServerLimits
from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.limits import Limits as WorkerLimits
from noetl.data_plane.worker import Worker
from noetl.engine.output import Output
from noetl.playbook.model import encode
from noetl.ports import Append, Appended, Ask, Conflict, Console, Fenced, Granted, Registered, ToolCall
from noetl.storage.memory import MemoryCatalog, MemoryResults, MemoryStore
from tests.simulation.clocks import SeededChance, SimulatedClock
from tests.simulation.loop import SimulatedLoop
from tests.simulation.plays import HEAD, compiled
from tests.simulation.stage import Credentials

TOOL_S = 0.05
STEPS = 3
CALLBACKS_MAX = 10**10

CHAIN = (
    HEAD
    + """
workflow:
  - {step: a, tool: {name: work, kind: python, code: "result = 1"}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {name: work, kind: python, code: "result = 1"}, next: {arcs: [{step: c}]}}
  - {step: c, tool: {name: work, kind: python, code: "result = 1"}}
"""
)
LOOP = (
    HEAD
    + """
workload: {rows: []}
workflow:
  - step: walk
    loop: {in: "{{ workload.rows }}", iterator: row, spec: {mode: parallel, max_in_flight: 1000}}
    tool: {name: work, kind: python, code: "result = 1"}
"""
)


class Cost(msgspec.Struct, frozen=True):
    """What a run took: CPU seconds, virtual seconds, commits, claims, callbacks, and the growth of memory."""

    units: int
    cpu_s: float
    virtual_s: float
    commits: int
    claims: int
    callbacks: int
    rss_bytes: int

    @property
    def unit_us(self) -> float:
        return self.cpu_s / self.units * 1e6


class CountingStore(MemoryStore):
    """Counts commits and granted leases. Of a log it keeps only the length where nobody will read it."""

    def __init__(self, clock: SimulatedClock, *, keeps_logs: bool = True) -> None:
        super().__init__(clock)
        self._keeps_logs = keeps_logs
        self.commits = 0
        self.claims = 0
        self.ended = 0

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        self.commits += 1
        if not self._keeps_logs:
            appends = [msgspec.structs.replace(each, events=[b""] * len(each.events)) for each in appends]
        answers = await super().commit(appends)
        self.claims += sum(len(answer.granted) for answer in answers if isinstance(answer, Appended))
        for append in appends:
            if append.summary is not None and append.summary.has_ended:
                assert append.summary.status == "completed", append.summary
                self.ended += 1
        return answers

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        granted = await super().claim(ask, limit)
        self.claims += len(granted)
        return granted


class QuickTool:
    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        await asyncio.sleep(TOOL_S)
        return Output(data=1)

    async def close(self) -> None:
        return


class Yard:
    """Servers and workers without a network between them."""

    def __init__(self, loop: SimulatedLoop, *, servers: int, workers: int, slots: int, keeps_logs: bool = True) -> None:
        clock = SimulatedClock(loop, "all")
        self.store = CountingStore(clock, keeps_logs=keeps_logs)
        self.catalog = MemoryCatalog()
        self.results = MemoryResults()
        self._system = _System(clock)
        limits = ServerLimits(waiting_max=100_000, poll_s=30.0)
        self.planes = [
            Plane(self.store, self.catalog, self.results, Credentials(), self._system, limits) for _ in range(servers)
        ]
        equipment = Equipment({"python": QuickTool()}, self.results, self.store, Credentials(), self._system)
        self._workers = [
            Worker(f"worker-{number}", self.planes[number % servers], equipment, WorkerLimits(slots=slots))
            for number in range(workers)
        ]

    def start(self) -> None:
        for plane in self.planes:
            plane.start()
        for worker in self._workers:
            worker.start()

    async def register(self, text: str) -> Registered:
        playbook = compiled(text)
        registered = Registered(playbook.metadata.path, "1", playbook.digest, encode(playbook))
        await self.catalog.register(registered)
        return registered

    async def until_ended(self, count: int) -> None:
        while self.store.ended < count:
            await asyncio.sleep(1.0)


def many_executions(executions: int, *, workers: int, servers: int = 3) -> Cost:
    """Executions of a chain of steps, all asked for at once."""

    async def play(yard: Yard) -> None:
        registered = await yard.register(CHAIN)
        asks = [yard.planes[n % servers].request(registered, {}, f"x{n}") for n in range(executions)]
        await asyncio.gather(*asks)
        await yard.until_ended(executions)

    return _measured(executions, play, servers=servers, workers=workers, slots=10)


def long_loop(iterations: int, *, workers: int) -> Cost:
    """One loop of many iterations. Its log is as long as it is, so nobody keeps it here."""

    async def play(yard: Yard) -> None:
        registered = await yard.register(LOOP)
        await yard.planes[0].request(registered, {"rows": list(range(iterations))}, "x")
        await yard.until_ended(1)

    return _measured(iterations, play, servers=1, workers=workers, slots=100, keeps_logs=False)


def idle_workers(workers: int, seconds: float) -> Cost:
    """Nobody has anything to do: what it costs that all of them ask."""

    async def play(yard: Yard) -> None:  # noqa: ARG001
        await asyncio.sleep(seconds)

    return _measured(workers, play, servers=3, workers=workers, slots=10)


def _measured(
    units: int,
    play: Callable[[Yard], Awaitable[None]],
    *,
    servers: int,
    workers: int,
    slots: int,
    keeps_logs: bool = True,
) -> Cost:
    gc.collect()
    rss = _rss_bytes()
    with SimulatedLoop(1, callbacks_max=CALLBACKS_MAX) as loop:
        found: list[Yard] = []

        async def main() -> None:
            yard = Yard(loop, servers=servers, workers=workers, slots=slots, keeps_logs=keeps_logs)
            found.append(yard)
            yard.start()
            await play(yard)

        began_s = time.process_time()
        loop.run(main())
        cpu_s = time.process_time() - began_s
        store = found[0].store
        assert loop.failures() == []
        return Cost(units, cpu_s, loop.time(), store.commits, store.claims, loop.callbacks, max(0, _rss_bytes() - rss))


class _System:
    def __init__(self, clock: SimulatedClock) -> None:
        chance = SeededChance(1, "all", 1)
        self.now, self.monotonic = clock.now, clock.monotonic
        self.new_id, self.draw = chance.new_id, chance.draw


def _rss_bytes() -> int:
    """The most memory this process ever took."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
