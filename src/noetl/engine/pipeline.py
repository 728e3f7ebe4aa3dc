"""The worker's half of the engine: from a pipeline and its cursor, what comes next; from an output, what it means.

`next_move` never changes anything. A worker carries the move out, records the facts it is given, and moves
the cursor by them, so that any other worker could go on from there.
"""

from collections.abc import Mapping

import msgspec

from noetl.engine.binding import BindingFailed, shown
from noetl.engine.calls import call_of, iteration_end, settle_call, turn_facts, turn_output
from noetl.engine.cursor import Cursor, Frame, Turn, WorkerFact, apply, frame_of, is_over
from noetl.engine.events import Child, Patch, TaskDone, TaskStarted, TaskWaiting, Values
from noetl.engine.layering import timeout_of
from noetl.engine.names import child_execution_id
from noetl.engine.output import NOTHING, Output, Status, failed
from noetl.engine.policy import match
from noetl.engine.program import Program, ReadyPipeline, ReadyTask
from noetl.engine.reference import GONE, check_whole, word_of
from noetl.engine.settling import refused, settled, told_to_fail, unrun, with_error
from noetl.engine.workerside import Given, Standing, pipeline_of, seen, task_scope, with_input, with_patch
from noetl.errors import TemplateError
from noetl.playbook.model import Directive

GIVEN_STEP_INPUT = frozenset({"python", "script"})
"""Kinds whose callee receives the step's input too; a `workbook` block does so by its call."""


class Run(msgspec.Struct, frozen=True):
    """Run a tool, not before `not_before`.

    `started` is recorded when it does, unless it `is_recorded`: then a worker was lost, and the same run is made again.
    """

    task: ReadyTask
    started: TaskStarted
    scope: dict[str, object]
    not_before: float | None = None
    is_recorded: bool = False


class Record(msgspec.Struct, frozen=True):
    """Record facts that need no tool, all of them in one report, and not before `not_before`."""

    facts: tuple[WorkerFact, ...]
    not_before: float | None = None


class Await(msgspec.Struct, frozen=True):
    """The pipeline waits for a child execution."""

    child: Child


class Finished(msgspec.Struct, frozen=True):
    """The pipeline has ended. A directive says whether well; an output with an error may be fine with its policy."""

    output: Output
    is_failed: bool = False


Move = Run | Record | Await | Finished


class Bound(msgspec.Struct, frozen=True):
    """What a tool gets: its fields, what a callee receives, and the name of a credential. `own` is the task's input."""

    fields: Values
    input: Values
    auth: str | None
    own: Values


def next_move(program: Program, cursor: Cursor, given: Given, *, now: float, draw: float) -> Move:
    standing = Standing(program, given, cursor, now, draw)
    frame = cursor.top
    if isinstance(frame, Turn):
        return Record(_turn(standing, frame))
    if frame.arrived is not None:
        own = frame.child.workload if frame.child is not None else {}
        return Record((settled(standing, frame, frame.arrived, own if isinstance(own, Mapping) else {}),))
    if frame.child is not None:
        return Await(frame.child)
    pipeline = standing.pipeline(frame)
    end = end_of(frame, pipeline)
    if end is not None:
        return _ended(standing, frame, end)
    if frame.is_running:
        return _again(standing, frame, pipeline.tasks[frame.pc])
    return _enter(standing, frame, pipeline, pipeline.tasks[frame.pc])


def settle(
    program: Program, cursor: Cursor, given: Given, output: Output, *, own: Values, now: float, draw: float
) -> TaskDone:
    """What the output of the running task means: its rules, its `set`, its directive."""
    frame = cursor.top
    assert isinstance(frame, Frame)
    return settled(Standing(program, given, cursor, now, draw), frame, output, own)


def end_of(frame: Frame, pipeline: ReadyPipeline) -> Finished | None:
    """How a frame has ended: by a directive, or past its last task."""
    if frame.end is not None:
        return Finished(frame.end, frame.is_failed)
    return Finished(frame.output or NOTHING) if frame.pc >= len(pipeline.tasks) else None


def bind(program: Program, work: Run) -> Bound | Output:
    """What the tool gets, or the output that says why it cannot be had."""
    task, scope = work.task, work.scope
    try:
        own = task.input(scope)
        inner = with_input(scope, own, program.playbook.dialect)
        fields, auth = task.fields(inner), task.auth(inner)
    except BindingFailed as failure:
        return Output(status=Status.ERROR, error=failure.error)
    if auth is not None and not isinstance(auth, str):
        message = f"`auth` must name a credential, and is {word_of(auth)}"
        return Output(status=Status.ERROR, error=program.places.refusal("input", message, f"{task.path}/auth"))
    received = inner["input"] if task.task.kind in GIVEN_STEP_INPUT else own
    assert isinstance(received, Mapping)
    if GONE in scope and (gone := _gone_in(received)) is not None:
        message = f"{gone.message}, in the `input` of the step"
        error = program.places.refusal(gone.kind, message, f"{task.path}/input", retryable=gone.retryable)
        return Output(status=Status.ERROR, error=error)
    return Bound(fields, received, auth, own)


def _gone_in(received: Values) -> TemplateError | None:
    """Why a tool cannot get what it receives without a template of its own."""
    try:
        check_whole(received)
    except TemplateError as error:
        return error
    return None


def call_child(program: Program, execution_id: str, work: Run, bound: Bound, now: float) -> TaskWaiting | Output:
    """The child execution that a `playbook` task waits for. Every run of the task has a child of its own."""
    path, version, returned = (bound.fields.get(name) for name in ("path", "version", "return_step"))
    if not isinstance(path, str) or not path:
        message = f"`path` must name a playbook, and is {shown(repr(path))}"
        return Output(status=Status.ERROR, error=program.places.refusal("input", message, f"{work.task.path}/path"))
    started = work.started
    child = Child(
        child_execution_id(execution_id, started.task_run_id),
        path,
        bound.input,
        str(version) if version is not None else None,
        str(returned) if returned is not None else None,
    )
    timeout_s = timeout_of(work.task.spec)
    due_at = now + timeout_s if timeout_s is not None else None
    return TaskWaiting(started.step_run_id, started.path, started.task_run_id, due_at, child)


def wait(started: TaskStarted, due_at: float) -> TaskWaiting:
    """A delay too long to hold a worker: the pipeline is parked until a timer ends the wait."""
    return TaskWaiting(started.step_run_id, started.path, started.task_run_id, due_at=due_at)


def kind_of(program: Program, step: str, cursor: Cursor, fact: WorkerFact) -> str:
    """The kind of the task that a fact ends; the others need none."""
    if not isinstance(fact, TaskDone):
        return ""
    frame = frame_of(cursor, fact)
    assert frame is not None
    return pipeline_of(program, frame, step).tasks[frame.pc].task.kind


def _turn(standing: Standing, turn: Turn) -> tuple[WorkerFact, ...]:
    """A looped block between two iterations: the next one starts, or this loop of the block is over."""
    if not is_over(turn):
        return turn_facts(standing, turn)
    output = turn_output(turn)
    if turn.level > 0:
        return (iteration_end(standing, turn.call, output, is_failed=turn.failure is not None),)
    return (settle_call(standing, output),)


def _ended(standing: Standing, frame: Frame, end: Finished) -> Move:
    """A frame has ended: the whole pipeline, one iteration of a looped block, or a call."""
    if not frame.call:
        return end
    if isinstance(standing.cursor.frames[-2], Turn):
        return Record((iteration_end(standing, frame.call, end.output, is_failed=end.is_failed),))
    return Record((settle_call(standing, _of_call(end)),))


def _of_call(end: Finished) -> Output:
    """A block that ended well is no error to its caller, whatever its last task met with."""
    if end.is_failed or end.output.status is Status.OK:
        return end.output
    return msgspec.structs.replace(end.output, status=Status.OK, error=None)


def _again(standing: Standing, frame: Frame, task: ReadyTask) -> Move:
    """A run was started and no end of it is known: its worker was lost."""
    if task.task.kind == "workbook":
        message = "the worker was lost before the call of the block was recorded"
        return Record((settled(standing, frame, failed("crash", message, retryable=True), {}),))
    number = frame.runs[task.task.name]
    started = _started(standing, frame, task, frame.attempt, number, frame.visit)
    return Run(task, started, task_scope(standing, frame, task, frame.attempt), is_recorded=True)


def _enter(standing: Standing, frame: Frame, pipeline: ReadyPipeline, task: ReadyTask) -> Move:
    """The current task: its `before` rules on entry, then its run."""
    spent = standing.cursor.task_runs
    if spent >= pipeline.task_runs_max:
        message = f"the pipeline has run {spent} tasks, which is its `limits.task_runs_max`"
        return Record((refused(standing, frame, task, failed("budget_exceeded", message)),))
    scope = task_scope(standing, frame, task, frame.attempt + 1)
    if frame.attempt > 0 or not task.before:
        return _run(standing, frame, task, scope, _Before())
    decided = _before(standing, frame, task, scope)
    if isinstance(decided, TaskDone):
        return Record((decided,))
    return _run(standing, frame, task, with_patch(scope, decided.patch), decided)


class _Before(msgspec.Struct, frozen=True):
    """What a `before` rule wrote where the tool is to run."""

    patch: Patch = Patch()
    rule: int | None = None


def _before(standing: Standing, frame: Frame, task: ReadyTask, scope: dict[str, object]) -> TaskDone | _Before:
    if frame.output is not None:
        scope = scope | seen(frame.output, frame.output_kind, standing.program.playbook.dialect)
    try:
        rule = match(task.before, scope)
        patch = rule.set(scope) if rule is not None else Patch()
    except BindingFailed as failure:
        return refused(standing, frame, task, with_error(NOTHING, failure.error))
    if rule is None:
        return _Before()
    directive = rule.then.do
    if directive is Directive.CONTINUE:
        return _Before(patch, rule.position)
    output = with_error(NOTHING, told_to_fail(standing, task, rule)) if directive is Directive.FAIL else NOTHING
    return unrun(standing, frame, task, output, directive, rule, patch)


def _run(standing: Standing, frame: Frame, task: ReadyTask, scope: dict[str, object], before: _Before) -> Move:
    attempt = frame.attempt + 1
    number = frame.runs.get(task.task.name, 0) + 1
    started = _started(standing, frame, task, attempt, number, number if attempt == 1 else frame.visit)
    started = msgspec.structs.replace(started, patch=before.patch, rule=before.rule)
    if task.task.kind != "workbook":
        return Run(task, started, scope, frame.not_before)
    call = call_of(standing, task, scope)
    if isinstance(call, Output):
        return Record((started, _uncalled(standing, started, call)), frame.not_before)
    return Record((msgspec.structs.replace(started, call=call),), frame.not_before)


def _uncalled(standing: Standing, started: TaskStarted, output: Output) -> TaskDone:
    """A block that could not be called: an output like any other."""
    moved = apply(standing.cursor, started, standing.program.playbook.dialect, "")
    frame = moved.top
    assert isinstance(frame, Frame)
    return settled(msgspec.structs.replace(standing, cursor=moved), frame, output, {})


def _started(standing: Standing, frame: Frame, task: ReadyTask, attempt: int, number: int, visit: int) -> TaskStarted:
    given = standing.given
    return TaskStarted(
        given.step_run_id,
        given.path,
        standing.run_id(frame, task, number),
        task.task.name,
        attempt,
        standing.run_id(frame, task, visit),
    )
