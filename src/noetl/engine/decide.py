"""Commands to events. Every decision is a function of the playbook, the state and the command.

`transact` carries a command through: it decides, lets `evolve` apply each fact, and decides what that leaves
open, until nothing is. The shell stores all of it in one transaction or forgets all of it. Only a loop may have
more for the server to do than one transaction should hold: then a timer that is due at once goes on.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import assert_never

import msgspec

from noetl.engine import events as e
from noetl.engine.admission import arrive
from noetl.engine.commands import (
    CancelExecution,
    Command,
    Continue,
    EndWait,
    ExpireStep,
    FailPoison,
    Rejection,
    Report,
    RequestExecution,
)
from noetl.engine.cursor import Frame
from noetl.engine.effects import SetTimer
from noetl.engine.ending import cancelled, stopped
from noetl.engine.evolve import evolve
from noetl.engine.join import settle_tokens
from noetl.engine.layering import merge, timeout_of
from noetl.engine.loops import begin, behind, catch_up, failed_step, is_behind, is_stopping, loop_under, tend
from noetl.engine.names import entity_id
from noetl.engine.output import Error, failed
from noetl.engine.program import Program
from noetl.engine.reports import taken
from noetl.engine.routing import route
from noetl.engine.state import Arrive, Begin, Pending, Route, State, Tend
from noetl.engine.view import Fit, IterationView, LoopView, RunView, StateView, Stored
from noetl.engine.workerside import pipeline_of

DEPTH_MAX = 32
"""The deepest chain of child executions."""

UNWORKED_STEPS_MAX = 1_000
"""The most steps that may follow each other without waiting for a worker, a timer or a child."""

FACTS_MAX = 1_000
"""With so many facts a transaction leaves what it can to the next one."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a decision needs from outside: the time of the command, and values kept outside the log.

    `fit` sees every fact before it is applied and keeps it small. With `facts_max` facts it is enough for now.
    """

    now: float
    stored: Stored
    fit: Fit | None = None
    facts_max: int = FACTS_MAX


def transact(program: Program, state: State, command: Command, around: Surroundings) -> list[e.Fact] | Rejection:
    """All facts that follow from a command, already applied to the state; or why nothing does.

    What `continuation` says of them belongs to the same transaction.
    """
    decided = decide(program, state, command)
    if isinstance(decided, Rejection):
        return decided
    if around.fit is not None:
        around = msgspec.structs.replace(around, stored=around.fit.over(around.stored))
    facts: list[e.Fact] = []
    open_ = _Open(deque(), [])
    steps = 0
    if isinstance(command, Continue):
        steps = command.steps
        open_.loops.extend(sorted(behind(program, state)))
        decided = _next(program, state, open_, around, is_full=False)
    while decided:
        for fact in decided if around.fit is None else map(around.fit, decided):
            open_.pending.extend(evolve(program, state, fact))
            facts.append(fact)
            steps += isinstance(fact, e.StepScheduled) and _is_unworked(program, fact)
        is_full = len(facts) >= around.facts_max
        decided = _next(program, state, open_, around, is_full) if steps <= UNWORKED_STEPS_MAX else _circles(state)
    return facts


def continuation(
    program: Program, state: StateView, command: Command, facts: Sequence[e.Fact], around: Surroundings
) -> SetTimer | None:
    """The timer by which the next transaction goes on, where this one left something to it."""
    if len(facts) < around.facts_max or next(behind(program, state), None) is None:
        return None
    before = command.steps if isinstance(command, Continue) else 0
    steps = sum(_is_unworked(program, fact) for fact in facts if isinstance(fact, e.StepScheduled))
    return SetTimer("continue", around.now, Continue(before + steps))


class _Open(msgspec.Struct):
    """What is left to decide: first what facts left, in their order; then loops, as a heap by step run and path."""

    pending: deque[Pending]
    loops: list[tuple[str, e.Path]]


def _is_unworked(program: Program, fact: e.StepScheduled) -> bool:
    """Whether a step run begins without a worker."""
    ready = program.steps[fact.step]
    return bool(ready.levels) or not ready.step.tool


def _circles(state: StateView) -> list[e.Fact]:
    if state.has_ended:
        return []
    message = f"{UNWORKED_STEPS_MAX} steps followed each other and none of them waited for work: they go in circles"
    return stopped(state, Error("budget_exceeded", message))


def decide(program: Program, state: StateView, command: Command) -> list[e.Fact] | Rejection:
    """The facts a command comes to by itself."""
    if isinstance(command, RequestExecution):
        return _request(program, state, command)
    if state.seq == 0:
        return Rejection("unknown", f"there is no execution {state.execution_id}")
    if state.has_ended:
        return Rejection("ended", f"execution {state.execution_id} has ended: {state.status}")
    if isinstance(command, CancelExecution):
        return cancelled(state, command.reason)
    if isinstance(command, Continue):
        return _continue(program, state)
    run = state.runs.get(command.step_run_id)
    if run is None:
        return Rejection("unknown", f"step run {command.step_run_id} is not live")
    match command:
        case Report():
            return taken(program, state, run, command.facts)
        case EndWait():
            return _end_wait(program, run, command)
        case ExpireStep():
            message = f"step `{run.step}` used up its {command.reason}"
            return [failed_step(run, failed("timeout", message, retryable=True))]
        case FailPoison():
            return _poison(program, run, command)
        case _:
            assert_never(command)


def _continue(program: Program, state: StateView) -> list[e.Fact] | Rejection:
    if next(behind(program, state), None) is None:
        return Rejection("stale", f"nothing was left to go on with in execution {state.execution_id}")
    return []


def _next(program: Program, state: StateView, open_: _Open, around: Surroundings, is_full: bool) -> list[e.Fact]:
    """The next decision that is open, if any."""
    pending = open_.pending
    while pending and not state.has_ended:
        facts = _proceed(program, state, pending.popleft(), open_, around)
        if facts:
            return facts
    if state.status != "running":
        return []
    if state.ctx_bytes > program.ctx_bytes_max:
        message = f"ctx holds {state.ctx_bytes} bytes, more than its `limits.ctx_bytes_max` of {program.ctx_bytes_max}"
        return stopped(state, Error("budget_exceeded", message))
    place = _first_behind(program, state, open_.loops)
    if place is None:
        return settle_tokens(program, state, around.now)
    return [] if is_full else catch_up(program, state, state.runs[place[0]], place[1], around.stored)


def _first_behind(program: Program, state: StateView, loops: list[tuple[str, e.Path]]) -> tuple[str, e.Path] | None:
    """In an order that the state alone gives, so that it does not matter where one transaction ended."""
    while loops:
        run = state.runs.get(loops[0][0])
        if run is not None and is_behind(program, run, loops[0][1]):
            return loops[0]
        heappop(loops)
    return None


def _proceed(program: Program, state: StateView, item: Pending, open_: _Open, around: Surroundings) -> list[e.Fact]:
    if isinstance(item, Arrive):
        if item.token not in state.waiting:
            return []
        return arrive(program, state, item.token, around.now)
    run = state.runs[item.step_run_id]
    match item:
        case Route():
            return route(program, state, run)
        case Begin() if run.loop is not None:
            return []
        case Begin():
            return begin(program, state, run, around.stored)
        case Tend():
            facts = tend(program, state, run, item.path, around.stored)
            if facts is None:
                heappush(open_.loops, (run.id, item.path))
            return facts or []
        case _:
            assert_never(item)


def _request(program: Program, state: StateView, command: RequestExecution) -> list[e.Fact] | Rejection:
    if state.seq > 0:
        return Rejection("stale", f"execution {state.execution_id} exists already")
    requested = e.ExecutionRequested(
        command.path,
        command.digest,
        command.version,
        dict(command.workload),
        command.parent,
        command.origin,
        command.trace_id,
    )
    error = _refusal(command)
    names = [entry.name for entry in program.playbook.keychain]
    workload = merge(program.playbook.workload, command.workload)
    evaluated = e.RequestEvaluated(workload, names, program.playbook.entry_step, error)
    if error is not None:
        return [requested, evaluated, *stopped(state, error)]
    return [requested, evaluated, *(command.seed or (e.WorkflowStarted(program.playbook.entry_step),))]


def _refusal(command: RequestExecution) -> Error | None:
    if command.missing:
        names = ", ".join(sorted(command.missing))
        return Error("keychain", f"keychain entries not found: {names}", details={"missing": sorted(command.missing)})
    if command.parent is not None and command.parent.depth > DEPTH_MAX:
        return Error("budget_exceeded", f"child executions may be nested {DEPTH_MAX} deep")
    return None


def _end_wait(program: Program, run: RunView, command: EndWait) -> list[e.Fact] | Rejection:
    """Ends the wait that the command speaks of, and no other: answers may come late or twice."""
    holder = _holder(run, command.path)
    frame = holder.cursor.top if holder is not None and holder.cursor is not None else None
    if not isinstance(frame, Frame) or not frame.wait or frame.wait != command.task_run_id:
        return Rejection("stale", f"{command.task_run_id} does not wait")
    if (frame.child is None) is not (command.output is None and not command.is_late):
        return Rejection("stale", f"{command.task_run_id} does not wait for that")
    if frame.child is not None and command.is_late:
        return [_timed_out(program, run, command, frame, frame.child)]
    return [e.TaskWaiting(run.id, command.path, command.task_run_id, is_over=True, output=command.output)]


def _timed_out(program: Program, run: RunView, command: EndWait, frame: Frame, child: e.Child) -> e.Fact:
    """The call fails, as any task does that takes too long, and the child is cancelled."""
    timeout_s = timeout_of(pipeline_of(program, frame, run.step).tasks[frame.pc].spec)
    message = f"playbook `{child.path}` took longer than {timeout_s:g} s (`spec.timeout`) and was cancelled"
    blocks = {"playbook": {"execution_id": child.execution_id, "status": "cancelled"}}
    output = msgspec.structs.replace(failed("timeout", message, retryable=True), blocks=blocks)
    ids = (run.id, command.path, command.task_run_id)
    return e.TaskWaiting(*ids, is_over=True, output=output, cancels=child.execution_id)


def _poison(program: Program, run: RunView, command: FailPoison) -> list[e.Fact] | Rejection:
    message = f"delivered {command.deliveries} times and never reported: the work seems to kill its workers"
    output = failed("poison", message)
    if not command.path and run.cursor is not None and not run.is_parked:
        return [failed_step(run, output)]
    loop = loop_under(run, command.path[:-1]) if command.path else None
    if loop is None or not _may_be_poison(program, run, loop, command.path[-1]):
        return Rejection("stale", f"{entity_id(run.id, command.path)} is not with a worker")
    started: Sequence[e.Fact] = (
        () if command.path[-1] in loop.live else (e.IterationStarted(run.id, command.path, by_server=True),)
    )
    return [*started, e.IterationFailed(run.id, command.path, output, by_server=True)]


def _may_be_poison(program: Program, run: RunView, loop: LoopView, index: int) -> bool:
    """An iteration that was handed out: it runs, or could be started now. Where there is no room, it is told again."""
    if loop.level + 1 < len(program.steps[run.step].levels) or not 0 <= index < loop.count or index in loop.ended:
        return False
    known = loop.live.get(index)
    if known is not None:
        return not known.is_parked
    return not is_stopping(run, loop) and len(loop.live) < loop.max_in_flight


def _holder(run: RunView, path: e.Path) -> RunView | IterationView | None:
    if not path:
        return run
    loop = loop_under(run, path[:-1])
    return loop.live.get(path[-1]) if loop is not None else None
