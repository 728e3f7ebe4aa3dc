"""What templates on the server see."""

from collections.abc import Mapping

import msgspec

from noetl.engine.binding import Scope
from noetl.engine.events import Trigger, Values
from noetl.engine.output import view
from noetl.engine.program import Program
from noetl.engine.scopes import chained, iterators
from noetl.engine.view import RunView, StateView
from noetl.playbook.model import Dialect


def entering(program: Program, state: StateView, given: Values, trigger: Trigger) -> Scope:
    """The scope of admission and of a step's `input`; `given` is what the token brought."""
    return chained(_words(program, state, given, trigger), state.outputs, state.workload)


def looping(program: Program, state: StateView, run: RunView, ctx: Values, scratch: Values | None) -> Scope:
    """The scope of `loop.in` and `max_in_flight`; inside a loop with its `iter`."""
    words = _words(program, state, run.input, run.trigger) | {"ctx": ctx}
    if scratch is None:
        return chained(words, state.outputs, state.workload)
    words["iter"] = scratch
    names = program.steps[run.step].iterators[: _depth(scratch)]
    return chained(words, state.outputs, iterators(names, scratch), state.workload)


def _depth(scratch: object) -> int:
    return 1 + _depth(scratch.get("parent")) if isinstance(scratch, Mapping) else 0


def leaving(program: Program, state: StateView, run: RunView, ctx: Values, step: Values) -> Scope:
    """The scope of a step's `set` and its arcs. The step has finished, so its name is its output too."""
    assert run.boundary is not None
    words = _words(program, state, run.input, run.boundary)
    seen = view(run.output, run.output_kind, program.playbook.dialect)
    words |= {"ctx": ctx, "step": step, "output": seen}
    if program.playbook.dialect is Dialect.V10:
        words["outcome"] = seen
    return chained(words, {run.step: seen}, state.outputs, state.workload)


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
    """`event`, with every field it can have: what does not apply is null."""
    return {name: _fields(value) for name, value in msgspec.structs.asdict(trigger).items()}


def _fields(value: object) -> object:
    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value
