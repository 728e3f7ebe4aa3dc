"""What stands on the stage besides servers and workers: a judged store, playbooks, and tools with a ledger."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from noetl.engine.effects import pool_of
from noetl.engine.output import NOTHING, Output
from noetl.engine.program import Program, ReadyTask
from noetl.engine.size import Blob
from noetl.playbook.model import KeychainEntry, encode
from noetl.ports import Append, Appended, Ask, Conflict, Console, Fenced, Granted, Registered, ToolCall
from noetl.storage.memory import MemoryResults, MemoryStore
from tests.engine.laws.cases import Case, compiled
from tests.engine.laws.outcomes import outcome
from tests.simulation.books import Books, Note
from tests.simulation.clocks import SimulatedClock

QUICK_S, SLOW_S, LONG_S = 0.05, 1.0, 25.0


class JudgedStore(MemoryStore):
    """The store, with the books beside it."""

    def __init__(self, clock: SimulatedClock, books: Books) -> None:
        super().__init__(clock)
        self._time = clock
        self._books = books

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        answers = await super().commit(appends)
        for append, answer in zip(appends, answers, strict=True):
            if isinstance(answer, Appended):
                _, rows = await self.rows(append.execution_id)
                self._books.commit(append, answer.granted, rows, self._time.now())
        return answers

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        granted = await super().claim(ask, limit)
        self._books.grant(granted)
        return granted


class KeptResults(MemoryResults):
    """Results that the judge can read without asking."""

    def read(self, sha256: str) -> bytes:
        return self._blobs[sha256]

    async def put(self, blobs: Sequence[Blob]) -> None:
        await super().put(blobs)


class Playbooks:
    """A catalog in which every path that a case may call leads to one of its callees."""

    def __init__(self, case: Case) -> None:
        self._all = [_registered(text) for text in (case.text, *case.callees)]
        self.programs = {each.digest: Program(compiled(text)) for each, text in zip(self._all, (case.text, *case.callees), strict=True)}

    @property
    def pools(self) -> Sequence[str]:
        """All that some step wants to run in."""
        found = {pool_of(program, step) for program in self.programs.values() for step in program.steps}
        return sorted(pool for pool in found if pool is not None)

    @property
    def root(self) -> Registered:
        return self._all[0]

    async def by_digest(self, digest: str) -> Registered | None:
        return next((each for each in self._all if each.digest == digest), None)

    async def by_path(self, path: str, version: str | None) -> Registered | None:  # noqa: ARG002
        if len(self._all) == 1:
            return None
        return self._all[1 + Random(path).randrange(len(self._all) - 1)]

    async def register(self, playbook: Registered) -> None:
        raise NotImplementedError(playbook.path)


class Credentials:
    async def missing(self, entries: Sequence[KeychainEntry], workload: Mapping[str, object]) -> Sequence[str]:  # noqa: ARG002
        return ()

    async def value(self, entry: KeychainEntry, workload: Mapping[str, object]) -> object:  # noqa: ARG002
        return f"secret of {entry.name}"


class Ledger:
    """Every run of a tool, seen from outside. `is_strict` where clocks and workers are such that no run may be doubled."""

    def __init__(self, case: Case, playbooks: Playbooks, books: Books, note: Note, *, is_strict: bool) -> None:
        self._case = case
        self._books = books
        self._note = note
        self._is_strict = is_strict
        self._tasks = {
            (program.playbook.metadata.path, task.path): task
            for program in playbooks.programs.values()
            for task in _all_tasks(program)
        }
        self.runs: Counter[str] = Counter()
        self.running: Counter[str] = Counter()

    async def run(self, call: ToolCall) -> Output:
        name = f"{call.execution_id}/{call.task_run_id}"
        self._begin(call, name)
        try:
            await asyncio.sleep(self._duration_s(name))
        finally:
            self.running[name] -= 1
        task = self._tasks[call.playbook, call.path]
        return outcome(self._case.seed, call.execution_id, call.task_run_id, task, is_bulky=self._case.is_bulky)

    def _begin(self, call: ToolCall, name: str) -> None:
        self.runs[name] += 1
        self.running[name] += 1
        book = self._books.books.get(call.execution_id)
        if self._is_strict and book is not None and call.task_run_id in book.monitor.task_ends:
            self._note(f"{name} ran again, though its end was recorded")
        if self._is_strict and self.running[name] > 1:
            self._note(f"{name} runs twice at once")

    def _duration_s(self, name: str) -> float:
        chance = Random(f"{self._case.seed}/{name}/{self.runs[name]}")
        drawn = chance.random()
        top = QUICK_S if drawn < 0.85 else SLOW_S if drawn < 0.97 else LONG_S
        return round(chance.random() * top, 6)


class SimulatedTool:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def run(self, call: ToolCall, console: Console) -> Output:
        console.write(f"{call.task_run_id} runs\n")
        return NOTHING if call.kind == "noop" else await self._ledger.run(call)

    async def close(self) -> None:
        return


def _registered(text: str) -> Registered:
    playbook = compiled(text)
    return Registered(playbook.metadata.path, "1", playbook.digest, encode(playbook), "generated.yaml")


def _all_tasks(program: Program) -> Sequence[ReadyTask]:
    own = [task for step in program.steps for task in program.pipeline(step).tasks]
    steps = list(program.steps)
    inner = [
        task
        for name in program.playbook.workbook
        for task in program.block_pipeline(name, steps[0]).tasks
    ]
    return [*own, *inner]
