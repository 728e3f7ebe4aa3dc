"""Bugs on purpose: each is a small swap, and the simulator must find it. What it cannot find it does not guard."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import msgspec

from noetl.control_plane import drafting, loading, messages, plane, transact
from noetl.control_plane.answering import Answering
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
from noetl.storage.memory.store import MemoryStore
from tests.simulation.faults import Rates
from tests.simulation.plays import written
from tests.simulation.settings import TIGHT_SERVER, Setting, setting
from tests.simulation.world import World

Swap = Callable[[], AbstractContextManager[None]]


class Bug(msgspec.Struct, frozen=True):
    """`seeds`: within so many, from the first one on, the simulator finds it.

    `under` are the circumstances that bring it to light, where what the seeds draw by themselves seldom does.
    """

    name: str
    what: str
    seeds: int
    planted: Swap
    under: Mapping[str, object] = {}

    def setting(self, seed: int) -> Setting:
        return msgspec.structs.replace(setting(seed), **self.under)

    def seed_found(self) -> int | None:
        """The first seed that shows it."""
        for seed in range(self.seeds):
            with self.planted():
                world = World(self.setting(seed)).run()
            if world.failures:
                return seed
        return None


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

    def silent(state: Any, fact: e.WorkflowFinished) -> list[effects.Effect]:
        return [effect for effect in finished(state, fact) if not isinstance(effect, CancelChild)]

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

BUGS = (
    Bug("acknowledge_before_commit", "a server answers before its commit", 10, acknowledge_before_commit),
    Bug("loser_dropped", "a conflict counts as a commit: the loser's events are gone", 60, loser_dropped),
    Bug("head_unchecked", "the store appends wherever the log ends", 60, head_unchecked),
    Bug("memory_before_commit", "a state that was not committed is kept", 30, memory_before_commit),
    Bug(
        "lone_report_refused",
        "a report that is longer than the queue never gets in",
        60,
        lone_report_refused,
        {"server": TIGHT_SERVER},
    ),
    Bug("snapshot_before_commit", "a snapshot is taken before the commit", 10, snapshot_before_commit),
    Bug(
        "arc_set_lost_on_replay",
        "folding a log leaves out what arcs set",
        60,
        arc_set_lost_on_replay,
        {"rates": Rates(crashes=8.0)},
    ),
    Bug("summary_disagrees", "lists show an execution as running that has failed", 20, summary_disagrees),
    Bug("duplicate_report_applied", "facts that do not follow are recorded", 60, duplicate_report_applied),
    Bug(
        "epoch_unchecked",
        "a report counts whatever its lease",
        60,
        epoch_unchecked,
        {"rates": Rates(lost=0.15, slow=0.15)},
    ),
    Bug("heartbeat_renews_nothing", "the store answers a heartbeat and renews nothing", 40, heartbeat_renews_nothing),
    Bug("heartbeat_not_sent", "a worker sends no heartbeats: tools outlive their lease", 60, heartbeat_not_sent),
    Bug("end_of_lease_not_told", "a heartbeat never hears that its lease is over", 40, end_of_lease_not_told),
    Bug("fence_off", "a worker that is cut off goes on", 60, fence_off, CUT_OFF),
    Bug(
        "lease_trusted_too_long",
        "a worker trusts its lease for longer than the store",
        60,
        lease_trusted_too_long,
        {"rates": Rates(freezes=8.0)},
    ),
    Bug(
        "deadline_unchecked",
        "a worker that stood still starts a tool under an old lease",
        60,
        deadline_unchecked,
        {"rates": Rates(freezes=8.0)},
    ),
    Bug("lost_lease_runs_on", "what runs under a lost lease is not stopped", 40, lost_lease_runs_on),
    Bug("claim_given_to_two", "two workers are given the same work", 10, claim_given_to_two),
    Bug("work_done_when_claimed", "what was handed out never comes back", 40, work_done_when_claimed),
    Bug("in_flight_not_released", "a wait that is over still takes up a place", 40, in_flight_not_released),
    Bug("parents_hold_workers", "what waits for a child keeps its lease", 40, parents_hold_workers),
    Bug("stopping_robs_holders", "a loop that stops takes from workers what they have", 200, stopping_robs_holders),
    Bug(
        "poison_for_ever",
        "work that kills its workers goes out again and again",
        60,
        poison_for_ever,
        {"has_killers": True},
    ),
    Bug(
        "claim_of_older_state",
        "a claim is filled from a state older than its grant",
        60,
        claim_of_older_state,
        {"servers": 3, "rates": Rates(slow=0.15)},
    ),
    Bug(
        "collection_evaluated_again",
        "each claim evaluates the collection anew",
        20,
        collection_evaluated_again,
        {"play": written("a collection that its own iterations change")},
    ),
    Bug(
        "task_before_acknowledgement",
        "a task starts before the last one's end is durable",
        20,
        task_before_acknowledgement,
    ),
    Bug("reported_before_stored", "a report speaks of data that is not stored yet", 60, reported_before_stored),
    Bug(
        "loop_done_by_step_name",
        "a loop step is done once, however often it runs",
        20,
        loop_done_by_step_name,
        {"play": written("a loop step that runs three times")},
    ),
    Bug(
        "guard_error_is_no",
        "a guard that fails counts as no",
        20,
        guard_error_is_no,
        {"play": written("a guard that breaks")},
    ),
    Bug("timer_revives", "a timer of a cancelled execution starts it again", 100, timer_revives),
    Bug(
        "children_not_cancelled",
        "children go on when their caller has ended",
        100,
        children_not_cancelled,
        {"rates": Rates(crashes=8.0)},
    ),
    Bug("message_twice_two_children", "a message that comes twice starts two children", 60, message_twice_two_children),
    Bug(
        "messages_not_swept",
        "a server that misses a hint never looks for messages",
        60,
        messages_not_swept,
        {"rates": Rates(refused=0.15, forgotten=0.15), "servers": 1},
    ),
    Bug(
        "timer_gone_when_read",
        "a timer is gone though its command was not carried",
        60,
        timer_gone_when_read,
        {"rates": Rates(refused=0.15, forgotten=0.15), "play": written("long waits")},
    ),
    Bug("message_gone_when_read", "a message is gone though nobody has taken it", 60, message_gone_when_read),
)
