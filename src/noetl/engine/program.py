"""A playbook made ready to run: templates compiled, specs layered, names turned into positions. One per digest."""

from collections.abc import Mapping
from functools import cached_property

import msgspec

from noetl.engine.binding import Evaluate, Places, Test, binder, guard
from noetl.engine.layering import effective_spec
from noetl.engine.policy import ReadyRule, ready_rules
from noetl.engine.scopes import Setter, setter
from noetl.playbook.model import (
    TASK_RUNS_MAX_DEFAULT,
    Arc,
    Block,
    FailureMode,
    Loop,
    OnUnmatched,
    Playbook,
    Reducer,
    Step,
    Task,
)


class ReadyTask(msgspec.Struct, frozen=True):
    task: Task
    index: int
    spec: Mapping[str, object]
    fields: Evaluate
    input: Evaluate
    auth: Evaluate
    before: tuple[ReadyRule, ...]
    rules: tuple[ReadyRule, ...] | None
    on_unmatched: OnUnmatched
    set: Setter


class ReadyPipeline(msgspec.Struct, frozen=True):
    tasks: tuple[ReadyTask, ...]
    positions: Mapping[str, int]
    task_runs_max: int


class ReadyLevel(msgspec.Struct, frozen=True):
    """One level of a loop; `input` gives its collection."""

    loop: Loop
    items: Evaluate
    max_in_flight: Evaluate


class ReadyArc(msgspec.Struct, frozen=True):
    arc: Arc
    when: Test
    set: Setter
    args: Evaluate


class ReadyStep(msgspec.Struct, frozen=True):
    step: Step
    path: str
    admit: tuple[tuple[Test, bool, bool], ...] | None
    input: Evaluate
    levels: tuple[ReadyLevel, ...]
    set: Setter
    arcs: tuple[ReadyArc, ...]
    reducers: Mapping[str, Reducer]

    @property
    def is_best_effort(self) -> bool:
        return self.step.failure is FailureMode.BEST_EFFORT


class ReadyBlock(msgspec.Struct, frozen=True):
    block: Block
    input: Evaluate
    levels: tuple[ReadyLevel, ...]


class Program:
    """`kinds` and `kind_defaults` come from the tools; the rest from the playbook."""

    def __init__(
        self,
        playbook: Playbook,
        places: Places | None = None,
        kind_defaults: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        self.playbook = playbook
        self.places = places or Places()
        self.kind_defaults = kind_defaults or {}
        self.steps: Mapping[str, ReadyStep] = {step.name: self._step(step) for step in playbook.workflow}
        self._pipelines: dict[str, ReadyPipeline] = {}
        self._blocks: dict[str, ReadyBlock] = {}

    def pipeline(self, step: str) -> ReadyPipeline:
        found = self._pipelines.get(step)
        if found is None:
            made = self.steps[step].step
            found = self._pipeline(made.tool, f"workflow/{step}", made.spec, made.loop)
            self._pipelines[step] = found
        return found

    def block(self, name: str) -> ReadyBlock | None:
        """A workbook block, or None where the name is none."""
        block = self.playbook.workbook.get(name)
        if block is None:
            return None
        found = self._blocks.get(name)
        if found is None:
            path = f"workbook/{name}"
            found = ReadyBlock(block, binder(block.input, f"{path}/input", self.places), self._levels(block.loop, path))
            self._blocks[name] = found
        return found

    def block_pipeline(self, name: str, caller: str) -> ReadyPipeline:
        """A block runs under the spec of the step that calls it."""
        key = f"{name} in {caller}"
        found = self._pipelines.get(key)
        if found is None:
            block = self.playbook.workbook[name]
            found = self._pipeline(block.tool, f"workbook/{name}", self.steps[caller].step.spec, block.loop)
            self._pipelines[key] = found
        return found

    @cached_property
    def reach(self) -> Mapping[str, frozenset[str]]:
        """For each step, the steps that a token there can still come to; itself only through a cycle."""
        after = {name: {ready.arc.step for ready in step.arcs} for name, step in self.steps.items()}
        return {name: _reachable(name, after) for name in after}

    def _step(self, step: Step) -> ReadyStep:
        path = f"workflow/{step.name}"
        admit = None
        if step.admit is not None:
            admit = tuple(
                (guard(rule.when, f"{path}/admit/{index}/when", self.places), rule.allow, rule.is_else)
                for index, rule in enumerate(step.admit.rules)
            )
        return ReadyStep(
            step,
            path,
            admit,
            binder(step.input, f"{path}/input", self.places),
            self._levels(step.loop, path),
            setter(step.set, f"{path}/set", self.places),
            tuple(self._arc(arc, f"{path}/next/{index}") for index, arc in enumerate(step.next.arcs)),
            _reducers(step.loop),
        )

    def _arc(self, arc: Arc, path: str) -> ReadyArc:
        return ReadyArc(
            arc,
            guard(arc.when, f"{path}/when", self.places),
            setter(arc.set, f"{path}/set", self.places),
            binder(arc.args, f"{path}/args", self.places),
        )

    def _levels(self, loop: Loop | None, path: str) -> tuple[ReadyLevel, ...]:
        levels = []
        for level in loop.levels() if loop is not None else ():
            path = f"{path}/loop"
            items = binder(level.in_, f"{path}/in", self.places)
            levels.append(ReadyLevel(level, items, binder(level.max_in_flight, f"{path}/max_in_flight", self.places)))
        return tuple(levels)

    def _pipeline(
        self, tasks: tuple[Task, ...], path: str, step_spec: Mapping[str, object], loop: Loop | None
    ) -> ReadyPipeline:
        layers = [self.playbook.executor.spec, step_spec, *(level.spec for level in (loop.levels() if loop else ()))]
        ready = tuple(self._task(task, index, f"{path}/tool/{task.name}", layers) for index, task in enumerate(tasks))
        limits = effective_spec("", frozenset(), *layers).get("limits")
        runs_max = limits.get("task_runs_max") if isinstance(limits, dict) else None
        return ReadyPipeline(
            ready,
            {task.task.name: task.index for task in ready},
            runs_max if isinstance(runs_max, int) else TASK_RUNS_MAX_DEFAULT,
        )

    def _task(self, task: Task, index: int, path: str, layers: list[Mapping[str, object]]) -> ReadyTask:
        policy = task.policy
        defaults = self.kind_defaults.get(task.kind, {})
        return ReadyTask(
            task=task,
            index=index,
            spec=effective_spec(task.kind, frozenset(self.kind_defaults), defaults, *layers, task.spec),
            fields=binder(task.fields, path, self.places),
            input=binder(task.input, f"{path}/input", self.places),
            auth=binder(task.auth, f"{path}/auth", self.places),
            before=ready_rules(policy.before, f"{path}/before", self.places) if policy is not None else (),
            rules=ready_rules(policy.rules, f"{path}/rules", self.places) if policy is not None else None,
            on_unmatched=policy.on_unmatched if policy is not None else OnUnmatched.CONTINUE,
            set=setter(task.set, f"{path}/set", self.places),
        )


def _reducers(loop: Loop | None) -> dict[str, Reducer]:
    """Those of all levels: what an inner loop reduced goes on to the outer one in the same way."""
    found: dict[str, Reducer] = {}
    for level in loop.levels() if loop is not None else ():
        found |= level.reduce
    return found


def _reachable(start: str, after: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(after[start])
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(after.get(name, ()))
    return frozenset(found)
