"""After a step run: its `set`, its arcs in order, the tokens they send."""

from collections.abc import Iterator, Sequence

import msgspec

from noetl.engine.binding import BindingFailed, Scope
from noetl.engine.blame import unrouted
from noetl.engine.ending import stopped
from noetl.engine.events import CtxPatched, Fact, NextEvaluated, PatchOrigin, Token, Trigger, Values
from noetl.engine.output import Error
from noetl.engine.program import Program, ReadyArc, ReadyStep
from noetl.engine.scopes import patched
from noetl.engine.serverside import leaving
from noetl.engine.view import RunView, StateView
from noetl.playbook.model import RouteMode


def route(program: Program, state: StateView, run: RunView) -> list[Fact]:
    assert run.boundary is not None
    ready = program.steps[run.step]
    truths: list[bool | None] = []
    published: list[Fact] = []
    try:
        published, ctx, step = _publish(program, state, run, ready)
        scope = leaving(program, state, run, ctx, step)
        for index, arc in enumerate(ready.arcs):
            truths.append(_truth(ready, arc, run.boundary, truths, scope, index))
        tokens = [_token(arc, run, run.boundary, scope) for arc in _fired(ready, truths)]
    except BindingFailed as failure:
        truths += [None] * (len(ready.arcs) - len(truths))
        evaluated = NextEvaluated(run.id, run.step, run.boundary, tuple(truths), (), failure.error)
        return [*published, evaluated, *stopped(state, failure.error)]
    evaluated = NextEvaluated(run.id, run.step, run.boundary, tuple(truths), tuple(tokens))
    if run.boundary.name == "step.failed" and not tokens:
        return [*published, evaluated, *stopped(state, _unrouted(run, run.boundary), run.output)]
    return [*published, evaluated, *_arc_sets(program, state, run, ready, truths, ctx, step)]


def _publish(program: Program, state: StateView, run: RunView, ready: ReadyStep) -> tuple[list[Fact], Values, Values]:
    """The step's own `set`, after success only."""
    ctx, step = state.ctx, run.step_scope
    assert run.boundary is not None
    if run.boundary.name == "step.failed" or not ready.step.set:
        return [], ctx, step
    patch = ready.set(leaving(program, state, run, ctx, step))
    facts: list[Fact] = []
    if patch.ctx:
        facts.append(CtxPatched(patch.ctx, PatchOrigin(f"{ready.path}/set", run.id)))
    return facts, patched(ctx, patch.ctx), patched(step, patch.step)


def _truth(
    ready: ReadyStep, arc: ReadyArc, trigger: Trigger, before: Sequence[bool | None], scope: Scope, index: int
) -> bool | None:
    """Whether an arc is taken; in exclusive mode those after the first one taken are not evaluated."""
    if ready.step.next.mode is RouteMode.EXCLUSIVE and True in before:
        return None
    if arc.arc.when is None:
        return trigger.name != "step.failed"
    try:
        return arc.when(scope)
    except BindingFailed as failure:
        message = f"arc {index + 1} of step `{ready.step.name}`, to `{arc.arc.step}`: {failure.error.message}"
        raise BindingFailed(msgspec.structs.replace(failure.error, message=message)) from failure


def _fired(ready: ReadyStep, truths: Sequence[bool | None]) -> Iterator[ReadyArc]:
    return (arc for arc, truth in zip(ready.arcs, truths, strict=True) if truth)


def _token(arc: ReadyArc, run: RunView, trigger: Trigger, scope: Scope) -> Token:
    args = arc.args(scope)
    return Token(arc.arc.step, trigger, {**run.args, **args} if args or run.args else {})


def _arc_sets(
    program: Program,
    state: StateView,
    run: RunView,
    ready: ReadyStep,
    truths: Sequence[bool | None],
    ctx: Values,
    step: Values,
) -> list[Fact]:
    facts: list[Fact] = []
    for index, (arc, truth) in enumerate(zip(ready.arcs, truths, strict=True)):
        if not truth or not arc.arc.set:
            continue
        try:
            patch = arc.set(leaving(program, state, run, ctx, step))
        except BindingFailed as failure:
            return [*facts, *stopped(state, failure.error)]
        ctx, step = patched(ctx, patch.ctx), patched(step, patch.step)
        if patch.ctx:
            facts.append(CtxPatched(patch.ctx, PatchOrigin(f"{ready.path}/next/{index}/set", run.id)))
    return facts


def _unrouted(run: RunView, trigger: Trigger) -> Error:
    cause = trigger.error or Error("failed", "the step failed")
    message = f"{unrouted(run.step)}{cause.message}"
    return Error(cause.kind, message, cause.retryable, {**cause.named, "step_run_id": run.id})
