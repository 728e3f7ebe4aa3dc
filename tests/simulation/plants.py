"""The swaps behind the planted bugs: each puts something small and wrong in the place of something right."""

import asyncio
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import msgspec

from noetl.control_plane import drafting, loading, messages, plane, transact
from noetl.control_plane.answering import Answering
from noetl.control_plane.collector import Collector
from noetl.control_plane.letters import Taken
from noetl.control_plane.mailboxes import Mailboxes
from noetl.control_plane.transact import Executions
from noetl.data_plane.holding import Holding
from noetl.data_plane.run_step import Runner
from noetl.data_plane.worker import Worker
from noetl.engine import commands as c
from noetl.engine import decide, effects, leases, routing
from noetl.engine import events as e
from noetl.engine.binding import BindingFailed
from noetl.engine.effects import CancelChild
from noetl.engine.leases import Lease, Work
from noetl.engine.loops import ctx_at
from noetl.engine.serverside import looping
from noetl.engine.snapshot import encode_snapshot
from noetl.engine.worklist import Progress, Row
from noetl.ports import Append, Busy, Claim, Conflict, Granted, Loop
from noetl.storage.memory import store
from noetl.storage.memory.agenda import Agenda
from noetl.storage.memory.holdings import Holdings
from noetl.storage.memory.store import MemoryStore
from noetl.supply import manifest
from tests.simulation.faults import Rates


@contextmanager
def swapped(*swaps: tuple[object, str, object]) -> Iterator[None]:
    """Puts others in the place of functions, methods or numbers, for a while."""
    with ExitStack() as stack:
        for holder, name, other in swaps:
            stack.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, other)
        yield


def _own(module: object, name: str) -> Any:
    return getattr(module, name)


async def _for_ever(*_: object) -> None:
    await asyncio.get_running_loop().create_future()


async def _at_once(*_: object) -> None:
    return


# ------------------------------------------------------------------------------ commits


def acknowledge_before_commit() -> AbstractContextManager[None]:
    commit = Executions._commit

    async def hasty(self: Executions, prepared: Sequence[Any]) -> None:
        for each in prepared:
            for position, letter in enumerate(each.draft.letters):
                letter.resolve(each.draft.refused.get(position) or Taken())
        await commit(self, prepared)

    return swapped((Executions, "_commit", hasty))


def loser_dropped() -> AbstractContextManager[None]:
    followed = Executions._followed

    async def careless(self: Executions, each: Any, answer: object) -> None:
        if not isinstance(answer, Conflict):
            await followed(self, each, answer)  # type: ignore[arg-type]
            return
        each.box.loaded = None
        for letter in each.draft.letters:
            letter.resolve(Taken())
        self._again(each.box, each.looks, None)

    return swapped((Executions, "_followed", careless))


def head_unchecked() -> AbstractContextManager[None]:
    append = MemoryStore._append

    def careless(self: MemoryStore, given: Append) -> object:
        return append(self, msgspec.structs.replace(given, head=len(self._logs.get(given.execution_id, ()))))

    return swapped((MemoryStore, "_append", careless))


def memory_before_commit() -> AbstractContextManager[None]:
    again = Executions._again

    def keeping(self: Executions, box: Any, letters: Any, trouble: Any) -> None:
        loaded = box.loaded
        again(self, box, letters, trouble)
        box.loaded = loaded

    return swapped((Executions, "_again", keeping))


def lone_report_refused() -> AbstractContextManager[None]:
    def strict(self: Mailboxes, count: int) -> None:
        if self._waiting + count > self._limits.waiting_max:
            raise Busy(self._limits.retry_after_s)

    return swapped((Mailboxes, "make_room", strict))


def snapshot_before_commit() -> AbstractContextManager[None]:
    make = Executions._made

    async def eager(self: Executions, box: Any, letters: Any, looks: Any) -> object:
        made = await make(self, box, letters, looks)
        if made is not None and made.append.events:
            state = box.loaded[0]
            await self._store.save_snapshot(state.execution_id, state.seq, encode_snapshot(state))
        return made

    return swapped((Executions, "_made", eager))


def arc_set_lost_on_replay() -> AbstractContextManager[None]:
    evolve = _own(loading, "evolve")

    def forgetful(program: Any, state: Any, fact: e.Fact) -> object:
        if isinstance(fact, e.CtxPatched) and "/next/" in fact.origin.path:
            state.seq += 1
            return ()
        return evolve(program, state, fact)

    return swapped((loading, "evolve", forgetful))


def summary_disagrees() -> AbstractContextManager[None]:
    summary = drafting._Making.summary

    def late(self: Any, started_at: float | None) -> object:
        found = summary(self, started_at)
        return msgspec.structs.replace(found, status="running") if found.status == "failed" else found

    return swapped((drafting._Making, "summary", late))


def duplicate_report_applied() -> AbstractContextManager[None]:
    taken = _own(decide, "taken")

    def credulous(program: Any, state: Any, run: Any, facts: Sequence[Any]) -> object:
        found = taken(program, state, run, facts)
        return list(facts) if isinstance(found, c.Rejection) else found

    return swapped((decide, "taken", credulous))


# ------------------------------------------------------------------------------ leases


def epoch_unchecked() -> AbstractContextManager[None]:
    advance = _own(store, "advance")

    def credulous(rows: MutableMapping[Row, Work], progress: Progress, now: float) -> bool:
        advance(rows, progress, now)
        return True

    return swapped((store, "advance", credulous))


def heartbeat_renews_nothing() -> AbstractContextManager[None]:
    async def idle(self: MemoryStore, held: Sequence[Granted], lease_s: float) -> frozenset[int]:  # noqa: ARG001
        return frozenset(each.lease.epoch for each in held if self._work.get((each.execution_id, each.row)) is None)

    return swapped((MemoryStore, "renew", idle))


def heartbeat_not_sent() -> AbstractContextManager[None]:
    return swapped((Worker, "_renew", _for_ever))


def end_of_lease_not_told() -> AbstractContextManager[None]:
    renew = MemoryStore.renew

    async def silent(self: MemoryStore, held: Sequence[Granted], lease_s: float) -> frozenset[int]:
        await renew(self, held, lease_s)
        return frozenset()

    return swapped((MemoryStore, "renew", silent))


def fence_off() -> AbstractContextManager[None]:
    return swapped((Worker, "_fence", _for_ever))


def lease_trusted_too_long() -> AbstractContextManager[None]:
    begin = Holding.__init__

    def trusting(self: Holding, claim: Any, program: Any, items: Any, deadline: float) -> None:
        begin(self, claim, program, items, deadline + 2 * 12.0)

    return swapped((Holding, "__init__", trusting))


def deadline_unchecked() -> AbstractContextManager[None]:
    return swapped((Holding, "check", lambda self, now: None))  # noqa: ARG005


def lost_lease_runs_on() -> AbstractContextManager[None]:
    def lazy(self: Holding) -> None:
        self.is_lost = True
        self.pending.clear()
        self.pipes.clear()

    return swapped((Holding, "lose", lazy))


def claim_given_to_two() -> AbstractContextManager[None]:
    claim = leases.claim

    def generous(work: Work, **given: Any) -> tuple[Work, Lease] | None:
        found = claim(work, **given)
        return (msgspec.structs.replace(work, leases=found[0].leases), found[1]) if found is not None else None

    return swapped((leases, "claim", generous))


def work_done_when_claimed() -> AbstractContextManager[None]:
    def forgetful(work: Work, now: float) -> tuple[Work, tuple[Lease, ...]]:
        over = tuple(lease for lease in work.leases if lease.expires_at <= now)
        return msgspec.structs.replace(work, leases=tuple(each for each in work.leases if each not in over)), over

    return swapped((leases, "expire", forgetful))


def in_flight_not_released() -> AbstractContextManager[None]:
    wake = leases.wake

    def leaky(work: Work, index: int) -> Work:
        return msgspec.structs.replace(wake(work, index), parked=work.parked)

    return swapped((leases, "wake", leaky))


def parents_hold_workers() -> AbstractContextManager[None]:
    def held(work: Work, epoch: int, index: int) -> Work | None:  # noqa: ARG001
        return work

    return swapped((leases, "park", held))


def stopping_robs_holders() -> AbstractContextManager[None]:
    def robbing(work: Work, started: Collection[int]) -> Work:
        for lease in work.leases:
            work = leases.take_back(work, lease.epoch)
        again = [index for index in started if leases._holds(work.returned, index)]
        left = tuple(lease for lease in work.leases if lease.running)
        return msgspec.structs.replace(work, next=work.count, returned=leases._ranges(again), leases=left)

    return swapped((leases, "stop", robbing))


def poison_for_ever() -> AbstractContextManager[None]:
    return swapped((leases, "DELIVERIES_MAX", 10**9))


# ------------------------------------------------------------------------------ claims and tasks


def claim_of_older_state() -> AbstractContextManager[None]:
    look = Executions.look

    async def hasty(self: Executions, execution_id: str, see: Any, head: int = 0) -> object:  # noqa: ARG001
        return await look(self, execution_id, see)

    return swapped((Executions, "look", hasty))


def collection_evaluated_again() -> AbstractContextManager[None]:
    claim_of = _own(transact, "claim_of")

    def anew(program: Any, state: Any, granted: Granted, stored: Any) -> Claim | None:
        claim: Claim | None = claim_of(program, state, granted, stored)
        if claim is None or claim.loop is None or claim.path:
            return claim
        run = state.runs[granted.row[0]]
        scope = looping(program, state, run, ctx_at(state, run, ()), None)
        items = program.steps[run.step].levels[0].items(scope)
        if not isinstance(items, list):
            return claim
        loop: Loop = msgspec.structs.replace(claim.loop, items=items[claim.loop.first : claim.loop.stop])
        return msgspec.structs.replace(claim, loop=loop)

    return swapped((transact, "claim_of", anew), (plane, "claim_of", anew))


def task_before_acknowledgement() -> AbstractContextManager[None]:
    return swapped((Runner, "_acknowledged", _at_once))


def reported_before_stored() -> AbstractContextManager[None]:
    return swapped((Runner, "_keep", _at_once))


# ------------------------------------------------------------------------------ stored objects


def stored_by_tools_read_as_null() -> AbstractContextManager[None]:
    return swapped((manifest, "is_of_tool", lambda _output: False))


def ended_hold_nothing() -> AbstractContextManager[None]:
    def careless(self: Holdings, prefix: str, now: float, is_live: Callable[[str], bool]) -> Collection[str]:  # noqa: ARG001
        return [sha256 for sha256, known in self._until.items() if any(map(is_live, known))]

    return swapped((Holdings, "held", careless))


def grace_forgotten() -> AbstractContextManager[None]:
    collect = Collector._collect

    async def hasty(self: Collector, prefix: str) -> object:
        self._limits = msgspec.structs.replace(self._limits, collect_grace_s=0.0)
        return await collect(self, prefix)

    return swapped((Collector, "_collect", hasty))


# ------------------------------------------------------------------------------ decisions


def loop_done_by_step_name() -> AbstractContextManager[None]:
    tend = _own(decide, "tend")

    def guarded(program: Any, state: Any, run: Any, path: e.Path, stored: Any) -> object:
        facts = tend(program, state, run, path, stored)
        is_done = any(isinstance(fact, e.LoopDone) and not fact.path for fact in facts or ())
        return [] if is_done and state.counts[run.step] > 1 else facts

    return swapped((decide, "tend", guarded))


def guard_error_is_no() -> AbstractContextManager[None]:
    truth = routing._truth

    def lenient(*given: Any) -> bool | None:
        try:
            return truth(*given)
        except BindingFailed:
            return False

    return swapped((routing, "_truth", lenient))


def timer_revives() -> AbstractContextManager[None]:
    decided = decide.decide

    def reviving(program: Any, state: Any, command: c.Command) -> object:
        if state.has_ended and isinstance(command, c.EndWait | c.ExpireStep):
            return [e.WorkflowStarted(program.playbook.entry_step)]
        return decided(program, state, command)

    return swapped((decide, "decide", reviving), (Agenda, "clear", lambda self, name: None))  # noqa: ARG005


def children_not_cancelled() -> AbstractContextManager[None]:
    finished = effects.finished

    def silent(path: str, state: Any, fact: e.WorkflowFinished) -> list[effects.Effect]:
        return [effect for effect in finished(path, state, fact) if not isinstance(effect, CancelChild)]

    return swapped((effects, "finished", silent))


# ------------------------------------------------------------------------------ timers and messages


def message_twice_two_children() -> AbstractContextManager[None]:
    post = Answering.post
    seen: set[int] = set()

    def doubling(self: Answering, execution_id: str, key: Any, letter: Any) -> None:
        if isinstance(letter.command, c.RequestExecution) and letter.done in seen:
            execution_id += "+"
        seen.add(letter.done)
        post(self, execution_id, key, letter)

    return swapped((Answering, "post", doubling))


def messages_not_swept() -> AbstractContextManager[None]:
    async def trusting(event: asyncio.Event, timeout_s: float) -> None:  # noqa: ARG001
        await event.wait()

    return swapped((messages, "wait_for", trusting))


def timer_gone_when_read() -> AbstractContextManager[None]:
    due = MemoryStore.due

    async def consuming(self: MemoryStore, limit: int) -> object:
        found = await due(self, limit)
        for timer in found[0]:
            self._agenda.answer(timer.id)
        return found

    return swapped((MemoryStore, "due", consuming))


def message_gone_when_read() -> AbstractContextManager[None]:
    waiting = MemoryStore.messages

    async def consuming(self: MemoryStore, after: int, limit: int) -> object:
        found = await waiting(self, after, limit)
        for message in found:
            self._agenda.answer(message.id)
        return found

    return swapped((MemoryStore, "messages", consuming))


CUT_OFF = {"rates": Rates(partitions=6.0), "workers": 3, "servers": 1, "long_share": 0.3}
"""Workers lose their only server for longer than a lease, while tools run."""
