"""Servers and workers on one store in memory and in virtual time, for tests of the shells.

@played
async def test_something(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, CHAIN)
    assert await rig.end(name) == "completed"
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from noetl.control_plane.limits import Limits as ServerLimits
from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.limits import Limits as WorkerLimits
from noetl.data_plane.worker import Worker
from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode_fact
from noetl.engine.output import Output
from noetl.engine.size import Blob
from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import KeychainEntry, encode
from noetl.ports import (
    Append,
    Appended,
    Conflict,
    Console,
    ControlPlane,
    Damaged,
    Fenced,
    Registered,
    Tool,
    ToolCall,
    Unavailable,
)
from noetl.storage.memory import MemoryCatalog, MemoryResults, MemoryStore
from noetl.tools.noop import Noop
from tests.simulation.clocks import SeededChance, SimulatedClock
from tests.simulation.loop import SimulatedLoop

KINDS = ("noop", "python", "http", "duckdb")
LONG_S = 1e7

Does = Callable[[ToolCall, Console], Awaitable[Output]]


def head(path: str) -> str:
    return f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {path}, path: {path} }}\n"


def chain(*steps: str, path: str = "chain") -> str:
    """A playbook of steps that follow each other, each with one task of its name."""
    lines = [head(path), "workflow:"]
    for step, then in zip(steps, (*steps[1:], ""), strict=True):
        lines.append(f"  - step: {step}")
        lines.append(f"    tool: {{ name: {step}, kind: python, code: x, input: {{ n: 1 }} }}")
        if then:
            lines.append(f"    next: {{ arcs: [ {{ step: {then} }} ] }}")
    return "\n".join(lines)


# ------------------------------------------------------------------------------ what a tool does


def answering(output: Output, after_s: float = 0.0) -> Does:
    async def does(_call: ToolCall, _console: Console) -> Output:
        await asyncio.sleep(after_s)
        return output

    return does


def raising(error: BaseException) -> Does:
    async def does(_call: ToolCall, _console: Console) -> Output:
        raise error

    return does


async def forever(_call: ToolCall, _console: Console) -> Output:
    await asyncio.Event().wait()
    return Output()


# ------------------------------------------------------------------------------ what a rig is made of


class WatchedStore(MemoryStore):
    """`commits` are those that wrote something, `reads` counts those of logs.

    `troubles` strike the next commits, one each; None strikes none.

    `breaks_on` is the execution whose commits meet a bug.
    """

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(clock)
        self.commits: list[Sequence[Append]] = []
        self.reads = 0
        self.troubles: list[str | None] = []
        self.latency_s = 0.0
        self.is_down = False
        self.breaks_on = ""
        self.before_commit: Callable[[], Awaitable[object]] | None = None

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        trouble = self.troubles.pop(0) if self.troubles else None
        await asyncio.sleep(self.latency_s)
        if self.before_commit is not None:
            meanwhile, self.before_commit = self.before_commit, None
            await meanwhile()
        if self.is_down or trouble == "before":
            raise Unavailable("the store did not answer")
        if any(append.execution_id == self.breaks_on for append in appends):
            raise ZeroDivisionError("a bug in the store")
        answers = await super().commit(appends)
        if any(append.events or append.effects for append in appends):
            self.commits.append(appends)
        if trouble == "after":
            raise Unavailable("the answer was lost")
        return answers

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
        self.reads += 1
        if self.is_down:
            raise Unavailable("the store did not answer")
        return await super().read(execution_id, after, limit)

    def damage(self, execution_id: str, seq: int, data: bytes) -> None:
        self._logs[execution_id][seq - 1] = data


class WatchedResults(MemoryResults):
    """`is_down` stands for a result store that does not answer; one that `is_mute` takes what it does not give."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(clock)
        self.is_down = False
        self.is_mute = False
        self._damaged: frozenset[str] = frozenset()

    async def put(self, blobs: Sequence[Blob]) -> None:
        if self.is_down:
            raise Unavailable("the result store did not answer")
        await super().put(blobs)

    async def get(self, sha256: str) -> bytes | None:
        if self.is_down or self.is_mute:
            raise Unavailable("the result store did not answer")
        if sha256 in self._damaged:
            raise Damaged(sha256)
        return await super().get(sha256)

    def damage_all(self) -> None:
        self._damaged = self.names

    def lose_all(self) -> None:
        self._blobs.clear()
        self._put_at.clear()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._blobs)


class Bench:
    """A tool that answers with its input, or does what the test says for a task. `runs` are all calls so far."""

    def __init__(self) -> None:
        self.runs: list[ToolCall] = []
        self.running: list[str] = []
        self.running_max = 0
        self.does: dict[str, Does] = {}

    async def run(self, call: ToolCall, console: Console) -> Output:
        self.runs.append(call)
        self.running.append(call.task)
        self.running_max = max(self.running_max, len(self.running))
        try:
            await asyncio.sleep(0)
            does = self.does.get(call.task)
            return await does(call, console) if does is not None else Output(data=dict(call.input))
        finally:
            self.running.remove(call.task)

    async def close(self) -> None:
        return

    def count(self, task: str) -> int:
        return sum(call.task == task for call in self.runs)


class Vault:
    """Credentials: a secret for each name that it knows."""

    def __init__(self) -> None:
        self.secrets: dict[str, object] = {}

    async def missing(self, entries: Sequence[KeychainEntry], workload: Mapping[str, object]) -> Sequence[str]:  # noqa: ARG002
        return [entry.name for entry in entries if entry.name not in self.secrets]

    async def value(self, entry: KeychainEntry, workload: Mapping[str, object]) -> object:  # noqa: ARG002
        if entry.name not in self.secrets:
            raise Unavailable(f"there is no secret {entry.name!r}")
        return self.secrets[entry.name]


class System:
    def __init__(self, clock: SimulatedClock, chance: SeededChance) -> None:
        self.now = clock.now
        self.monotonic = clock.monotonic
        self.new_id = chance.new_id
        self.draw = chance.draw


class Rig:
    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.clock = SimulatedClock(loop, "machine")
        self.system = System(self.clock, SeededChance(loop.seed, "x", 1))
        self.store = WatchedStore(self.clock)
        self.catalog = MemoryCatalog()
        self.results = WatchedResults(self.clock)
        self.vault = Vault()
        self.bench = Bench()

    def serve(self, limits: ServerLimits | None = None, *, tends_all: bool = True) -> Plane:
        plane = Plane(self.store, self.catalog, self.results, self.vault, self.system, limits)
        plane.start(tends_all=tends_all)
        return plane

    def work(
        self,
        control: ControlPlane,
        name: str = "w1",
        limits: WorkerLimits | None = None,
        kinds: Sequence[str] = KINDS,
    ) -> Worker:
        tools: dict[str, Tool] = {kind: Noop() if kind == "noop" else self.bench for kind in kinds}
        equipment = Equipment(tools, self.results, self.store, self.vault, self.system)
        worker = Worker(name, control, equipment, limits)
        worker.start()
        return worker

    async def register(self, text: str) -> Registered:
        found = registered(text)
        await self.catalog.register(found)
        return found

    async def begin(self, plane: Plane, text: str, workload: Mapping[str, object] | None = None, name: str = "") -> str:
        asked = await plane.request(await self.register(text), workload or {}, name or None)
        assert isinstance(asked, str), asked
        return asked

    async def begin_until(self, plane: Plane, text: str, task: str) -> str:
        """Begins an execution; the answer comes once that task of it runs, and nothing else."""
        name = await self.begin(plane, text)
        await self.until(lambda: self.bench.running == [task])
        return name

    async def ran(self, text: str, **does: Does) -> str:
        """The name of an execution that one server and one worker have brought to its end. `does` is for its tasks."""
        plane = self.serve()
        self.bench.does |= does
        self.work(plane)
        name = await self.begin(plane, text)
        await self.end(name)
        return name

    async def end(self, name: str, within_s: float = LONG_S) -> str:
        """The status with which an execution ends."""
        await self.until(lambda: self.status(name) in {"completed", "failed", "cancelled"}, within_s)
        return self.status(name)

    async def until(self, is_so: Callable[[], bool], within_s: float = 1_000.0) -> None:
        """Looks seldom while it takes long, since time is virtual and looks are not."""
        began_at = self.loop.time()
        while not is_so():
            waited_s = self.loop.time() - began_at
            assert waited_s < within_s, f"not so within {within_s:g} s"
            await asyncio.sleep(max(0.01, waited_s / 100))

    def status(self, name: str) -> str:
        summary = self.store._summaries.get(name)
        return summary.status if summary is not None else "unknown"

    async def facts(self, name: str) -> list[e.Fact]:
        facts = [decode_fact(line) for line in await self.store.read(name, 0, 1_000_000)]
        return [fact for fact in facts if not isinstance(fact, UnknownEvent | StoredEvent)]

    async def names(self, name: str) -> list[str]:
        return [type(fact).__name__ for fact in await self.facts(name)]

    async def free(self) -> None:
        """Lets everything happen that waits for no time."""
        await asyncio.sleep(0.000_001)


def registered(text: str) -> Registered:
    compiled = compile_playbook(text, "playbook.yaml")
    assert compiled.playbook is not None, [found.message for found in compiled.diagnostics]
    playbook = compiled.playbook
    places = msgspec.json.encode(compiled.source_map())
    return Registered(playbook.metadata.path, "1", playbook.digest, encode(playbook), "playbook.yaml", places)


def played(test: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Runs a test in virtual time. Whatever was not noticed on the way fails it."""

    def run() -> None:
        with SimulatedLoop(test.__name__) as loop:
            loop.run(test(Rig(loop)))
            assert loop.failures() == []

    run.__name__ = test.__name__
    run.__module__ = test.__module__
    return run
