"""What a fact changes outside the log: work, timers and messages that appear or disappear.

A store carries them out in the transaction that appends the fact, so there is no second truth to drift.
"""

from collections.abc import Iterator, Mapping

import msgspec

from noetl.engine import events as e
from noetl.engine.blame import child_error
from noetl.engine.commands import Continue, EndWait, ExpireStep, RequestExecution
from noetl.engine.descendants import child_share
from noetl.engine.lifted import Lifted
from noetl.engine.loops import is_stopping
from noetl.engine.names import children_of_task, entity_id, is_first_run, step_of
from noetl.engine.output import Error, Output, Status
from noetl.engine.program import Program
from noetl.engine.view import LoopView, RunView, StateView
from noetl.playbook.model import Placement


class OfferWork(msgspec.Struct, frozen=True):
    """A pipeline to run; or, with a `count`, the iterations of a loop, of which `slots` may run at once.

    With `indexes` only those are left to run: a rerun keeps the others. Where there is a `pool`, only its workers may
    run it. `local` is the path of the loop around it that stays on one worker.
    """

    step_run_id: str
    path: e.Path = ()
    count: int | None = None
    slots: int = 1
    indexes: tuple[int, ...] | None = None
    pool: str | None = None
    local: e.Path | None = None


class EndWork(msgspec.Struct, frozen=True):
    """The work of a step run is over: all of it, or with a `path` that of an iteration and what is inside it."""

    step_run_id: str
    path: e.Path = ()


class StopWork(msgspec.Struct, frozen=True):
    """A loop stops: of its iterations only those that have `started` may still go out, to be brought to their end."""

    step_run_id: str
    path: e.Path
    started: tuple[int, ...]


class SetTimer(msgspec.Struct, frozen=True):
    """A timer of an execution; one that is set again replaces itself."""

    timer_id: str
    due_at: float
    command: EndWait | ExpireStep | Continue


class ClearTimers(msgspec.Struct, frozen=True):
    """Timers of a step run that are not due any more; with a `path` those of an iteration and what is inside it."""

    step_run_id: str
    path: e.Path = ()


class StartChild(msgspec.Struct, frozen=True):
    """Delivered at least once; the child's id makes the second delivery harmless.

    In a rerun, `before` is what the ids begin with of those that the same task had started in the origin, each with the
    number of its run: the last of them can go on if it had not succeeded.
    """

    execution_id: str
    path: str
    version: str | None
    workload: object
    parent: e.Parent
    before: str = ""


class CancelChild(msgspec.Struct, frozen=True):
    execution_id: str


class TellParent(msgspec.Struct, frozen=True):
    execution_id: str
    command: EndWait


class EndAll(msgspec.Struct, frozen=True):
    """The execution has ended: no work, timer or lease of it is left."""


Effect = OfferWork | EndWork | StopWork | SetTimer | ClearTimers | StartChild | CancelChild | TellParent | EndAll


def effects(program: Program, state: StateView, fact: e.Fact, now: float) -> list[Effect]:
    """`state` is the state after the transaction that the fact is part of; a run may have begun and ended in it."""
    match fact:
        case e.StepScheduled():
            return _scheduled(program, fact)
        case e.StepStarted():
            return _started(program, fact, now)
        case e.LoopStarted():
            return _loop_started(program, fact)
        case e.TaskWaiting():
            return _waiting(program, state, fact)
        case e.StepFailed():
            return [*_over(fact.step_run_id, ()), *(CancelChild(child) for child in fact.children)]
        case e.StepDone():
            return _over(fact.step_run_id, ())
        case e.LoopDone():
            return _over(fact.step_run_id, fact.path)
        case e.IterationFailed(call=""):
            return _iteration_failed(program, state, fact)
        case e.WorkflowFinished():
            return finished(program.playbook.metadata.path, state, fact)
        case _:
            return []


def _over(step_run_id: str, path: e.Path) -> list[Effect]:
    return [EndWork(step_run_id, path), ClearTimers(step_run_id, path)]


def _scheduled(program: Program, fact: e.StepScheduled) -> list[Effect]:
    ready = program.steps[fact.step]
    found: list[Effect] = []
    if ready.step.tool and not ready.levels:
        found.append(OfferWork(fact.step_run_id, pool=pool_of(program, fact.step)))
    if fact.deadline_at is not None:
        expire = ExpireStep(fact.step_run_id, "deadline")
        found.append(SetTimer(f"{fact.step_run_id}:deadline", fact.deadline_at, expire))
    return found


def _started(program: Program, fact: e.StepStarted, now: float) -> list[Effect]:
    timeout_s = program.steps[step_of(fact.step_run_id)].step.timeout_s
    if timeout_s is None:
        return []
    return [SetTimer(f"{fact.step_run_id}:timeout", now + timeout_s, ExpireStep(fact.step_run_id, "timeout"))]


def _loop_started(program: Program, fact: e.LoopStarted) -> list[Effect]:
    step = step_of(fact.step_run_id)
    if len(fact.path) + 1 < len(program.steps[step].levels) or fact.count == 0:
        return []
    indexes = tuple(fact.kept.ended.gaps(fact.count)) if fact.kept is not None else None
    pool, local = pool_of(program, step), local_of(program, step, fact.path)
    return [OfferWork(fact.step_run_id, fact.path, fact.count, fact.max_in_flight, indexes, pool, local)]


def pool_of(program: Program, step: str) -> str | None:
    """A pipeline runs on one worker: the first of its tasks whose layered spec names a pool decides."""
    if not program.has_pools:
        return None
    pools = (task.spec.get("pool") for task in program.pipeline(step).tasks)
    return next((pool for pool in pools if isinstance(pool, str)), None)


def local_of(program: Program, step: str, path: e.Path) -> e.Path | None:
    """Of the loops around these iterations the outermost that is to stay, with all inside it, on one worker."""
    placement, since = program.playbook.executor.profile, 0
    for depth, level in enumerate(program.steps[step].levels):
        own = level.loop.placement or placement
        since = since if own is placement else depth
        placement = own
    return path[:since] if placement is Placement.LOCAL else None


def _iteration_failed(program: Program, state: StateView, fact: e.IterationFailed) -> list[Effect]:
    found: list[Effect] = []
    if fact.by_server:
        found += [*_over(fact.step_run_id, fact.path), *(CancelChild(child) for child in fact.children)]
    run = state.runs.get(fact.step_run_id)
    if run is not None and run.loop is not None and not _follows_a_stop(fact):
        found.extend(_stopping(program, run, run.loop))
    return found


def _follows_a_stop(fact: e.IterationFailed) -> bool:
    """Of many iterations that are ended because one failed, only that one stops the work."""
    error = fact.output.error
    return fact.by_server and error is not None and error.kind == "cancelled"


def _stopping(program: Program, run: RunView, loop: LoopView) -> Iterator[StopWork]:
    """The innermost loops that stop: by a failure of their own, or of one around them."""
    if loop.level + 1 == len(program.steps[run.step].levels):
        if is_stopping(run, loop):
            yield StopWork(run.id, loop.path, tuple(loop.live))
        return
    for iteration in loop.live.values():
        assert iteration.loop is not None
        yield from _stopping(program, run, iteration.loop)


def _waiting(program: Program, state: StateView, fact: e.TaskWaiting) -> list[Effect]:
    if fact.is_over:
        again = OfferWork(fact.step_run_id, fact.path, pool=pool_of(program, step_of(fact.step_run_id)))
        return [again] if fact.cancels is None else [again, CancelChild(fact.cancels)]
    found: list[Effect] = []
    end = EndWait(fact.step_run_id, fact.path, fact.task_run_id, is_late=fact.child is not None)
    if fact.due_at is not None:
        found.append(SetTimer(f"{entity_id(fact.step_run_id, fact.path)}:wait", fact.due_at, end))
    if fact.child is not None:
        found.append(start_child(state, fact.step_run_id, fact.path, fact.task_run_id, fact.child))
    return found


def start_child(state: StateView, step_run_id: str, path: e.Path, task_run_id: str, child: e.Child) -> StartChild:
    depth = state.parent.depth + 1 if state.parent is not None else 1
    share = child_share(state, child.number)
    parent = e.Parent(state.execution_id, step_run_id, path, task_run_id, depth, child.return_step, share)
    before = _before(state, step_run_id, task_run_id)
    return StartChild(child.execution_id, child.path, child.version, child.workload, parent, before)


def _before(state: StateView, step_run_id: str, task_run_id: str) -> str:
    """A task that is tried once more in the same run begins anew, as ever."""
    run = state.runs.get(step_run_id)
    if run is None or not run.origin_run or state.origin is None or not is_first_run(task_run_id):
        return ""
    return children_of_task(state.origin.execution_id, f"{run.origin_run}{task_run_id.removeprefix(step_run_id)}")


def finished(path: str, state: StateView, fact: e.WorkflowFinished) -> list[Effect]:
    """`path` is that of the playbook."""
    found: list[Effect] = [EndAll(), *(CancelChild(child) for child in fact.children)]
    parent = state.parent
    if parent is not None:
        told = EndWait(parent.step_run_id, parent.path, parent.task_run_id, answer(path, state, fact, parent))
        found.append(TellParent(parent.execution_id, told))
    return found


def answer(path: str, state: StateView, fact: e.WorkflowFinished, parent: e.Parent) -> Output:
    """What the caller of a child execution gets."""
    blocks = {"playbook": {"execution_id": state.execution_id, "status": fact.status}}
    if fact.status == "completed":
        return _returned(state, fact, parent, blocks)
    error = child_error(path, state.execution_id, fact)
    return Output(status=Status.ERROR, error=error, blocks=blocks)


def _returned(state: StateView, fact: e.WorkflowFinished, parent: e.Parent, blocks: Mapping[str, object]) -> Output:
    if parent.return_step is None:
        return msgspec.structs.replace(fact.output, status=Status.OK, error=None, blocks=blocks)
    stored = state.outputs.get(parent.return_step)
    names = stored.names if isinstance(stored, Lifted) else {}
    found = stored.value if isinstance(stored, Lifted) else stored
    if not isinstance(found, Mapping) or found["status"] == Status.ERROR:
        became = "failed" if isinstance(found, Mapping) else "did not run"
        message = f"`return_step` names `{parent.return_step}`, which {became} in {state.execution_id}"
        return Output(status=Status.ERROR, error=Error("playbook_failed", message), blocks=blocks)
    return Output(data=found["data"], ref=found["ref"], blocks=blocks, selected=names)


def as_request(effect: StartChild, digest: str) -> RequestExecution:
    """The command by which a child begins, once its playbook is found."""
    workload = effect.workload if isinstance(effect.workload, dict) else {}
    return RequestExecution(effect.path, digest, workload, effect.version, effect.parent)
