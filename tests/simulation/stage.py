"""What stands on the stage besides servers and workers: a judged store, playbooks and credentials."""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from noetl.engine.effects import pool_of
from noetl.engine.incidents import Incident
from noetl.engine.leases import is_open
from noetl.engine.program import Program
from noetl.playbook.model import KeychainEntry, Playbook, encode
from noetl.ports import Append, Appended, Ask, Collected, Conflict, Expired, Fenced, Granted, Registered
from noetl.storage.memory import MemoryResults, MemoryStore
from tests.simulation.books import Books
from tests.simulation.clocks import SimulatedClock
from tests.simulation.leasebook import Note
from tests.simulation.plays import Play


class JudgedStore(MemoryStore):
    """The store, with the books beside it. What it is asked and answers is all that the judge knows."""

    def __init__(self, clock: SimulatedClock, books: Books, note: Note) -> None:
        super().__init__(clock)
        self._time = clock
        self._books = books
        self._note = note

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        answers = await super().commit(appends)
        for append, answer in zip(appends, answers, strict=True):
            if isinstance(answer, Appended) and (append.events or append.effects or append.progress or answer.granted):
                _, rows = await self.rows(append.execution_id)
                self._books.commit(append, answer, rows, self._time.now())
        return answers

    async def save_snapshot(self, execution_id: str, seq: int, data: bytes) -> None:
        await super().save_snapshot(execution_id, seq, data)
        self._books.save(execution_id, seq, data)

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        granted = await super().claim(ask, limit)
        self._books.leases.grant(granted)
        return granted

    async def renew(self, held: Sequence[Granted], lease_s: float) -> frozenset[int]:
        over = await super().renew(held, lease_s)
        self._books.leases.renew(held, over, self._time.now(), lease_s)
        return over

    async def release(self, held: Sequence[Granted]) -> None:
        await super().release(held)
        self._books.leases.release(held)

    async def expire(self, limit: int) -> Sequence[Expired]:
        found = await super().expire(limit)
        self._books.leases.expire(found, self._time.now())
        return found

    async def open(self, incidents: Sequence[Incident]) -> None:
        await super().open(incidents)
        for incident in incidents:
            self._note(f"incident {incident.kind} at {incident.where}: {incident.message}")

    def crash(self) -> None:
        super().crash()
        self._books.leases.crash()

    @property
    def has_messages(self) -> bool:
        return bool(self._agenda.waiting(0, 1))

    @property
    def is_astir(self) -> bool:
        """Whether there is something to do that waits for no time."""
        works = (work for name in self._live for work in self._work.rows(name).values())
        return self.has_messages or any(work.leases or is_open(work) for work in works)

    def next_due_s(self, execution_id: str) -> float:
        """In how many seconds the next timer of an execution is due; long ago where there is none."""
        due = (timer.due_at - self._time.now() for timer in self._agenda.timers_of(execution_id))
        return min(due, default=float("-inf"))

    def lease_left_s(self, execution_id: str) -> float:
        """For how long the longest lease on the work of an execution runs on."""
        works = self._work.rows(execution_id).values()
        return max((lease.expires_at - self._time.now() for work in works for lease in work.leases), default=0.0)


class KeptResults(MemoryResults):
    """Results that the judge can read without asking, and who hears of all that is removed."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(clock)
        self.on_removal: Callable[[Collection[str]], None] = lambda _: None

    def read(self, sha256: str) -> bytes | None:
        return self._blobs.get(sha256)

    async def collect(self, prefix: str, held: Collection[str], put_before: float) -> Collected:
        before = list(self._blobs)
        collected = await super().collect(prefix, held, put_before)
        self.on_removal([name for name in before if name not in self._blobs])
        return collected

    @property
    def is_empty(self) -> bool:
        return not self._blobs


class Playbooks:
    """A catalog in which every path that a play may call leads to one of its callees."""

    def __init__(self, play: Play) -> None:
        self._callees = play.callees
        self._all = {each.digest: each for each in map(_registered, (play.playbook, *play.callees))}
        self.root = next(iter(self._all.values()))
        self.programs = {each.digest: Program(each) for each in (play.playbook, *play.callees)}

    @property
    def pools(self) -> Sequence[str]:
        """All that some step wants to run in."""
        found = {pool_of(program, step) for program in self.programs.values() for step in program.steps}
        return sorted(pool for pool in found if pool is not None)

    def callee(self, path: str) -> Playbook | None:
        return self._callees[Random(path).randrange(len(self._callees))] if self._callees else None

    async def by_digest(self, digest: str) -> Registered | None:
        return self._all.get(digest)

    async def by_path(self, path: str, version: str | None) -> Registered | None:  # noqa: ARG002
        found = self.callee(path)
        return self._all[found.digest] if found is not None else None

    async def register(self, playbook: Registered) -> None:
        raise NotImplementedError(playbook.path)


class Credentials:
    async def missing(self, entries: Sequence[KeychainEntry], workload: Mapping[str, object]) -> Sequence[str]:  # noqa: ARG002
        return ()

    async def value(self, entry: KeychainEntry, workload: Mapping[str, object]) -> object:  # noqa: ARG002
        return f"secret of {entry.name}"


def _registered(playbook: Playbook) -> Registered:
    return Registered(playbook.metadata.path, "1", playbook.digest, encode(playbook), "generated.yaml")
