"""The log, the work and the incidents in memory: transactions, conflicts, leases by its own clock.

What a database would not have flushed yet can be lost: `crash` takes back what was not durable.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

import msgspec

from noetl.engine import leases
from noetl.engine.effects import CancelChild, ClearTimers, Effect, EndAll, SetTimer, StartChild, TellParent
from noetl.engine.incidents import Incident, Rows
from noetl.engine.leases import Lease, Work
from noetl.engine.worklist import Row, advance, carry_out, is_within
from noetl.ports import (
    Append,
    Appended,
    Ask,
    Clock,
    Conflict,
    Expired,
    Fenced,
    Granted,
    Held,
    LogChunk,
    Message,
    Revoked,
    Summary,
    Timer,
)
from noetl.storage.bounds import kept
from noetl.storage.memory.agenda import Agenda
from noetl.storage.memory.holdings import Holdings
from noetl.storage.memory.worktable import WorkTable


class MemoryStore:
    """Every method is one transaction: nothing is awaited inside, so nobody sees half of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs: dict[str, list[bytes]] = {}
        self._summaries: dict[str, Summary] = {}
        self._live: dict[str, None] = {}
        self._snapshots: dict[str, tuple[int, bytes]] = {}
        self._incidents: dict[str, dict[tuple[str, str], Incident]] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._printed: dict[str, list[LogChunk]] = {}
        self._agenda = Agenda()
        self._work = WorkTable()
        self._holdings = Holdings()
        self._undo: list[Callable[[], None]] = []

    # ------------------------------------------------------------------------------ the log

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        answers = [self._append(append) for append in appends]
        self._undo.clear()
        return answers

    async def head(self, execution_id: str) -> int:
        return len(self._logs.get(execution_id, ()))

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
        return tuple(self._logs.get(execution_id, ())[after : after + limit])

    async def save_snapshot(self, execution_id: str, seq: int, data: bytes) -> None:
        before = self._snapshots.get(execution_id)
        self._snapshots[execution_id] = (seq, data)
        self._undo.append(partial(self._restore_snapshot, execution_id, before))

    async def snapshot(self, execution_id: str) -> tuple[int, bytes] | None:
        return self._snapshots.get(execution_id)

    async def due(self, limit: int) -> tuple[Sequence[Timer], float | None]:
        return self._agenda.due(self._clock.now(), limit)

    async def messages(self, after: int, limit: int) -> Sequence[Message]:
        return self._agenda.waiting(after, limit)

    async def live(self, after: str, limit: int) -> Sequence[Summary]:
        names = heapq.nsmallest(limit, (name for name in self._live if name > after))
        return tuple(self._summaries[name] for name in names)

    async def summary(self, execution_id: str) -> Summary | None:
        return self._summaries.get(execution_id)

    async def recent(self, before: str, limit: int) -> Sequence[Summary]:
        roots = (each for each in self._summaries.values() if each.parent is None)
        names = (each.execution_id for each in roots if not before or each.execution_id < before)
        return tuple(self._summaries[name] for name in heapq.nlargest(limit, names))

    async def below(self, execution_id: str, after: str, limit: int) -> Sequence[Summary]:
        names = (name for name in self._summaries if name.startswith(f"{execution_id}.") and name > after)
        return tuple(self._summaries[name] for name in heapq.nsmallest(limit, names))

    async def rows(self, execution_id: str) -> tuple[int, Rows]:
        children = {name for name in self._children.get(execution_id, ()) if name in self._live}
        children |= self._agenda.children_of(execution_id)
        rows = Rows(dict(self._work.rows(execution_id)), self._agenda.timers_of(execution_id), children)
        return len(self._logs.get(execution_id, ())), rows

    def _append(self, append: Append) -> Appended | Conflict | Fenced:
        name = append.execution_id
        head = len(self._logs.get(name, ()))
        if head != append.head:
            return Conflict(head)
        rows = dict(self._work.rows(name))
        fenced = frozenset(at for at, each in enumerate(append.progress) if not advance(rows, each))
        if fenced:
            return Fenced(fenced)
        lost = self._carry_out(name, rows, append.effects)
        self._work.write(name, rows)
        self._record(append)
        revoked = tuple(Revoked(lease.worker, lease.epoch) for lease in sorted(lost, key=lambda lease: lease.epoch))
        if self._is_parked(name):
            return Appended((), revoked)
        granted = [grant for ask in append.asks for grant in self._work.claim_from(name, ask, self._clock.now())]
        return Appended(tuple(self._dated(granted)), revoked, self._work.has_open(name))

    def _carry_out(self, name: str, rows: dict[Row, Work], effects: Sequence[Effect]) -> list[Lease]:
        lost: list[Lease] = []
        for effect in effects:
            match effect:
                case SetTimer() | ClearTimers() | StartChild() | CancelChild() | TellParent():
                    self._agenda.carry_out(name, effect)
                case _:
                    lost += carry_out(rows, effect)
            if isinstance(effect, EndAll):
                self._agenda.clear(name)
        return lost

    def _record(self, append: Append) -> None:
        name, summary = append.execution_id, append.summary
        if append.events:
            self._logs.setdefault(name, []).extend(append.events)
        for done in append.done:
            self._agenda.answer(done)
        self._holdings.add(name, append.holds)
        if summary is None:
            return
        self._summaries[name] = summary
        if summary.parent is not None:
            self._children.setdefault(summary.parent.execution_id, {})[name] = None
        if summary.has_ended:
            self._live.pop(name, None)
        else:
            self._live[name] = None

    def _dated(self, granted: Sequence[Granted]) -> Iterator[Granted]:
        for grant in granted:
            yield msgspec.structs.replace(grant, head=len(self._logs.get(grant.execution_id, ())))

    def _restore_snapshot(self, execution_id: str, before: tuple[int, bytes] | None) -> None:
        if before is None:
            self._snapshots.pop(execution_id, None)
        else:
            self._snapshots[execution_id] = before

    # ------------------------------------------------------------------------------ stored objects

    async def held(self, prefix: str) -> Held:
        now = self._clock.now()
        return Held(now, self._holdings.held(prefix, now, self._holds_all))

    def _holds_all(self, name: str) -> bool:
        """It goes on, or its caller does, to whom its output may be on the way."""
        own = self._summaries.get(name)
        around = own.parent.execution_id if own is not None and own.parent is not None else name
        return name in self._live or around in self._live

    async def next_part(self, parts: int, every_s: float) -> int | None:
        return self._holdings.next_part(parts, every_s, self._clock.now())

    # ------------------------------------------------------------------------------ work

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        granted = self._work.claim(ask, limit, self._clock.now(), self._is_parked)
        self._undo.clear()
        return tuple(self._dated(granted))

    async def renew(self, held: Sequence[Granted], lease_s: float) -> frozenset[int]:
        """Not durable by itself: a crash may take a lease back to its earlier end."""
        over: set[int] = set()
        for each in held:
            key = (each.execution_id, each.row)
            work = self._work.get(key)
            now = self._clock.now()
            renewed = leases.renew(work, each.lease.epoch, now=now, lease_s=lease_s) if work is not None else None
            if work is None or renewed is None:
                over.add(each.lease.epoch)
            else:
                self._work.put(key, renewed)
                self._undo.append(partial(self._work.put, key, work))
        return frozenset(over)

    async def release(self, held: Sequence[Granted]) -> None:
        for each in held:
            key = (each.execution_id, each.row)
            work = self._work.get(key)
            if work is not None:
                self._work.put(key, leases.release(work, each.lease.epoch))
        self._undo.clear()

    async def expire(self, limit: int) -> Sequence[Expired]:
        found = self._work.expire(self._clock.now(), limit, self._is_parked)
        self._undo.clear()
        return found

    # ------------------------------------------------------------------------------ incidents

    async def open(self, incidents: Sequence[Incident]) -> None:
        for each in incidents:
            self._incidents.setdefault(each.execution_id, {}).setdefault((each.kind, each.where), each)
        self._undo.clear()

    async def close(self, execution_id: str) -> None:
        self._incidents.pop(execution_id, None)
        self._undo.clear()

    async def parking(self, execution_id: str) -> Incident | None:
        return next((each for each in self._incidents.get(execution_id, {}).values() if each.parks), None)

    async def incidents(self, execution_id: str, limit: int) -> Sequence[Incident]:
        return tuple(_oldest(self._incidents.get(execution_id, {}).values(), limit))

    async def incidents_within(self, root: str, limit: int) -> Sequence[Incident]:
        below = (own for name, own in self._incidents.items() if is_within(name, root))
        return tuple(_oldest((each for own in below for each in own.values()), limit))

    def _is_parked(self, execution_id: str) -> bool:
        return any(each.parks for each in self._incidents.get(execution_id, {}).values())

    # ------------------------------------------------------------------------------ what tools printed

    async def write_logs(self, chunks: Sequence[LogChunk]) -> None:
        for chunk in chunks:
            printed = self._printed.setdefault(chunk.execution_id, [])
            if (own := kept(chunk, len(printed) + 1)) is not None:
                printed.append(own)

    async def logs(self, execution_id: str, after: int, limit: int) -> Sequence[LogChunk]:
        return tuple(self._printed.get(execution_id, ())[after : after + limit])

    def crash(self) -> None:
        """What was not durable is gone, as after a power failure."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


def _oldest(incidents: Iterable[Incident], limit: int) -> Iterable[Incident]:
    return islice(sorted(incidents, key=lambda each: each.since), limit)
