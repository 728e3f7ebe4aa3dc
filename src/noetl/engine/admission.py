"""Tokens at a step's door: let in, turned away, or kept waiting."""

from collections.abc import Sequence

from noetl.engine.binding import BindingFailed, Scope
from noetl.engine.ending import stopped
from noetl.engine.events import Fact, StepScheduled, StepSkipped, Token
from noetl.engine.program import Program, ReadyStep
from noetl.engine.serverside import entering
from noetl.engine.view import StateView
from noetl.playbook.model import Join, OnDeny


def arrive(program: Program, state: StateView, token: Token, now: float) -> list[Fact]:
    """One token at a door. At a join it waits for the others."""
    ready = program.steps[token.step]
    if ready.step.join is Join.ALL:
        return []
    return admit(program, state, ready, [token], now)


def admit(program: Program, state: StateView, ready: ReadyStep, tokens: Sequence[Token], now: float) -> list[Fact]:
    """Schedule the step for these tokens, or turn them away; nothing at all where they are to wait."""
    given = _given(ready, tokens)
    scope = entering(program, state, given, tokens[-1].trigger)
    try:
        is_admitted, rule = _verdict(ready, scope)
        if not is_admitted:
            waits = ready.step.admit is not None and ready.step.admit.on_deny is OnDeny.WAIT
            return [] if waits else [StepSkipped(ready.step.name, tuple(tokens), rule=rule)]
        bound = ready.input(scope)
    except BindingFailed as failure:
        return stopped(state, failure.error)
    step = ready.step
    return [
        StepScheduled(
            f"{step.name}#{state.counts.get(step.name, 0) + 1}",
            step.name,
            {**given, **bound},
            tuple(tokens),
            step.timeout_s,
            now + step.deadline_s if step.deadline_s is not None else None,
        )
    ]


def _verdict(ready: ReadyStep, scope: Scope) -> tuple[bool, int | None]:
    """Whether tokens may enter and which rule says so: the first whose `when` is true. No match denies."""
    if ready.admit is None:
        return True, None
    return next(((allow, rule) for rule, (test, allow) in enumerate(ready.admit) if test(scope)), (False, None))


def _given(ready: ReadyStep, tokens: Sequence[Token]) -> dict[str, object]:
    given: dict[str, object] = {}
    for token in tokens:
        given |= token.args
    if ready.step.join is Join.ALL:
        given["joined"] = [
            {"step": token.trigger.step, "step_run_id": token.trigger.step_run_id, "event": token.trigger.name}
            for token in tokens
        ]
    return given
