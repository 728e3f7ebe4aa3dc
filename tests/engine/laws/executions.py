"""One execution as a store keeps it: its log as bytes, its state, a replica folded from the bytes, and its rows.

Every transaction is judged here, so that no law has to be asked for.
"""

import sys
from collections.abc import Sequence
from typing import assert_never

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, decode, encode, unseal
from noetl.engine.commands import Command, Rejection
from noetl.engine.decide import Surroundings, continuation, decide, transact
from noetl.engine.effects import (
    CancelChild,
    ClearTimers,
    Effect,
    EndAll,
    EndWork,
    OfferWork,
    SetTimer,
    StartChild,
    StopWork,
    TellParent,
    effects,
)
from noetl.engine.envelope import Event, stamp
from noetl.engine.evolve import evolve
from noetl.engine.kept import kept_outputs
from noetl.engine.leases import Work
from noetl.engine.program import Program
from noetl.engine.size import Spill
from noetl.engine.state import State, empty
from noetl.engine.worklist import Row, carry_out, is_cleared
from tests.engine.laws.monitor import Monitor
from tests.engine.stores import Blobs


class Execution:
    """With a limit, whatever makes an event larger than that is kept in the store.

    With `facts_max` facts a transaction leaves what it can to the next one.
    """

    def __init__(
        self, execution_id: str, program: Program, store: Blobs, limit_bytes: int | None, facts_max: int
    ) -> None:
        self.program = program
        self.store = store
        self.limit_bytes = limit_bytes
        self.facts_max = facts_max
        self.kept = kept_outputs(program.playbook)
        self.state: State = empty(execution_id)
        self.replica: State = empty(execution_id)
        self.log: list[bytes] = []
        self.facts: list[e.Fact] = []
        self.monitor = Monitor()
        self.work: dict[Row, Work] = {}
        self.timers: dict[str, SetTimer] = {}

    def send(self, command: Command, now: float) -> Rejection | list[Effect]:
        """One transaction: the facts are stored as bytes and their effects carried out, or nothing changes."""
        before = frozen(self.state)
        asked = frozen(command)
        first = decide(self.program, self.state, command)
        again = decide(self.program, self.state, command)
        assert frozen(first) == frozen(again), "decide answered differently the second time"
        assert frozen(self.state) == before, "decide changed the state"
        spill = self._spill()
        around = Surroundings(now, self.store, spill, self.facts_max)
        answer = transact(self.program, self.state, command, around)
        assert frozen(command) == asked, "transact changed the command"
        if isinstance(answer, Rejection):
            assert frozen(first) == frozen(answer)
            assert frozen(self.state) == before, f"a refused command changed the state: {answer}"
            return answer
        assert not isinstance(first, Rejection)
        assert frozen(answer[: len(first)]) == frozen(list(map(self._spill(), first)))
        self.store.keep(*spill.blobs.values())
        assert self.limit_bytes is None or max(map(len, spill.payloads)) <= self.limit_bytes, "an event is too large"
        found = self._append(answer, spill.payloads, now)
        go_on = continuation(self.program, self.state, command, answer, around)
        found += [go_on] if go_on is not None else []
        for effect in found:
            self._carry_out(effect)
        return found

    def _spill(self) -> Spill:
        return Spill(self.limit_bytes or sys.maxsize, self.kept.steps)

    def _append(self, facts: Sequence[e.Fact], payloads: Sequence[bytes], now: float) -> list[Effect]:
        parent = self.state.parent.execution_id if self.state.parent is not None else None
        events = stamp(
            facts, execution_id=self.state.execution_id, after=len(self.facts), timestamp=1e9 + now, parent=parent
        )
        found: list[Effect] = []
        for event, payload in zip(events, payloads, strict=True):
            self.facts.append(event.fact)
            self.log.append(encode(event, payload))
            self.monitor.see(event.fact)
            self._replay(self.log[-1])
            found.extend(effects(self.program, self.state, event.fact, now))
        assert frozen(self.state) == frozen(self.replica), "the log does not fold to the live state"
        self.monitor.agree(self.state)
        return found

    def _replay(self, stored: bytes) -> None:
        evolve(self.program, self.replica, self.read(stored).fact)

    def read(self, stored: bytes) -> Event:
        event = decode(stored)
        if isinstance(event, StoredEvent):
            return unseal(event, self.store.fetch(event.reference))
        assert isinstance(event, Event), event
        return event

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case OfferWork() | EndWork() | StopWork():
                carry_out(self.work, effect)
            case SetTimer():
                self.timers[effect.timer_id] = effect
            case ClearTimers():
                self.timers = {key: timer for key, timer in self.timers.items() if not is_cleared(timer, effect)}
            case EndAll():
                carry_out(self.work, effect)
                self.timers.clear()
            case StartChild() | CancelChild() | TellParent():
                pass
            case _:
                assert_never(effect)


def frozen(value: object) -> bytes:
    """Something that can be compared later, whatever happens to the value."""
    return msgspec.json.encode(value, enc_hook=str)
