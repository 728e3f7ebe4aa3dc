"""The worker's half of the engine: from a pipeline and its cursor, what comes next; from an output, what it means.

`next_move` never changes anything. A worker carries the move out, records the facts it is given, and moves
the cursor by them, so that any other worker could go on from there.
"""

from collections.abc import Mapping
from typing import assert_never

import msgspec

from noetl.engine.binding import BindingFailed, Scope
from noetl.engine.cursor import Cursor, Frame, Turn, WorkerFact, frame_of, scratch_of
from noetl.engine.events import (
    BlockLoop,
    Call,
    Child,
    IterationDone,
    IterationFailed,
    IterationStarted,
    Patch,
    Path,
    TaskDone,
    TaskStarted,
    Values,
)
from noetl.engine.names import entity_id
from noetl.engine.output import NOTHING, Error, Loop, Output, Status, failed, view
from noetl.engine.policy import ReadyRule, delay_s, is_spent, match
from noetl.engine.program import Program, ReadyLevel, ReadyPipeline, ReadyTask
from noetl.engine.scopes import chained, overlaid, patched
from noetl.playbook.model import Dialect, Directive, OnUnmatched, Then


class Given(msgspec.Struct, frozen=True):
    """What the claim brought: everything the pipeline may read besides what it makes itself."""

    execution_id: str
    step: str
    step_run_id: str
    path: Path = ()
    workload: Values = {}
    ctx: Values = {}
    input: Values = {}
    iter: Values | None = None
    outputs: Mapping[str, object] = {}


class Run(msgspec.Struct, frozen=True):
    """Run a tool, not before `not_before`. `started` is recorded when it does."""

    task: ReadyTask
    started: TaskStarted
    scope: Scope
    not_before: float | None = None


class Record(msgspec.Struct, frozen=True):
    """Record a fact that needs no tool."""

    fact: WorkerFact


class Await(msgspec.Struct, frozen=True):
    """The pipeline waits for a child execution."""

    child: Child


class Finished(msgspec.Struct, frozen=True):
    """The pipeline has ended; well, where the output is ok."""

    output: Output


Move = Run | Record | Await | Finished


def next_move(program: Program, cursor: Cursor, given: Given, *, now: float, draw: float) -> Move:
    frame = cursor.top
    if isinstance(frame, Turn):
        return Record(_turn(program, cursor, frame, given, now, draw))
    if frame.end is not None:
        return _ended(program, cursor, frame, frame.end, given, now, draw)
    if frame.child is not None:
        return Await(frame.child)
    pipeline = _pipeline(program, frame, given)
    if frame.pc >= len(pipeline.tasks):
        return _ended(program, cursor, frame, frame.output or NOTHING, given, now, draw)
    if frame.arrived is not None:
        return Record(settle(program, cursor, given, frame.arrived, now=now, draw=draw))
    return _enter(program, cursor, frame, pipeline, given)


def settle(program: Program, cursor: Cursor, given: Given, output: Output, *, now: float, draw: float) -> TaskDone:
    """What an output of the current task means: its rules, its `set`, its directive."""
    frame = _caller(cursor) if cursor.top.call and _is_over(cursor.top) else cursor.top
    assert isinstance(frame, Frame)
    task = _pipeline(program, frame, given).tasks[frame.pc]
    scope = _scope(program, cursor, frame, given, task, frame.attempt) | _seen(
        output, task.task.kind, program.playbook.dialect
    )
    return _Settling(program, given, frame, task, output, scope, now, draw).fact()


class _Settling(msgspec.Struct, frozen=True):
    """One output on its way to a fact."""

    program: Program
    given: Given
    frame: Frame
    task: ReadyTask
    output: Output
    scope: dict[str, object]
    now: float
    draw: float

    def fact(self) -> TaskDone:
        try:
            rule = match(self.task.rules, self.scope) if self.task.rules is not None else None
        except BindingFailed as failure:
            return self.ended(Directive.FAIL, _failure(failure.error, self.output), None, Patch())
        then = rule.then if rule is not None else Then(self.default())
        return self.carry_out(then, rule)

    def default(self) -> Directive:
        """What holds when no rule matched: without a policy an error fails; with one, `on_unmatched` decides."""
        if self.task.rules is None:
            return Directive.FAIL if self.output.status is Status.ERROR else Directive.CONTINUE
        return Directive.FAIL if self.task.on_unmatched is OnUnmatched.FAIL else Directive.CONTINUE

    def carry_out(self, then: Then, rule: ReadyRule | None) -> TaskDone:
        directive = Directive.FAIL if is_spent(then, self.frame.attempt) else then.do
        try:
            patch = self.patch(directive, rule)
            due_at = self.due_at(then, rule) if directive is Directive.RETRY else None
        except BindingFailed as failure:
            return self.ended(Directive.FAIL, _failure(failure.error, self.output), rule, Patch())
        output = self.output
        if directive is Directive.FAIL and output.status is Status.OK:
            output = _failure(_told_to_fail(self.task, rule), output)
        return self.ended(directive, output, rule, patch, due_at)

    def patch(self, directive: Directive, rule: ReadyRule | None) -> Patch:
        own = Patch() if directive in (Directive.RETRY, Directive.FAIL) else self.task.set(self.scope)
        if rule is None:
            return own
        return _both(own, rule.set(_with(self.scope, own)))

    def due_at(self, then: Then, rule: ReadyRule | None) -> float | None:
        base = rule.delay(self.scope) if rule is not None else then.delay
        if isinstance(base, bool) or not isinstance(base, int | float) or not base >= 0:
            message = f"`delay` of task {self.task.task.name} must be a number of seconds, not {base!r}"
            raise BindingFailed(Error("template", message))
        wait = delay_s(then, float(base), self.frame.attempt, self.draw)
        return self.now + wait if wait > 0 else None

    def ended(
        self, directive: Directive, output: Output, rule: ReadyRule | None, patch: Patch, due_at: float | None = None
    ) -> TaskDone:
        target = rule.then.to if rule is not None else None
        return TaskDone(
            step_run_id=self.given.step_run_id,
            path=self.given.path,
            task_run_id=_run_id(self.frame, self.given, self.task, self.frame.runs.get(self.task.task.name, 0)),
            task=self.task.task.name,
            attempt=self.frame.attempt,
            output=output,
            directive=directive,
            next=_next(_pipeline(self.program, self.frame, self.given), self.task, directive, target),
            patch=patch,
            due_at=due_at,
            rule=rule.position if rule is not None else None,
        )


def _turn(program: Program, cursor: Cursor, turn: Turn, given: Given, now: float, draw: float) -> WorkerFact:
    """A looped block between two iterations: the next one starts, or the call is over."""
    if _is_over(turn):
        return settle(program, cursor, given, _turn_output(turn), now=now, draw=draw)
    levels = _block_levels(program, turn.block)
    if turn.level + 1 == len(levels):
        return IterationStarted(given.step_run_id, given.path, turn.call)
    level = levels[turn.level + 1]
    words = _words(program, cursor, given, turn.step, scratch_of(turn), turn.input)
    try:
        items = level.items(chained(words, given.outputs))
        loop = BlockLoop(level.loop.iterator, as_items(items))
    except BindingFailed as failure:
        return IterationFailed(given.step_run_id, given.path, _failure(failure.error, NOTHING), turn.call)
    return IterationStarted(given.step_run_id, given.path, turn.call, loop)


def as_items(items: object) -> list[object]:
    """A loop's collection, or the failure that says what it is instead."""
    if isinstance(items, list | tuple):
        return list(items)
    raise BindingFailed(Error("loop_collection", f"`loop.in` must give a list, not {type(items).__name__}"))


def _turn_output(turn: Turn) -> Output:
    total, ended = len(turn.loop.items), turn.index
    wrong = 0 if turn.failure is None else 1
    counts = Loop(total, ended - wrong, wrong, total - ended)
    if turn.failure is not None:
        return msgspec.structs.replace(turn.failure, loop=counts)
    return Output(data=list(turn.data), loop=counts)


def _is_over(frame: Frame | Turn) -> bool:
    if isinstance(frame, Turn):
        return frame.failure is not None or frame.index >= len(frame.loop.items)
    return True


def _ended(
    program: Program, cursor: Cursor, frame: Frame, output: Output, given: Given, now: float, draw: float
) -> Move:
    """A frame has ended: the whole pipeline, one turn of a looped block, or a call."""
    if not frame.call:
        return Finished(output)
    if isinstance(cursor.frames[-2], Turn):
        if output.status is Status.ERROR:
            return Record(IterationFailed(given.step_run_id, given.path, output, frame.call))
        return Record(IterationDone(given.step_run_id, given.path, output, call=frame.call))
    return Record(settle(program, cursor, given, output, now=now, draw=draw))


def _enter(program: Program, cursor: Cursor, frame: Frame, pipeline: ReadyPipeline, given: Given) -> Move:
    """The current task: its `before` rules on entry, then its run."""
    task = pipeline.tasks[frame.pc]
    if cursor.task_runs >= pipeline.task_runs_max:
        message = f"the pipeline has run {cursor.task_runs} tasks, which is its `limits.task_runs_max`"
        return Record(_refused(frame, given, task, failed("budget_exceeded", message)))
    scope = _scope(program, cursor, frame, given, task, frame.attempt + 1)
    if frame.attempt > 0 or not task.before:
        return _run(program, frame, given, task, scope, Patch())
    decided = _before(program, frame, given, pipeline, task, scope)
    if isinstance(decided, TaskDone):
        return Record(decided)
    return _run(program, frame, given, task, _with(scope, decided), decided)


def _before(
    program: Program, frame: Frame, given: Given, pipeline: ReadyPipeline, task: ReadyTask, scope: dict[str, object]
) -> TaskDone | Patch:
    """What the `before` rules decide; where the tool is to run, what they wrote."""
    if frame.output is not None:
        scope = scope | _seen(frame.output, frame.output_kind, program.playbook.dialect)
    try:
        rule = match(task.before, scope)
        patch = rule.set(scope) if rule is not None else Patch()
    except BindingFailed as failure:
        return _refused(frame, given, task, _failure(failure.error, NOTHING))
    if rule is None or rule.then.do is Directive.CONTINUE:
        return patch
    return _decided(frame, given, pipeline, task, rule, patch)


def _decided(
    frame: Frame, given: Given, pipeline: ReadyPipeline, task: ReadyTask, rule: ReadyRule, patch: Patch
) -> TaskDone:
    directive = rule.then.do
    output = _failure(_told_to_fail(task, rule), NOTHING) if directive is Directive.FAIL else NOTHING
    return TaskDone(
        step_run_id=given.step_run_id,
        path=given.path,
        task_run_id=_run_id(frame, given, task, frame.runs.get(task.task.name, 0) + 1),
        task=task.task.name,
        attempt=0,
        output=output,
        directive=directive,
        next=_next(pipeline, task, directive, rule.then.to),
        patch=patch,
        ran=False,
        rule=rule.position,
    )


def _run(program: Program, frame: Frame, given: Given, task: ReadyTask, scope: dict[str, object], patch: Patch) -> Move:
    attempt = frame.attempt + 1
    number = frame.runs.get(task.task.name, 0) + 1
    visit = number if attempt == 1 else frame.visit
    try:
        call = _call(program, task, scope) if task.task.kind == "workbook" else None
    except BindingFailed as failure:
        return Record(_refused(frame, given, task, failed(failure.error.kind, failure.error.message)))
    started = TaskStarted(
        given.step_run_id,
        given.path,
        _run_id(frame, given, task, number),
        task.task.name,
        attempt,
        _run_id(frame, given, task, visit),
        call,
        patch,
    )
    if call is not None:
        return Record(started)
    return Run(task, started, scope, frame.not_before)


def bind(task: ReadyTask, scope: Scope) -> tuple[dict[str, object], dict[str, object]] | Output:
    """The tool's fields and the callee's input, or the output that says why they cannot be had."""
    try:
        fields, given = task.fields(scope), task.input(scope)
    except BindingFailed as failure:
        return Output(status=Status.ERROR, error=failure.error)
    assert isinstance(fields, dict)
    assert isinstance(given, dict)
    return fields, given


def _call(program: Program, task: ReadyTask, scope: Scope) -> Call:
    name = str(task.task.fields.get("task", ""))
    block = program.block(name)
    if block is None:
        raise BindingFailed(Error("input", f"there is no workbook block `{name}`"))
    outer = scope["input"]
    bound, defaults = task.input(scope), block.input(scope)
    assert isinstance(bound, dict)
    assert isinstance(defaults, dict)
    given = defaults | (outer if isinstance(outer, dict) else {}) | bound
    if not block.levels:
        return Call(name, given)
    level = block.levels[0]
    loop = BlockLoop(level.loop.iterator, as_items(level.items({**scope, "input": given})))
    parent = scope.get("iter")
    return Call(name, given, loop, parent if isinstance(parent, dict) else None)


def _refused(frame: Frame, given: Given, task: ReadyTask, output: Output) -> TaskDone:
    """A task that could not run at all."""
    return TaskDone(
        step_run_id=given.step_run_id,
        path=given.path,
        task_run_id=_run_id(frame, given, task, frame.runs.get(task.task.name, 0) + 1),
        task=task.task.name,
        attempt=frame.attempt,
        output=output,
        directive=Directive.FAIL,
        next=None,
        ran=False,
    )


def kind_of(program: Program, step: str, cursor: Cursor, fact: WorkerFact) -> str:
    """The kind of the task that a fact ends; the others need none."""
    if not isinstance(fact, TaskDone):
        return ""
    frame = frame_of(cursor, fact)
    assert frame is not None
    pipeline = program.block_pipeline(frame.block, step) if frame.block else program.pipeline(step)
    return pipeline.tasks[frame.pc].task.kind


def _next(pipeline: ReadyPipeline, task: ReadyTask, directive: Directive, target: str | None) -> int | None:
    match directive:
        case Directive.CONTINUE | Directive.SKIP:
            return task.index + 1
        case Directive.RETRY:
            return task.index
        case Directive.JUMP:
            return pipeline.positions[target or ""]
        case Directive.BREAK | Directive.FAIL:
            return None
        case _:
            assert_never(directive)


def _pipeline(program: Program, frame: Frame, given: Given) -> ReadyPipeline:
    return program.block_pipeline(frame.block, given.step) if frame.block else program.pipeline(given.step)


def _block_levels(program: Program, name: str) -> tuple[ReadyLevel, ...]:
    block = program.block(name)
    assert block is not None
    return block.levels


def _caller(cursor: Cursor) -> Frame:
    """The frame whose task called the block on top."""
    call = cursor.top.call
    frame = next(each for each in reversed(cursor.frames) if each.call != call)
    assert isinstance(frame, Frame)
    return frame


def _scope(
    program: Program, cursor: Cursor, frame: Frame, given: Given, task: ReadyTask, attempt: int
) -> dict[str, object]:
    own = frame.input if frame.block else given.input
    scratch = _scratch(frame, given)
    words = _words(program, cursor, given, frame.step, scratch, own)
    words |= {"_prev": frame.prev, "_task": task.task.name, "_attempt": attempt}
    return {**given.workload, **(scratch or {}), **given.outputs, **frame.outputs, **words}


def _scratch(frame: Frame, given: Given) -> Values | None:
    """`iter` as it is now: what the iteration began with and what was written since."""
    base = frame.base if frame.call else given.iter
    return patched(base, frame.iter) if base is not None and frame.iter else base


def _words(
    program: Program, cursor: Cursor, given: Given, step: Values, scratch: Values | None, own: Values
) -> dict[str, object]:
    words: dict[str, object] = {
        "workload": given.workload,
        "ctx": patched(given.ctx, cursor.ctx) if cursor.ctx else given.ctx,
        "step": step,
        "input": own,
        "execution_id": given.execution_id,
    }
    if program.playbook.dialect is Dialect.V10:
        words["args"] = own
    if scratch is not None:
        words["iter"] = scratch
    return words


def _seen(output: Output, kind: str, dialect: Dialect) -> dict[str, object]:
    seen = view(output, kind, dialect)
    return {"output": seen, "outcome": seen} if dialect is Dialect.V10 else {"output": seen}


def _with(scope: dict[str, object], patch: Patch) -> dict[str, object]:
    """The scope as the rule's own `set` sees it, after the task's."""
    changed = dict(scope)
    for name, own in (("ctx", patch.ctx), ("step", patch.step), ("iter", patch.iter)):
        before = changed.get(name)
        if own and isinstance(before, Mapping):
            changed[name] = patched(before, own)
    return changed


def _both(first: Patch, second: Patch) -> Patch:
    return Patch(overlaid(first.ctx, second.ctx), overlaid(first.step, second.step), overlaid(first.iter, second.iter))


def _failure(error: Error, output: Output) -> Output:
    return msgspec.structs.replace(output, status=Status.ERROR, error=error)


def _told_to_fail(task: ReadyTask, rule: ReadyRule | None) -> Error:
    place = f"rule {rule.position + 1}" if rule is not None else "its policy"
    return Error("failed", f"task `{task.task.name}` ended with `do: fail` by {place}")


def _run_id(frame: Frame, given: Given, task: ReadyTask, number: int) -> str:
    return f"{frame.call or entity_id(given.step_run_id, given.path)}.{task.task.name}/{number}"
