"""Which event last wrote a value of ctx, and the expression that did."""

from collections.abc import Mapping, Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import entity_id, step_of
from noetl.engine.program import Program
from noetl.playbook.model import Policy, Reducer, Rule, Task

VALUE_CHARS_SHOWN = 80

_TaskFact = e.TaskStarted | e.TaskDone


class WriteExplained(msgspec.Struct, frozen=True):
    """`key` is the path that was written: the one asked for, one around it, or one inside it.

    `by` is the step run, iteration or task run whose expression it was; `origin` is there for what a rerun took over.
    """

    path: str
    key: str
    value: object
    seq: int
    event_id: str
    place: str
    by: str | None = None
    expression: object = None
    reducer: Reducer | None = None
    origin: e.Origin | None = None

    @property
    def text(self) -> str:
        told = f"{self.path} was last written by event {self.seq}: {self.key} = {_shown(self.value)}"
        return "".join([told, *_details(self)])


def explain_write(program: Program, events: Sequence[Event], path: str) -> WriteExplained | None:
    """The last write to `ctx.x`, given with or without `ctx.`; None where nothing ever wrote it."""
    inner = path.removeprefix("ctx.")
    for event in reversed(events):
        fact = event.payload
        if isinstance(fact, e.CtxPatched):
            key = _key(fact.patch, inner)
            if key is not None:
                return _written(program, events, event, fact, inner, key)
        if isinstance(fact, e.WorkflowStarted) and fact.seed is not None:
            key = _key(fact.seed.ctx, inner)
            return _taken_over(events, event, fact.seed, inner, key) if key is not None else None
    return None


def _key(patch: Mapping[str, object], path: str) -> str | None:
    """The key of a patch that changes what is at a path: itself, around it, or inside it. The last one counts."""
    found = [key for key in patch if f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}.")]
    return found[-1] if found else None


def _taken_over(events: Sequence[Event], event: Event, seed: e.Seed, path: str, key: str) -> WriteExplained:
    origin = next((each.payload.origin for each in events if isinstance(each.payload, e.ExecutionRequested)), None)
    value, place = seed.ctx[key], "the origin of this rerun"
    return WriteExplained(f"ctx.{path}", f"ctx.{key}", value, event.seq, event.event_id, place, origin=origin)


def _written(
    program: Program, events: Sequence[Event], event: Event, fact: e.CtxPatched, path: str, key: str
) -> WriteExplained:
    source = fact.origin
    place, by = source.path, source.task_run_id
    if by is None and source.step_run_id is not None:
        by = entity_id(source.step_run_id, source.iteration)
    merged = _task_fact(events, source, key) if place.endswith("/loop") else None
    if merged is not None:
        place, by = _place(program, events, merged, key), merged.task_run_id
    return WriteExplained(
        f"ctx.{path}",
        f"ctx.{key}",
        fact.patch[key],
        event.seq,
        event.event_id,
        place,
        by,
        _authored(program, place).get(f"ctx.{key}"),
        _reducer(program, source.path, key),
    )


def _authored(program: Program, place: str) -> Mapping[str, object]:
    """The `set` that stands at a place of the playbook."""
    match place.split("/"):
        case ["workflow", step, "set"]:
            return program.steps[step].step.set
        case ["workflow", step, "next", number, "set"]:
            return program.steps[step].step.next.arcs[int(number)].set
        case [root, owner, "tool", task, *rule, "set"]:
            return _of_task(_find(_tasks(program, f"{root}/{owner}"), task), rule)
        case _:
            return {}


def _of_task(task: Task, rule: Sequence[str]) -> Mapping[str, object]:
    """A task's own `set`, or with `["rules", "1"]` that of its second rule."""
    match rule:
        case [which, number]:
            return _rules(task, is_before=which == "before")[int(number)].then.set
        case _:
            return task.set


def _rules(task: Task, *, is_before: bool) -> Sequence[Rule]:
    policy = task.policy or Policy()
    return policy.before if is_before else policy.rules


def _tasks(program: Program, pipeline: str) -> Sequence[Task]:
    root, _, owner = pipeline.partition("/")
    return program.steps[owner].step.tool if root == "workflow" else program.playbook.workbook[owner].tool


def _find(tasks: Sequence[Task], name: str) -> Task:
    return next(task for task in tasks if task.name == name)


def _task_fact(events: Sequence[Event], source: e.PatchOrigin, key: str) -> _TaskFact | None:
    """The task's fact that carried the write; of a parallel loop that of the last index, since they merge in order."""
    found: _TaskFact | None = None
    for event in events:
        fact = event.payload
        if isinstance(fact, e.TaskStarted | e.TaskDone) and key in fact.patch.ctx and _is_of(fact, source):
            found = fact if found is None or fact.path >= found.path else found
    return found


def _is_of(fact: _TaskFact, source: e.PatchOrigin) -> bool:
    return (
        fact.step_run_id == source.step_run_id
        and source.task_run_id in (None, fact.task_run_id)
        and fact.path[: len(source.iteration)] == source.iteration
    )


def _place(program: Program, events: Sequence[Event], fact: _TaskFact, key: str) -> str:
    """Where the `set` stands that a task's fact carried; that of a rule lies over the task's own."""
    pipeline = _pipeline(events, fact)
    path = f"{pipeline}/tool/{fact.task}"
    if fact.rule is None:
        return f"{path}/set"
    is_before = isinstance(fact, e.TaskStarted) or not fact.ran
    rule = _rules(_find(_tasks(program, pipeline), fact.task), is_before=is_before)[fact.rule]
    is_ruled = f"ctx.{key}" in rule.then.set
    return f"{path}/{'before' if is_before else 'rules'}/{fact.rule}/set" if is_ruled else f"{path}/set"


def _pipeline(events: Sequence[Event], fact: _TaskFact) -> str:
    """The step's own pipeline, or that of the block that the run around it called."""
    caller = fact.task_run_id.rpartition(".")[0]
    caller = caller.rpartition("[")[0] if "/" in caller and caller.endswith("]") else caller
    facts = (event.payload for event in events)
    call = next((each.call for each in facts if isinstance(each, e.TaskStarted) and each.task_run_id == caller), None)
    return f"workbook/{call.block}" if call is not None else f"workflow/{step_of(fact.step_run_id)}"


def _reducer(program: Program, place: str, key: str) -> Reducer | None:
    match place.split("/"):
        case ["workflow", step, "loop"]:
            loop = program.steps[step].step.loop
            levels = loop.levels() if loop is not None else ()
            return next((level.reduce[key] for level in levels if key in level.reduce), None)
        case _:
            return None


def _details(write: WriteExplained) -> list[str]:
    found = [f"\n  place: {write.place}"]
    if write.by is not None:
        found.append(f"\n  by: {write.by}")
    if write.expression is not None:
        found.append(f"\n  expression: {_shown(write.expression)}")
    if write.reducer is not None:
        found.append(f"\n  reduced by: {write.reducer}")
    if write.origin is not None:
        found.append(f"\n  taken over from: {write.origin.execution_id}, cut at event {write.origin.seq}")
    return found


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_CHARS_SHOWN else f"{text[:VALUE_CHARS_SHOWN]}…"
