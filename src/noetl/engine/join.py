"""`join: all`: tokens wait until no other live token can still come, then the step runs once."""

from collections.abc import Sequence

from noetl.engine.admission import admit
from noetl.engine.ending import completed, stopped
from noetl.engine.events import Fact, Token
from noetl.engine.output import Error
from noetl.engine.program import Program
from noetl.engine.view import StateView
from noetl.playbook.model import Join


def settle_tokens(program: Program, state: StateView, now: float) -> list[Fact]:
    """What follows when nothing else is open: a join fires, a waiting token gets in, or the execution ends."""
    if state.runs and not state.waiting:
        return []
    for name, tokens in _at_doors(state).items():
        facts = _try_door(program, state, name, tokens, now)
        if facts:
            return facts
    if state.runs:
        return []
    return _quiet(program, state, now)


def _try_door(program: Program, state: StateView, name: str, tokens: Sequence[Token], now: float) -> list[Fact]:
    """At a join all tokens go in together once no other can come; elsewhere each one that is admitted by now."""
    ready = program.steps[name]
    if ready.step.join is Join.ALL:
        return [] if _may_still_come(program, state, name) else admit(program, state, ready, tokens, now)
    tries = (admit(program, state, ready, [token], now) for token in tokens)
    return next((facts for facts in tries if facts), [])


def _quiet(program: Program, state: StateView, now: float) -> list[Fact]:
    """No step runs. Where all tokens wait at joins, the earliest one fires; where none is left, it is done."""
    if not state.waiting:
        return completed(state)
    for name, tokens in _at_doors(state).items():
        if program.steps[name].step.join is Join.ALL:
            facts = admit(program, state, program.steps[name], tokens, now)
            if facts:
                return facts
    steps = ", ".join(f"`{name}`" for name in _at_doors(state))
    message = f"only tokens that are not admitted are left, at {steps}; nothing can change ctx any more"
    return stopped(state, Error("admission_deadlock", message))


def _at_doors(state: StateView) -> dict[str, list[Token]]:
    doors: dict[str, list[Token]] = {}
    for token in state.waiting:
        doors.setdefault(token.step, []).append(token)
    return doors


def _may_still_come(program: Program, state: StateView, join: str) -> bool:
    """Whether a live token that does not wait here already can reach the join."""
    elsewhere = {run.step for run in state.runs.values()}
    elsewhere |= {token.step for token in state.waiting if token.step != join}
    return any(join in program.reach[step] for step in elsewhere)
