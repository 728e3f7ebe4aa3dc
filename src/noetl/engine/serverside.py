"""What templates on the server see."""

import msgspec

from noetl.engine.binding import Scope
from noetl.engine.events import Trigger, Values
from noetl.engine.output import view
from noetl.engine.program import Program
from noetl.engine.scopes import chained
from noetl.engine.view import RunView, StateView
from noetl.playbook.model import Dialect


def entering(program: Program, state: StateView, given: Values, trigger: Trigger) -> Scope:
    """The scope of admission and of a step's `input`; `given` is what the token brought."""
    return _chained(program, state, _words(program, state, given, trigger))


def running(program: Program, state: StateView, run: RunView, scratch: Values | None = None) -> Scope:
    """The scope of `loop.in` and `max_in_flight`."""
    words = _words(program, state, run.input, run.trigger)
    if scratch is not None:
        words["iter"] = scratch
    return _chained(program, state, words)


def leaving(program: Program, state: StateView, run: RunView, ctx: Values, step: Values) -> Scope:
    """The scope of a step's `set` and its arcs."""
    assert run.boundary is not None
    words = _words(program, state, run.input, run.boundary)
    seen = view(run.output, run.output_kind, program.playbook.dialect)
    words |= {"ctx": ctx, "step": step, "output": seen}
    if program.playbook.dialect is Dialect.V10:
        words["outcome"] = seen
    return _chained(program, state, words)


def _words(program: Program, state: StateView, given: Values, trigger: Trigger) -> dict[str, object]:
    words: dict[str, object] = {
        "workload": state.workload,
        "ctx": state.ctx,
        "input": given,
        "execution_id": state.execution_id,
        "event": _event(trigger),
    }
    if program.playbook.dialect is Dialect.V10:
        words["args"] = given
    return words


def _event(trigger: Trigger) -> dict[str, object]:
    return {name: msgspec.to_builtins(getattr(trigger, name)) for name in trigger.__struct_fields__}


def _chained(_program: Program, state: StateView, words: dict[str, object]) -> Scope:
    return chained(words, state.outputs, state.workload)
