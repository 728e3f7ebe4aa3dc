"""A second account of everything that is committed: the judge's own, kept beside the store and shared with nobody.

Whatever no run may show is noted at the commit that shows it.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode, unseal
from noetl.engine.evolve import evolve
from noetl.engine.incidents import Rows, stranded
from noetl.engine.program import Program
from noetl.engine.snapshot import encode_snapshot
from noetl.engine.state import State, empty
from noetl.engine.worklist import Progress, Row
from noetl.ports import Append, Granted
from tests.engine.laws.monitor import Monitor

Note = Callable[[str], None]


class Book:
    """One execution, folded from the bytes that were committed. `prints` are its states, by number of events."""

    def __init__(self, execution_id: str, program: Program) -> None:
        self.program = program
        self.state: State = empty(execution_id)
        self.facts: list[e.Fact] = []
        self.monitor = Monitor()
        self.prints: dict[int, int] = {}

    def append(self, facts: Iterable[e.Fact]) -> None:
        for fact in facts:
            self.facts.append(fact)
            self.monitor.see(fact)
            evolve(self.program, self.state, fact)
        self.monitor.agree(self.state)
        self.prints[self.state.seq] = fingerprint(self.state)


class Books:
    def __init__(self, programs: Callable[[str], Program], blobs: Callable[[str], bytes], note: Note) -> None:
        self._programs = programs
        self._blobs = blobs
        self._note = note
        self._owners: dict[tuple[str, Row, int], int] = {}
        self.books: dict[str, Book] = {}

    def commit(self, append: Append, granted: Sequence[Granted], rows: Rows, now: float) -> None:
        """An append that was made."""
        self._check_epochs(append)
        self.grant(granted)
        if append.events:
            self._append(append)
        book = self.books.get(append.execution_id)
        if book is not None:
            for incident in stranded(book.program, book.state, rows, now):
                self._note(f"{incident.where} has no reason to be alive: {incident.message}")

    def grant(self, granted: Sequence[Granted]) -> None:
        for each in granted:
            for index in range(each.lease.next, each.lease.stop):
                key = (each.execution_id, each.row, index)
                if self._owners.get(key, 0) >= each.lease.epoch:
                    self._note(f"epoch {each.lease.epoch} of {key} came again")
                self._owners[key] = each.lease.epoch

    def _check_epochs(self, append: Append) -> None:
        for progress in append.progress:
            for index in _indexes(progress):
                owner = self._owners.get((append.execution_id, progress.row, index))
                if owner != progress.epoch:
                    self._note(f"a report under epoch {progress.epoch} was taken for {progress.row}[{index}] of {owner}")

    def _append(self, append: Append) -> None:
        name = append.execution_id
        facts = [self._fact(name, append.head + number, data) for number, data in enumerate(append.events, 1)]
        book = self.books.get(name)
        if book is None:
            first = facts[0]
            assert isinstance(first, e.ExecutionRequested)
            book = self.books[name] = Book(name, self._programs(first.digest))
        try:
            book.append(facts)
        except AssertionError as broken:
            self._note(f"{name}: {broken}")

    def _fact(self, name: str, seq: int, data: bytes) -> e.Fact:
        event = decode(data)
        assert not isinstance(event, UnknownEvent)
        if isinstance(event, StoredEvent):
            event = unseal(event, self._blobs(str(event.reference.locator["sha256"])))
        if (event.execution_id, event.seq) != (name, seq):
            self._note(f"event {event.execution_id}:{event.seq} stands at {name}:{seq}")
        return event.fact


def fingerprint(state: State) -> int:
    return zlib.crc32(encode_snapshot(state))


def _indexes(progress: Progress) -> Iterable[int]:
    return dict.fromkeys((*progress.begun, *progress.ended, *progress.parked))
