"""The state of an execution from its log: the last snapshot, and what came after it."""

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode, unseal
from noetl.engine.evolve import evolve
from noetl.engine.program import Program
from noetl.engine.snapshot import decode_snapshot
from noetl.engine.state import State, empty
from noetl.ports import EventLog
from noetl.supply.programs import Programs
from noetl.supply.shelf import Shelf


class Unreadable(Exception):
    """The log cannot be folded by this version; the message says why."""


class Loaded(msgspec.Struct, frozen=True):
    """`program` is None where there is no log yet. `snapshot` is how far the last snapshot reaches."""

    state: State
    program: Program | None
    snapshot: int = 0


async def load(log: EventLog, programs: Programs, shelf: Shelf, execution_id: str, read_max: int) -> Loaded:
    saved = await log.snapshot(execution_id)
    state = decode_snapshot(saved[1]) if saved is not None else None
    if saved is None or state is None:
        state = empty(execution_id)
    at = state.seq
    program = await _program(programs, state.digest) if state.digest else None
    return Loaded(state, await catch_up(log, programs, shelf, state, program, read_max), at)


async def catch_up(
    log: EventLog, programs: Programs, shelf: Shelf, state: State, program: Program | None, read_max: int
) -> Program | None:
    """Applies what the log holds beyond the state."""
    while found := await log.read(state.execution_id, state.seq, read_max):
        for data in found:
            fact = await _fact(shelf, data)
            if program is None:
                assert isinstance(fact, e.ExecutionRequested)
                program = await _program(programs, fact.digest)
            evolve(program, state, fact)
        if len(found) < read_max:
            break
    return program


async def _fact(shelf: Shelf, data: bytes) -> e.Fact:
    event = decode(data)
    if isinstance(event, UnknownEvent):
        raise Unreadable(f"event {event.seq} `{event.name}` cannot be read: {event.reason}")
    if isinstance(event, StoredEvent):
        await shelf.bring(event.reference)
        event = unseal(event, shelf.fetch(event.reference))
    return event.fact


async def _program(programs: Programs, digest: str) -> Program:
    program = await programs.get(digest)
    if program is None:
        raise Unreadable(f"the playbook with digest {digest} is not in the catalog")
    return program
