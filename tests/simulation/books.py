"""A second account of everything that is committed: the judge's own, kept beside the store and shared with nobody.

Whatever no run may show is noted at the commit that shows it.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode, unseal
from noetl.engine.effects import CancelChild, StartChild
from noetl.engine.evolve import evolve
from noetl.engine.incidents import Rows, stranded
from noetl.engine.program import Program
from noetl.engine.reference import LOOP_REFERENCE, Reference, has_mark
from noetl.engine.size import stored_in
from noetl.engine.snapshot import decode_snapshot
from noetl.engine.state import State, empty
from noetl.playbook.durations import seconds_of
from noetl.ports import Append, Appended
from tests.engine.laws.monitor import Monitor
from tests.simulation.leasebook import LeaseBook, Note

Blobs = Callable[[str], bytes | None]


class Book:
    """One execution, folded from the bytes that were committed. `prints` are its states, by number of events.

    `changed_at` is when something was last recorded, by the simulation's time.
    """

    def __init__(self, execution_id: str, program: Program, parent: e.Parent | None) -> None:
        self.program = program
        self.parent = parent
        self.state: State = empty(execution_id)
        self.facts: list[e.Fact] = []
        self.monitor = Monitor()
        self.prints: dict[int, int] = {0: fingerprint(self.state)}
        self.loops_done: set[tuple[str, e.Path]] = set()
        self.poisoned: list[str] = []
        self.has_stored = False
        self.changed_at = 0.0
        self.ended_at: float | None = None

    def append(self, facts: Iterable[e.Fact], now: float) -> None:
        self.changed_at = now
        for fact in facts:
            self.facts.append(fact)
            self.monitor.see(fact)
            self._see(fact)
            evolve(self.program, self.state, fact)
        self.monitor.agree(self.state)
        self.prints[self.state.seq] = fingerprint(self.state)
        if self.state.has_ended:
            self.ended_at = now

    def _see(self, fact: e.Fact) -> None:
        match fact:
            case e.LoopDone(step_run_id, path):
                assert (step_run_id, path) not in self.loops_done, f"the loop at {step_run_id}{path} was done twice"
                self.loops_done.add((step_run_id, path))
            case e.StepFailed(output=output) | e.IterationFailed(output=output):
                if output.error is not None and output.error.kind == "poison":
                    self.poisoned.append(fact.step_run_id)
            case _:
                pass


class Books:
    """`time` is the simulation's own. `families` counts the facts of a root and all that it started."""

    def __init__(self, programs: Callable[[str], Program], blobs: Blobs, note: Note, time: Callable[[], float]) -> None:
        self._programs = programs
        self._blobs = blobs
        self._note = note
        self._time = time
        self._children: dict[tuple[str, str, e.Path, str], str] = {}
        self._dismissed: set[str] = set()
        self._blobs_read = 0
        self._referred: dict[str, dict[str, float]] = {}
        self.leases = LeaseBook(note)
        self.books: dict[str, Book] = {}
        self.families: Counter[str] = Counter()

    def lose(self, removed: Collection[str], now: float) -> None:
        """Objects were removed; `now` is the store's time. Whoever still goes on may need all that it has named."""
        for sha256 in removed:
            for name, until in self._referred.get(sha256, {}).items():
                if until > now or not self._is_ended(name):
                    self._note(f"{sha256[:8]}… was removed, and {name} refers to it")

    def commit(self, append: Append, answer: Appended, rows: Rows, now: float) -> None:
        """An append that was made; `now` is the store's time."""
        self.leases.commit(append)
        self.leases.grant(answer.granted)
        if append.events:
            self._append(append, now)
        book = self.books.get(append.execution_id)
        if book is None:
            return
        if append.summary is not None:
            self._check_summary(append, book)
        for incident in stranded(book.program, book.state, rows, now):
            self._note(f"{incident.where} has no reason to be alive: {incident.message}")
        self._check_waits(append, rows)
        self._check_children(append, book)

    def serve(self, server: str, state: State) -> None:
        """A server holds this state for committed."""
        book = self.books.get(state.execution_id)
        prints = book.prints if book is not None else {0: fingerprint(empty(state.execution_id))}
        if state.seq not in prints:
            self._note(f"{server} serves {state.execution_id} at {state.seq}, where no commit ends")
        elif prints[state.seq] != fingerprint(state):
            self._note(f"{server} serves a state of {state.execution_id} at {state.seq} that its log does not give")

    def save(self, execution_id: str, seq: int, data: bytes) -> None:
        book = self.books.get(execution_id)
        state = decode_snapshot(data)
        if book is None or state is None or book.prints.get(seq) != fingerprint(state):
            self._note(f"a snapshot of {execution_id} at {seq} is not what its log gives")

    @property
    def is_over(self) -> bool:
        return all(book.ended_at is not None for book in self.books.values())

    def _check_summary(self, append: Append, book: Book) -> None:
        found, state = append.summary, book.state
        assert found is not None
        if (found.status, found.head, found.digest) != (state.status, state.seq, state.digest):
            self._note(
                f"the summary of {state.execution_id} says {found.status} at {found.head}, the log {state.status}"
            )

    def _check_waits(self, append: Append, rows: Rows) -> None:
        """Who waits for a time or a child holds no worker."""
        for progress in append.progress:
            work = rows.work.get(progress.row)
            held = {index for lease in work.leases for index in lease.running} if work is not None else set()
            if both := held.intersection(progress.parked):
                self._note(f"{sorted(both)} of {progress.row} wait and hold a worker")

    def _check_children(self, append: Append, book: Book) -> None:
        """Each call starts one child, however often it is told to; and with its caller it ends."""
        for effect in append.effects:
            if isinstance(effect, CancelChild):
                self._dismissed.add(effect.execution_id)
            if isinstance(effect, StartChild):
                parent = effect.parent
                place = (parent.execution_id, parent.step_run_id, parent.path, parent.task_run_id)
                if self._children.setdefault(place, effect.execution_id) != effect.execution_id:
                    self._note(f"{place} was to start two children")
        if book.state.has_ended:
            for place, child in self._children.items():
                if place[0] == append.execution_id and child not in self._dismissed and not self._is_ended(child):
                    self._note(f"{child} goes on without {append.execution_id}, which started it")
        parent_ = book.parent
        if parent_ is None or append.head > 0:
            return
        place = (parent_.execution_id, parent_.step_run_id, parent_.path, parent_.task_run_id)
        name = append.execution_id
        if self._children.get(place) != name:
            self._note(f"{name} began as a child of {place}, which started {self._children.get(place)}")

    def _is_ended(self, name: str) -> bool:
        book = self.books.get(name)
        return book is not None and book.state.has_ended

    def _append(self, append: Append, now: float) -> None:
        name = append.execution_id
        blobs = self._blobs_read
        facts = [self._fact(name, append.head + number, data, now) for number, data in enumerate(append.events, 1)]
        book = self.books.get(name)
        if book is None:
            first = facts[0]
            assert isinstance(first, e.ExecutionRequested)
            book = self.books[name] = Book(name, self._programs(first.digest), first.parent)
        self.families[family(name)] += len(facts)
        book.has_stored = book.has_stored or self._blobs_read > blobs
        try:
            book.append(facts, self._time())
        except (AssertionError, KeyError, ValueError) as broken:
            self._note(f"{name}: {broken!r}")

    def _fact(self, name: str, seq: int, data: bytes, now: float) -> e.Fact:
        event = decode(data)
        assert not isinstance(event, UnknownEvent)
        if isinstance(event, StoredEvent):
            self._refer(name, event.reference, now)
            event = unseal(event, self._blob(str(event.reference.locator["sha256"]), name, seq))
        if (event.execution_id, event.seq) != (name, seq):
            self._note(f"event {event.execution_id}:{event.seq} stands at {name}:{seq}")
        if has_mark(data):
            for reference in stored_in(event.fact):
                if reference.type != LOOP_REFERENCE:
                    self._blob(str(reference.locator["sha256"]), name, seq)
            for reference in references_in(event.fact):
                self._refer(name, reference, now)
        return event.fact

    def _refer(self, name: str, reference: Reference, now: float) -> None:
        sha256, ttl = reference.locator.get("sha256"), reference.meta.ttl
        if isinstance(sha256, str):
            known = self._referred.setdefault(sha256, {})
            until = now + (seconds_of(ttl) or 0.0) if ttl is not None else float("inf")
            known[name] = max(until, known.get(name, 0.0))

    def _blob(self, sha256: str, name: str, seq: int) -> bytes:
        self._blobs_read += 1
        found = self._blobs(sha256)
        if found is None:
            self._note(f"event {seq} of {name} speaks of data that is not stored")
        return found or b""


def references_in(value: object) -> Iterator[Reference]:
    """Every one, whoever holds it."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from references_in(item)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from references_in(getattr(value, name))


def family(execution_id: str) -> str:
    """The root: a child's id begins with its parent's."""
    return execution_id.partition(".")[0]


def fingerprint(state: State) -> int:
    """Equal for equal states, and cheaper than a snapshot: it need not be read again."""
    return zlib.crc32(msgspec.json.encode(state))
