"""From an output to a fact: the rules of the task, its `set`, its directive."""

from typing import assert_never

import msgspec

from noetl.engine.binding import BindingFailed, Scope, shown
from noetl.engine.cursor import Frame
from noetl.engine.events import Patch, TaskDone, Values
from noetl.engine.output import Error, Output, Status
from noetl.engine.policy import ReadyRule, delay_s, is_spent, match
from noetl.engine.program import ReadyPipeline, ReadyTask
from noetl.engine.scopes import overlaid
from noetl.engine.workerside import Standing, seen, task_scope, with_input, with_patch
from noetl.playbook.model import Directive, OnUnmatched
from noetl.playbook.sugar import is_counter


def settled(standing: Standing, frame: Frame, output: Output, own: Values) -> TaskDone:
    """What the output of a frame's current task means. `own` is the task's own input, as it was bound."""
    task = standing.pipeline(frame).tasks[frame.pc]
    number = frame.runs[task.task.name]
    meta = msgspec.structs.replace(output.meta, attempt=frame.attempt, task_run_id=standing.run_id(frame, task, number))
    output = msgspec.structs.replace(output, meta=meta, blocks=_blocks(task, output))
    dialect = standing.program.playbook.dialect
    scope = with_input(task_scope(standing, frame, task, frame.attempt), own, dialect)
    output = _selected(task, output, scope | seen(output, task.task.kind, dialect))
    return _Settling(standing, frame, task, output, scope | seen(output, task.task.kind, dialect)).fact()


def _blocks(task: ReadyTask, output: Output) -> Values:
    """A rule may ask for the blocks of the kind whatever happened, though the tool may not have run at all."""
    return output.blocks if task.blocks.keys() <= output.blocks.keys() else {**task.blocks, **output.blocks}


def _selected(task: ReadyTask, output: Output, scope: Scope) -> Output:
    """The output with what is lifted out of its data. A `noop` has none, and what failed need not hold what it should.

    What a block that was called had lifted is there still.
    """
    if task.select is None or output.status is Status.ERROR or task.task.kind == "noop":
        return output
    try:
        return msgspec.structs.replace(output, selected={**output.selected, **task.select(scope)})
    except BindingFailed as failure:
        return with_error(output, failure.error)


class _Settling(msgspec.Struct, frozen=True):
    """One output on its way to a fact."""

    standing: Standing
    frame: Frame
    task: ReadyTask
    output: Output
    scope: dict[str, object]

    def fact(self) -> TaskDone:
        try:
            rule = match(self.task.rules, self.scope) if self.task.rules is not None else None
            directive = self.directive(rule)
            patch = self.patch(directive, rule)
            due_at = self.due_at(rule) if rule is not None and directive is Directive.RETRY else None
        except BindingFailed as failure:
            return self.ended(Directive.FAIL, with_error(self.output, failure.error), None, Patch(), None)
        output = self.output
        if directive is Directive.FAIL and output.status is Status.OK:
            output = with_error(output, self.reason(rule))
        return self.ended(directive, output, rule, patch, due_at)

    def directive(self, rule: ReadyRule | None) -> Directive:
        """What the rule says. Where none matched, an error fails if there is no policy, else `on_unmatched` decides."""
        if rule is not None:
            return Directive.FAIL if is_spent(rule.then, self.frame.attempt) else rule.then.do
        if self.task.rules is None:
            return Directive.FAIL if self.output.status is Status.ERROR else Directive.CONTINUE
        return Directive.FAIL if self.task.on_unmatched is OnUnmatched.FAIL else Directive.CONTINUE

    def patch(self, directive: Directive, rule: ReadyRule | None) -> Patch:
        own = Patch() if directive in (Directive.RETRY, Directive.FAIL) else self.task.set(self.scope)
        if rule is None:
            return own
        return _both(own, rule.set(with_patch(self.scope, own)))

    def due_at(self, rule: ReadyRule) -> float | None:
        base = rule.delay(self.scope)
        if isinstance(base, bool) or not isinstance(base, int | float) or not base >= 0:
            message = f"`delay` must be a number of seconds, not {shown(repr(base))}"
            places = self.standing.program.places
            raise BindingFailed(places.refusal("template", message, f"{rule.path}/delay"))
        wait = delay_s(rule.then, float(base), self.frame.attempt, self.standing.draw)
        return self.standing.now + wait if wait > 0 else None

    def reason(self, rule: ReadyRule | None) -> Error:
        if rule is not None and rule.then.do is Directive.RETRY:
            message = f"task `{self.task.task.name}` used up its {rule.then.attempts} attempts"
            return self.standing.program.places.refusal("failed", message, rule.path)
        return told_to_fail(self.standing, self.task, rule)

    def ended(
        self, directive: Directive, output: Output, rule: ReadyRule | None, patch: Patch, due_at: float | None
    ) -> TaskDone:
        return TaskDone(
            step_run_id=self.standing.given.step_run_id,
            path=self.standing.given.path,
            task_run_id=output.meta.task_run_id or "",
            task=self.task.task.name,
            attempt=self.frame.attempt,
            output=output,
            directive=directive,
            next=next_index(self.standing.pipeline(self.frame), self.task, directive, rule),
            patch=patch,
            due_at=due_at,
            rule=rule.position if rule is not None else None,
        )


def refused(standing: Standing, frame: Frame, task: ReadyTask, output: Output) -> TaskDone:
    """A task that cannot run at all ends its pipeline."""
    return unrun(standing, frame, task, output, Directive.FAIL)


def unrun(
    standing: Standing,
    frame: Frame,
    task: ReadyTask,
    output: Output,
    directive: Directive,
    rule: ReadyRule | None = None,
    patch: Patch | None = None,
) -> TaskDone:
    """A visit that ends without a run of the tool: by a `before` rule, or because it may not run."""
    return TaskDone(
        step_run_id=standing.given.step_run_id,
        path=standing.given.path,
        task_run_id=standing.run_id(frame, task, frame.runs.get(task.task.name, 0) + 1),
        task=task.task.name,
        attempt=frame.attempt,
        output=output,
        directive=directive,
        next=next_index(standing.pipeline(frame), task, directive, rule),
        patch=patch or Patch(),
        ran=False,
        rule=rule.position if rule is not None else None,
    )


def next_index(pipeline: ReadyPipeline, task: ReadyTask, directive: Directive, rule: ReadyRule | None) -> int | None:
    """The task to go on with; one past the last where the pipeline is done, None where a directive ends it."""
    match directive:
        case Directive.CONTINUE | Directive.SKIP:
            return task.index + 1
        case Directive.RETRY:
            return task.index
        case Directive.JUMP:
            return pipeline.positions[rule.then.to or ""] if rule is not None else None
        case Directive.BREAK | Directive.FAIL:
            return None
        case _:
            assert_never(directive)


def with_error(output: Output, error: Error) -> Output:
    return msgspec.structs.replace(output, status=Status.ERROR, error=error)


def told_to_fail(standing: Standing, task: ReadyTask, rule: ReadyRule | None) -> Error:
    """Why a task that had no error of its own ended badly."""
    path = rule.path if rule is not None else task.path
    desc = task.task.desc or ""
    message = (
        desc if is_counter(task.task) else f"task `{task.task.name}` was told to fail{f': {desc}' if desc else ''}"
    )
    return standing.program.places.refusal("failed", message, path)


def _both(first: Patch, second: Patch) -> Patch:
    return Patch(overlaid(first.ctx, second.ctx), overlaid(first.step, second.step), overlaid(first.iter, second.iter))
