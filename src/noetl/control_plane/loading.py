"""The state of an execution from its log: the last snapshot, and what came after it."""

from collections.abc import AsyncIterator, Set
from contextlib import suppress

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode_fact, kind_of, unseal
from noetl.engine.evolve import evolve
from noetl.engine.incidents import Incident, of_damaged_event, of_missing_program, of_unknown_event
from noetl.engine.program import Program
from noetl.engine.snapshot import decode_snapshot
from noetl.engine.state import State, empty
from noetl.ports import Clock, EventLog
from noetl.supply.programs import Programs
from noetl.supply.shelf import Missing, Shelf


class Unreadable(Exception):
    """The log cannot be folded: by this version, or because something is missing or damaged."""

    def __init__(self, incident: Incident) -> None:
        super().__init__(incident.message)
        self.incident = incident


class Loaded(msgspec.Struct, frozen=True):
    """`program` is None where there is no log yet. `snapshot` is how far the last snapshot reaches."""

    state: State
    program: Program | None
    snapshot: int = 0


class Loader:
    """Reads logs; `now` is for the incidents that it may meet."""

    def __init__(self, log: EventLog, programs: Programs, shelf: Shelf, clock: Clock, read_max: int) -> None:
        self._log = log
        self._programs = programs
        self._shelf = shelf
        self._clock = clock
        self._read_max = read_max

    async def load(self, execution_id: str) -> Loaded:
        saved = await self._log.snapshot(execution_id)
        state = decode_snapshot(saved[1]) if saved is not None else None
        if state is None:
            state = empty(execution_id)
        at = state.seq
        program = await self._program(state, state.digest) if state.digest else None
        return Loaded(state, await self.catch_up(state, program), at)

    async def catch_up(self, state: State, program: Program | None) -> Program | None:
        """Applies what the log holds beyond the state."""
        while found := await self._log.read(state.execution_id, state.seq, self._read_max):
            for data in found:
                fact = await self._fact(state.execution_id, state.seq + 1, data)
                if program is None:
                    assert isinstance(fact, e.ExecutionRequested)
                    program = await self._program(state, fact.digest)
                evolve(program, state, fact)
            if len(found) < self._read_max:
                break
        return program

    async def facts(self, execution_id: str) -> AsyncIterator[e.Fact]:
        """Every fact of a log."""
        async for _, fact in self.numbered(execution_id):
            yield fact

    async def numbered(
        self, execution_id: str, unread: Set[type[e.Body]] = frozenset()
    ) -> AsyncIterator[tuple[int, e.Fact]]:
        """The facts of a log with their numbers, but for those of some kinds."""
        async for seq, data in self._lines(execution_id):
            if not unread or kind_of(data) not in unread:
                yield seq, await self._fact(execution_id, seq, data)

    async def readable(self, execution_id: str) -> AsyncIterator[e.Fact]:
        """Every fact of a log that can be read at all."""
        async for seq, data in self._lines(execution_id):
            with suppress(Unreadable):
                yield await self._fact(execution_id, seq, data)

    async def _lines(self, execution_id: str) -> AsyncIterator[tuple[int, bytes]]:
        seq = 0
        while found := await self._log.read(execution_id, seq, self._read_max):
            for data in found:
                seq += 1
                yield seq, data

    async def _fact(self, execution_id: str, seq: int, data: bytes) -> e.Fact:
        now = self._clock.now()
        try:
            fact = decode_fact(data)
            if isinstance(fact, StoredEvent):
                await self._shelf.bring(fact.reference)
                fact = unseal(fact, self._shelf.fetch(fact.reference)).fact
        except (msgspec.MsgspecError, Missing) as error:
            raise Unreadable(of_damaged_event(execution_id, seq, str(error), now)) from error
        if isinstance(fact, UnknownEvent):
            raise Unreadable(of_unknown_event(execution_id, fact, now))
        return fact

    async def _program(self, state: State, digest: str) -> Program:
        program = await self._programs.get(digest)
        if program is None:
            raise Unreadable(of_missing_program(state.execution_id, digest, self._clock.now()))
        return program
