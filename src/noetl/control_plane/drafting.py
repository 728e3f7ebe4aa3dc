"""From commands to one append: they are decided in order on the state in memory, and carried out together."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from noetl.control_plane.letters import Letter
from noetl.engine import events as e
from noetl.engine.codec import encode
from noetl.engine.commands import Command, Rejection, RequestExecution
from noetl.engine.decide import Surroundings, continuation, transact
from noetl.engine.effects import Effect, effects
from noetl.engine.envelope import stamp
from noetl.engine.holds import Hold
from noetl.engine.program import Program
from noetl.engine.size import Blob, Spill
from noetl.engine.state import State
from noetl.engine.view import Stored
from noetl.ports import Append, Clock, Summary


class Draft(msgspec.Struct, frozen=True):
    """An append that is ready, the bytes to store before it, and which of the letters were refused, by position.

    `fences` are the positions of the letters whose progress is in the append.
    """

    letters: Sequence[Letter]
    append: Append
    blobs: Sequence[Blob]
    refused: Mapping[int, Rejection]
    fences: Sequence[int]

    @property
    def taken_over(self) -> Collection[str]:
        """Objects that a new execution refers to and did not make. They may be old, and in no time held by nobody."""
        if self.append.head:
            return ()
        return {hold.sha256 for hold in self.append.holds} - {blob.sha256 for blob in self.blobs}


def draft(
    program: Program | None,
    state: State,
    letters: Sequence[Letter],
    clock: Clock,
    stored: Stored,
    started_at: float | None,
) -> Draft:
    """Changes the state: whoever cannot commit the draft must forget it."""
    making = _Making(program, state, clock, stored)
    for position, letter in enumerate(letters):
        making.take(position, letter)
    return making.draft(letters, started_at)


def draft_end(
    letter: Letter, summary: Summary, facts: Sequence[e.Fact], changes: Sequence[Effect], now: float
) -> Draft:
    """The end of an execution whose state is not known."""
    name, parent = summary.execution_id, summary.parent
    events = stamp(
        facts,
        execution_id=name,
        after=summary.head,
        timestamp=now,
        parent=parent.execution_id if parent is not None else None,
    )
    head = summary.head + len(events)
    ended = msgspec.structs.replace(summary, status="cancelled", changed_at=now, head=head)
    done = [letter.done] if letter.done is not None else []
    append = Append(name, summary.head, [encode(event) for event in events], changes, done=done, summary=ended)
    return Draft([letter], append, (), {}, ())


def draft_refusals(letters: Sequence[Letter], summary: Summary) -> Draft:
    """Answers to an execution that has ended, though its state is not known: timers and messages are done with."""
    refused = Rejection("ended", f"execution {summary.execution_id} has ended: {summary.status}")
    done = [letter.done for letter in letters if letter.done is not None]
    append = Append(summary.execution_id, summary.head, done=done)
    return Draft(letters, append, (), dict.fromkeys(range(len(letters)), refused), ())


class _Making:
    def __init__(self, program: Program | None, state: State, clock: Clock, stored: Stored) -> None:
        self.program = program
        self.state = state
        self.clock = clock
        self.stored = stored
        self.head = state.seq
        self.spill = Spill(kept_steps=program.kept.steps if program is not None else frozenset())
        self.events: list[bytes] = []
        self.effects: list[Effect] = []
        self.refused: dict[int, Rejection] = {}

    def take(self, position: int, letter: Letter) -> None:
        answer = self.decided(letter.command) if letter.command is not None else ()
        if isinstance(answer, Rejection):
            self.refused[position] = answer
            return
        self.record(answer)
        self.effects.extend(letter.effects)

    def decided(self, command: Command) -> Sequence[e.Fact] | Rejection:
        if self.state.seq == 0 and not isinstance(command, RequestExecution):
            return Rejection("unknown", f"there is no execution {self.state.execution_id}")
        assert self.program is not None
        around = Surroundings(self.clock.now(), self.stored, self.spill)
        facts = transact(self.program, self.state, command, around)
        if not isinstance(facts, Rejection):
            timer = continuation(self.program, self.state, command, facts, around)
            self.effects.extend([timer] if timer is not None else [])
        return facts

    def record(self, facts: Sequence[e.Fact]) -> None:
        state, now = self.state, self.clock.now()
        parent = state.parent.execution_id if state.parent is not None else None
        after = self.head + len(self.events)
        stamped = stamp(facts, execution_id=state.execution_id, after=after, timestamp=now, parent=parent)
        payloads = self.spill.payloads[len(self.events) :]
        self.events.extend(encode(event, payload) for event, payload in zip(stamped, payloads, strict=True))
        for fact in facts:
            assert self.program is not None
            self.effects.extend(effects(self.program, state, fact, now))

    def draft(self, letters: Sequence[Letter], started_at: float | None) -> Draft:
        taken = [letter for position, letter in enumerate(letters) if position not in self.refused]
        fences = [
            position
            for position, letter in enumerate(letters)
            if position not in self.refused and letter.progress is not None
        ]
        append = Append(
            self.state.execution_id,
            self.head,
            self.events,
            self.effects,
            [letter.progress for letter in taken if letter.progress is not None],
            [letter.done for letter in letters if letter.done is not None],
            [letter.ask for letter in taken if letter.ask is not None],
            self.summary(started_at) if self.events else None,
            self.holds() if self.events else (),
        )
        return Draft(letters, append, tuple(self.spill.blobs.values()), self.refused, fences)

    def holds(self) -> Sequence[Hold]:
        now, needs = self.clock.now(), self.spill.needs
        return [Hold(sha256, now + ttl_s if ttl_s is not None else None) for sha256, ttl_s in needs.items()]

    def summary(self, started_at: float | None) -> Summary:
        assert self.program is not None
        state, now = self.state, self.clock.now()
        began = started_at if started_at is not None else now
        path = self.program.playbook.metadata.path
        return Summary(state.execution_id, path, state.digest, state.status, began, now, state.seq, state.parent)
