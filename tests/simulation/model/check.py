"""The model and the engine side by side: what an execution came to against what was expected of it."""

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

import msgspec

from noetl.engine import events as e
from noetl.engine.output import Output
from noetl.engine.program import Program, ReadyTask
from noetl.engine.reference import LOOP_REFERENCE, External
from noetl.playbook.model import Playbook, Task
from tests.engine.laws.cases import Case, compiled
from tests.engine.laws.executions import Execution
from tests.engine.laws.outcomes import outcome
from tests.engine.laws.world import EXECUTIONS_MAX, ROOT, World
from tests.simulation.model.expected import Expected
from tests.simulation.model.outputs import Out
from tests.simulation.model.predict import predict
from tests.simulation.model.values import UNSURE, FromLog, Unsure

EXPIRED = ("timeout", "deadline")
MISSING = object()


def expected(case: Case, world: World | None = None) -> Expected:
    """What a case must come to; with a world, knowing which of its step runs ran out of time."""
    playbooks = [compiled(text) for text in (case.text, *case.callees)]

    def callee(path: str) -> Playbook | None:
        return playbooks[1 + Random(path).randrange(len(playbooks) - 1)] if len(playbooks) > 1 else None

    def answer(execution_id: str, task_run_id: str, task: Task) -> Output:
        return outcome(case.seed, execution_id, task_run_id, ready(task), is_bulky=False)

    late = {name: expired(execution) for name, execution in world.executions.items()} if world is not None else {}
    return predict(playbooks[0], answer, callee, execution_id=ROOT, expired=late, executions_max=EXECUTIONS_MAX)


def ready(task: Task) -> ReadyTask:
    """A task as the tools of the laws take it: they read its kind and its `set`."""
    return msgspec.structs.replace(_blank(), task=task)


@cache
def _blank() -> ReadyTask:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\n"
    text = head + "workflow:\n- {step: a, tool: {kind: noop}}\n"
    return Program(compiled(text)).pipeline("a").tasks[0]


def expired(execution: Execution) -> frozenset[str]:
    """Step runs whose time was used up, and children for which their callers did not wait any longer."""
    failures = (fact for fact in execution.facts if isinstance(fact, e.StepFailed) and fact.by_server)
    late = (fact for fact in failures if fact.output.error is not None and fact.output.error.kind in EXPIRED)
    waits = (fact for fact in execution.facts if isinstance(fact, e.TaskWaiting))
    given_up = (fact.cancels for fact in waits if fact.cancels is not None)
    return frozenset((*(fact.step_run_id for fact in late), *given_up))


def differences(world: World, foretold: Expected) -> Iterator[str]:
    """Where the engine parts from the model."""
    execution = world.executions[foretold.execution_id]
    for message in _differences(execution, foretold):
        yield f"{foretold.execution_id}: {message}"
    for name, child in foretold.children.items():
        if name in world.executions:
            yield from differences(world, child)
        elif child.must:
            yield f"{name}: did not start"


def _differences(execution: Execution, foretold: Expected) -> Iterator[str]:
    state = execution.state
    if not foretold.must and state.status == "cancelled":
        return
    if foretold.status is not UNSURE and state.status != foretold.status:
        yield f"status is {state.status}, expected {foretold.status}"
        return
    yield from _ends(execution, foretold)
    yield from _runs(execution, foretold)
    yield from _tasks(execution, foretold)


def _ends(execution: Execution, foretold: Expected) -> Iterator[str]:
    state = execution.state
    kind = state.error.kind if state.error is not None else None
    if foretold.status == "failed" and not _is_allowed(kind, foretold.error_kinds):
        yield f"error is {kind}, expected one of {foretold.error_kinds}"
    if isinstance(foretold.ctx, Mapping):
        for key in sorted({*foretold.ctx, *state.ctx}):
            want, found = foretold.ctx.get(key, MISSING), state.ctx.get(key, MISSING)
            if not is_alike(want, found):
                yield f"ctx.{key} is {found!r}, expected {want!r}"
    if isinstance(foretold.results, tuple) and not any(_is_result(out, state.output) for out in foretold.results):
        yield f"output is {state.output!r}, expected one of {foretold.results!r}"
    if isinstance(foretold.skipped, Mapping):
        skipped = [fact.step for fact in execution.facts if isinstance(fact, e.StepSkipped)]
        found_counts = {step: skipped.count(step) for step in skipped}
        if found_counts != foretold.skipped:
            yield f"skipped {found_counts}, expected {foretold.skipped}"


def _is_allowed(kind: str | None, allowed: frozenset[object] | Unsure) -> bool:
    return isinstance(allowed, Unsure) or UNSURE in allowed or kind in allowed


def _is_result(want: Out, found: Output) -> bool:
    return is_alike(want.data, found.data) and (want.ref in (None, UNSURE) or want.ref == found.ref)


def _runs(execution: Execution, foretold: Expected) -> Iterator[str]:
    ended = dict(_boundaries(execution))
    scheduled = [fact.step_run_id for fact in execution.facts if isinstance(fact, e.StepScheduled)]
    for name in scheduled:
        if foretold.is_closed and name not in foretold.runs:
            yield f"{name} ran, which was not expected"
    for name, run in foretold.runs.items():
        boundary, loop = ended.get(name, (None, None))
        if boundary is None:
            if run.must and run.boundary is not UNSURE:
                yield f"{name} did not end, expected {run.boundary}"
        elif run.boundary not in (UNSURE, boundary):
            yield f"{name} ended with {boundary}, expected {run.boundary}"
        elif run.loop is not UNSURE and loop != run.loop:
            yield f"{name} counted {loop}, expected {run.loop}"


def _boundaries(execution: Execution) -> Iterator[tuple[str, tuple[str, object]]]:
    for fact in execution.facts:
        match fact:
            case e.StepDone():
                yield fact.step_run_id, ("step.done", None)
            case e.StepFailed():
                yield fact.step_run_id, ("step.failed", fact.loop)
            case e.LoopDone(path=()):
                yield fact.step_run_id, ("loop.done", fact.loop)
            case _:
                pass


def _tasks(execution: Execution, foretold: Expected) -> Iterator[str]:
    done = {fact.task_run_id: str(fact.directive) for fact in execution.facts if isinstance(fact, e.TaskDone)}
    for name, directive in done.items():
        want = foretold.tasks.get(name)
        if want is None and foretold.is_closed:
            yield f"task run {name} ended with {directive}, which was not expected"
        elif want is not None and want.directive != directive:
            yield f"task run {name} ended with {directive}, expected {want.directive}"
    for name, want in foretold.tasks.items():
        if want.must and name not in done:
            yield f"task run {name} did not end, expected {want.directive}"


def is_alike(want: object, found: object) -> bool:
    """Equal but for what is unsure."""
    if want is UNSURE:
        return True
    if isinstance(want, FromLog):
        return isinstance(found, External) and found.reference.type == LOOP_REFERENCE
    if isinstance(want, Mapping) and isinstance(found, Mapping):
        return want.keys() == found.keys() and all(is_alike(want[key], found[key]) for key in want)
    if isinstance(want, list | tuple) and isinstance(found, list | tuple):
        return len(want) == len(found) and all(map(is_alike, want, found))
    return want == found and type(want) is type(found)
