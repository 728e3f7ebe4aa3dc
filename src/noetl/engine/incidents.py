"""What cannot go on by itself: a bug, a log or a playbook that cannot be read, a live thing that nothing will move.

An incident is a row beside the log, not an event. A store keeps it until an operator resumes the execution or
cancels it. One that parks takes no command meanwhile, but can always be cancelled.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import UnknownEvent
from noetl.engine.commands import CancelExecution, Command, Continue, EndWait, Rejection
from noetl.engine.cursor import Frame
from noetl.engine.effects import Effect, OfferWork, SetTimer, finished, local_of, pool_of, start_child
from noetl.engine.ending import cancelled
from noetl.engine.leases import Work
from noetl.engine.loops import behind, is_stopping
from noetl.engine.names import entity_id
from noetl.engine.program import Program
from noetl.engine.state import Iteration, LoopRun, State, StepRun, empty
from noetl.engine.worklist import Row

STRANDED_MAX = 100
"""The most incidents told of one execution at a time; after a resume the next ones show."""

MESSAGE_CHARS_MAX = 2_000


class Kind(StrEnum):
    BUG = "bug"
    UNREADABLE = "unreadable"
    NO_PROGRAM = "no_program"
    STRANDED = "stranded"


class Incident(msgspec.Struct, frozen=True):
    """Why an execution cannot go on. `where` is the id of what stands still; `remedy` is what people can do."""

    execution_id: str
    kind: Kind
    message: str
    since: float
    where: str = ""
    remedy: str = ""

    @property
    def parks(self) -> bool:
        """Whether the execution takes no command but a cancel. What is stranded harms nothing else that goes on."""
        return self.kind is not Kind.STRANDED


class Rows(msgspec.Struct, frozen=True):
    """What a store holds for an execution. `children` live, or a message to or from them is on its way."""

    work: Mapping[Row, Work]
    timers: Collection[SetTimer]
    children: Collection[str]


# ------------------------------------------------------------------------------ what parks


def of_bug(execution_id: str, error: str, doing: str, now: float) -> Incident:
    """An exception that reached the loop's top, as text; `doing` names the command that met it."""
    message = f"{doing} raised {error}"[:MESSAGE_CHARS_MAX]
    remedy = "report this text; resume the execution under a version that mends it, or cancel it"
    return Incident(execution_id, Kind.BUG, message, now, execution_id, remedy)


def of_unknown_event(execution_id: str, event: UnknownEvent, now: float) -> Incident:
    message = f"event {event.seq}, {event.name}, cannot be read: {event.reason}"
    remedy = "resume the execution under the version that wrote it or a newer one, or cancel it"
    return Incident(execution_id, Kind.UNREADABLE, message, now, f"{execution_id}:{event.seq}", remedy)


def of_damaged_event(execution_id: str, seq: int, reason: str, now: float) -> Incident:
    """Bytes that are no event, or a payload that is gone or damaged in the result store."""
    message = f"event {seq} cannot be read: {reason}"[:MESSAGE_CHARS_MAX]
    remedy = "restore what is damaged from a backup and resume the execution, or cancel it"
    return Incident(execution_id, Kind.UNREADABLE, message, now, f"{execution_id}:{seq}", remedy)


def of_missing_program(execution_id: str, digest: str, now: float) -> Incident:
    message = f"the playbook with digest {digest} is not in the catalog"
    remedy = "register the playbook again, the same text, and resume the execution, or cancel it"
    return Incident(execution_id, Kind.NO_PROGRAM, message, now, execution_id, remedy)


def of_missing_data(execution_id: str, reason: str, now: float) -> Incident:
    """A decision needs a value that the result store does not have any more."""
    message = f"a decision needs stored data: {reason}"[:MESSAGE_CHARS_MAX]
    remedy = "restore what is missing from a backup and resume the execution, or cancel it"
    return Incident(execution_id, Kind.UNREADABLE, message, now, execution_id, remedy)


def refusal(incident: Incident | None, command: Command) -> Rejection | None:
    """Why an execution does not take a command now. `parked` is for a while: timers and messages are kept."""
    if incident is None or not incident.parks or isinstance(command, CancelExecution):
        return None
    return parked(incident)


def parked(incident: Incident) -> Rejection:
    return Rejection("parked", f"execution {incident.execution_id} is parked: {incident.message}")


def cancel_parked(
    execution_id: str, readable: Iterable[e.Fact], reason: str | None
) -> tuple[list[e.Fact], list[Effect]] | Rejection:
    """How an execution ends of which not even the state is known: by what can be read of its log, without a playbook.

    Children of which no end is known are cancelled; one that has ended refuses that.
    """
    state = empty(execution_id)
    path, children = "", dict[str, str]()
    for fact in readable:
        match fact:
            case e.ExecutionRequested():
                state.parent, path = fact.parent, fact.path
            case e.TaskWaiting(is_over=True):
                children.pop(fact.task_run_id, None)
            case e.TaskWaiting() if fact.child is not None:
                children[fact.task_run_id] = fact.child.execution_id
            case e.WorkflowFinished():
                return Rejection("ended", f"execution {execution_id} has ended: {fact.status}")
            case _:
                pass
    facts = cancelled(state, reason, tuple(children.values()))
    ends = (fact for fact in facts if isinstance(fact, e.WorkflowFinished))
    return facts, [effect for end in ends for effect in finished(path, state, end)]


# ------------------------------------------------------------------------------ what is stranded


def stranded(program: Program, state: State, rows: Rows, now: float) -> list[Incident]:
    """Everything alive without a reason: no lease, work, timer, message or child will ever move it."""
    remedy = "resume the execution, which offers it again; if that does not help, cancel it"
    return [
        Incident(state.execution_id, Kind.STRANDED, lack.message, now, lack.where, remedy)
        for lack in islice(_lacks(program, state, rows, now), STRANDED_MAX)
    ]


def mend(program: Program, state: State, rows: Rows, now: float) -> list[Effect]:
    """The work, timers and messages that are missing: a resume carries them out."""
    return [lack.effect for lack in _lacks(program, state, rows, now) if lack.effect is not None]


class _Lack(msgspec.Struct, frozen=True):
    where: str
    message: str
    effect: Effect | None = None


def _lacks(program: Program, state: State, rows: Rows, now: float) -> Iterator[_Lack]:
    if state.seq == 0 or state.has_ended:
        return
    if not state.runs:
        yield _Lack(state.execution_id, "no step runs and none will; the end of the execution was not decided")
    for run in state.runs.values():
        yield from _of_run(program, state, run, rows)
    goes_on = any(isinstance(timer.command, Continue) for timer in rows.timers)
    if not goes_on and next(behind(program, state), None) is not None:
        yield _Lack(
            state.execution_id,
            "a loop could go on, but no timer is set for that",
            SetTimer("continue", now, Continue()),
        )


def _of_run(program: Program, state: State, run: StepRun, rows: Rows) -> Iterator[_Lack]:
    if run.loop is not None:
        yield from _of_loop(program, state, run, run.loop, rows)
    elif run.cursor is None or run.boundary is not None:
        yield _Lack(run.id, "what follows for this step run was not decided")
    elif run.is_parked:
        yield from _of_wait(state, run, (), run, rows)
    elif not _is_covered(rows.work.get((run.id, ())), 0):
        offer = OfferWork(run.id, pool=pool_of(program, run.step))
        yield _Lack(run.id, "a worker should run it, but it is offered to none", offer)


def _of_wait(state: State, run: StepRun, path: e.Path, holder: StepRun | Iteration, rows: Rows) -> Iterator[_Lack]:
    assert holder.cursor is not None
    frame = holder.cursor.top
    assert isinstance(frame, Frame)
    where, child = entity_id(run.id, path), frame.child
    end = EndWait(run.id, path, frame.wait, is_late=child is not None)
    if child is not None and child.execution_id not in rows.children:
        message = f"it waits for child execution {child.execution_id}, which is not known to be live"
        yield _Lack(where, message, start_child(state, run.id, path, frame.wait, child))
    has_time = child is None or frame.not_before is not None
    if has_time and all(timer.command != end for timer in rows.timers):
        message = "it waits for a time, but no timer is set for that"
        yield _Lack(where, message, SetTimer(f"{where}:wait", frame.not_before or 0.0, end))


def _of_loop(program: Program, state: State, run: StepRun, loop: LoopRun, rows: Rows) -> Iterator[_Lack]:
    for index, iteration in loop.live.items():
        path = (*loop.path, index)
        if iteration.loop is not None:
            yield from _of_loop(program, state, run, iteration.loop, rows)
        elif iteration.is_parked:
            yield from _of_wait(state, run, path, iteration, rows)
    if loop.level + 1 == len(program.steps[run.step].levels):
        yield from _of_iterations(program, run, loop, rows.work.get((run.id, loop.path)))


def _of_iterations(program: Program, run: StepRun, loop: LoopRun, work: Work | None) -> Iterator[_Lack]:
    """Those that run must be with a worker or on offer, and so must those to come, unless the loop stops."""
    running = [index for index, iteration in loop.live.items() if not iteration.is_parked]
    lost = [index for index in running if not _is_covered(work, index)]
    to_come = 0 if is_stopping(run, loop) else loop.count - loop.succeeded - loop.failed - len(loop.live)
    missing = len(lost) if lost else len(running) + to_come - _covered(work)
    if missing <= 0:
        return
    parked = loop.live.keys() - set(running)
    again = running if not to_come else [index for index in loop.ended.gaps(loop.count) if index not in parked]
    pool, local = pool_of(program, run.step), local_of(program, run.step, loop.path)
    offer = OfferWork(run.id, loop.path, loop.count, loop.max_in_flight, tuple(again), pool, local)
    yield _Lack(entity_id(run.id, loop.path), f"{missing} of its iterations are with no worker and not on offer", offer)


def _is_covered(work: Work | None, index: int) -> bool:
    """Whether an index is with a worker or on offer."""
    if work is None:
        return False
    held = (index in lease.running or lease.next <= index < lease.stop for lease in work.leases)
    return index >= work.next or any(held) or any(start <= index < stop for start, stop in work.returned)


def _covered(work: Work | None) -> int:
    """How many are."""
    if work is None:
        return 0
    held = sum(len(lease.running) + lease.stop - lease.next for lease in work.leases)
    return work.count - work.next + held + sum(stop - start for start, stop in work.returned)
