"""A playbook made ready to run: templates compiled, specs layered, names turned into positions. One per digest."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from noetl.engine.binding import Evaluate, EvaluateValues, Places, Test, binder, guard, values_binder
from noetl.engine.kept import Kept, kept_outputs, names_read, workload_read
from noetl.engine.layering import effective_spec, limit
from noetl.engine.policy import ReadyRule, ready_rules
from noetl.engine.scopes import Setter, setter
from noetl.engine.selecting import Select, selector
from noetl.playbook.kinds import KINDS, Kind
from noetl.playbook.model import (
    TASK_RUNS_MAX_DEFAULT,
    Arc,
    Block,
    FailureMode,
    Loop,
    OnUnmatched,
    Playbook,
    Step,
    Task,
)

CTX_BYTES_MAX_DEFAULT = 1024 * 1024
"""The most `ctx` may hold as JSON, unless `executor.spec.limits.ctx_bytes_max` says otherwise."""

_KINDS = {kind.name: kind for kind in KINDS}
_NO_KIND = Kind("", "", {})
"""Stands for a kind of a package that is not installed here."""

Layers = dict[str, Mapping[str, object]]
"""Specs from the outermost inwards, by their paths in the model."""


class ReadyTask(msgspec.Struct, frozen=True):
    """A task with its templates made ready; `path` is where it stands in the model.

    `blocks` is what every output of its kind has, where its tool did not say otherwise.
    """

    task: Task
    path: str
    index: int
    spec: Mapping[str, object]
    fields: EvaluateValues
    input: EvaluateValues
    auth: Evaluate
    before: tuple[ReadyRule, ...]
    rules: tuple[ReadyRule, ...] | None
    on_unmatched: OnUnmatched
    set: Setter
    select: Select | None
    blocks: Mapping[str, object]


class ReadyPipeline(msgspec.Struct, frozen=True):
    """`iterators` are those of its loops, from the outermost inwards."""

    tasks: tuple[ReadyTask, ...]
    positions: Mapping[str, int]
    iterators: tuple[str, ...]
    task_runs_max: int


class ReadyLevel(msgspec.Struct, frozen=True):
    """One level of a loop; `items` gives its collection and `path` is where it stands in the model."""

    loop: Loop
    path: str
    items: Evaluate
    max_in_flight: Evaluate


class ReadyArc(msgspec.Struct, frozen=True):
    arc: Arc
    when: Test
    set: Setter
    args: EvaluateValues


class ReadyStep(msgspec.Struct, frozen=True):
    step: Step
    path: str
    admit: tuple[tuple[Test, bool], ...] | None
    input: EvaluateValues
    levels: tuple[ReadyLevel, ...]
    set: Setter
    arcs: tuple[ReadyArc, ...]

    @property
    def iterators(self) -> tuple[str, ...]:
        return tuple(level.loop.iterator for level in self.levels)

    @property
    def is_best_effort(self) -> bool:
        return self.step.failure is FailureMode.BEST_EFFORT


class ReadyBlock(msgspec.Struct, frozen=True):
    block: Block
    input: EvaluateValues
    levels: tuple[ReadyLevel, ...]


class Program:
    """`kind_defaults` are the knobs that a tool starts from, by kind; `places` comes from the compiler.

    `kinds` are those that the playbook may name; installed packages add to them. Where there is one worker only,
    no pools are told apart.
    """

    def __init__(
        self,
        playbook: Playbook,
        places: Places | None = None,
        kind_defaults: Mapping[str, Mapping[str, object]] | None = None,
        kinds: Iterable[Kind] = KINDS,
        *,
        has_pools: bool = True,
    ) -> None:
        self.playbook = playbook
        self.places = places or Places()
        self.kind_defaults = kind_defaults or {}
        self.has_pools = has_pools
        self._kinds = _KINDS if kinds is KINDS else {kind.name: kind for kind in kinds}
        self._names = frozenset(self._kinds)
        self.steps: Mapping[str, ReadyStep] = {step.name: self._step(step) for step in playbook.workflow}
        self.ctx_bytes_max = limit([playbook.executor.spec], "ctx_bytes_max", CTX_BYTES_MAX_DEFAULT)
        self._reads: dict[str, frozenset[str]] = {}
        self._workloads: dict[str, frozenset[str] | None] = {}
        self._pipelines: dict[str, ReadyPipeline] = {}
        self._blocks: dict[str, ReadyBlock] = {}

    @cached_property
    def kept(self) -> Kept:
        """Which outputs are stored whatever their size."""
        return kept_outputs(self.playbook)

    def reads(self, step: str) -> frozenset[str]:
        """The names that the pipeline of a step reads, so that no more than that has to be fetched for it."""
        found = self._reads.get(step)
        if found is None:
            found = self._reads[step] = names_read(self.steps[step].step, self.playbook)
        return found

    def workload_read(self, step: str) -> frozenset[str] | None:
        """The keys of the workload that a worker may read for a step; None where it is all."""
        if step not in self._workloads:
            self._workloads[step] = workload_read(self.steps[step].step, self.playbook)
        return self._workloads[step]

    def pipeline(self, step: str) -> ReadyPipeline:
        found = self._pipelines.get(step)
        if found is None:
            made = self.steps[step].step
            found = self._pipeline(made.tool, f"workflow/{step}", self._layers(made), made.loop)
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
            found = ReadyBlock(
                block, values_binder(block.input, f"{path}/input", self.places), self._levels(block.loop, path)
            )
            self._blocks[name] = found
        return found

    def block_pipeline(self, name: str, caller: str) -> ReadyPipeline:
        """A block runs under the spec of the step that calls it."""
        key = f"{name} in {caller}"
        found = self._pipelines.get(key)
        if found is None:
            block, step = self.playbook.workbook[name], self.steps[caller].step
            layers = self._layers(step) | _loop_layers(step.loop, f"workflow/{caller}")
            found = self._pipeline(block.tool, f"workbook/{name}", layers, block.loop)
            self._pipelines[key] = found
        return found

    @cached_property
    def reach(self) -> Mapping[str, frozenset[str]]:
        """For each step, the steps that a token there can still come to; itself only through a cycle."""
        after = {name: {ready.arc.step for ready in step.arcs} for name, step in self.steps.items()}
        return {name: _reachable(name, after) for name in after}

    def text_line(self, task: ReadyTask) -> int:
        """Where the code or the script of a task begins; 0 where its lines are not those of the file."""
        found = (self.places.spans.get(f"{task.path}/{name}") for name in self._kind(task.task).texts)
        return next((span.line for span in found if span is not None), 0)

    def _step(self, step: Step) -> ReadyStep:
        path = f"workflow/{step.name}"
        admit = None
        if step.admit is not None:
            admit = tuple(
                (guard(rule.when, f"{path}/admit/{index}/when", self.places), rule.allow)
                for index, rule in enumerate(step.admit.rules)
            )
        return ReadyStep(
            step,
            path,
            admit,
            values_binder(step.input, f"{path}/input", self.places),
            self._levels(step.loop, path),
            setter(step.set, f"{path}/set", self.places),
            tuple(self._arc(arc, f"{path}/next/{index}") for index, arc in enumerate(step.next.arcs)),
        )

    def _arc(self, arc: Arc, path: str) -> ReadyArc:
        return ReadyArc(
            arc,
            guard(arc.when, f"{path}/when", self.places),
            setter(arc.set, f"{path}/set", self.places),
            values_binder(arc.args, f"{path}/args", self.places),
        )

    def _levels(self, loop: Loop | None, path: str) -> tuple[ReadyLevel, ...]:
        levels = []
        for level in _levels(loop):
            path = f"{path}/loop"
            items = binder(level.in_, f"{path}/in", self.places)
            in_flight = binder(level.max_in_flight, f"{path}/max_in_flight", self.places)
            levels.append(ReadyLevel(level, path, items, in_flight))
        return tuple(levels)

    def _layers(self, step: Step) -> Layers:
        return {"/executor/spec": self.playbook.executor.spec, f"workflow/{step.name}/spec": step.spec}

    def _pipeline(self, tasks: tuple[Task, ...], path: str, outer: Layers, loop: Loop | None) -> ReadyPipeline:
        levels = _levels(loop)
        layers = outer | _loop_layers(loop, path)
        ready = tuple(self._task(task, index, f"{path}/tool/{task.name}", layers) for index, task in enumerate(tasks))
        return ReadyPipeline(
            ready,
            {task.task.name: task.index for task in ready},
            tuple(level.iterator for level in levels),
            limit([*layers.values()], "task_runs_max", TASK_RUNS_MAX_DEFAULT),
        )

    def _kind(self, task: Task) -> Kind:
        return self._kinds.get(task.kind, _NO_KIND)

    def _task(self, task: Task, index: int, path: str, layers: Layers) -> ReadyTask:
        policy = task.policy
        defaults = self.kind_defaults.get(task.kind, {})
        spec = effective_spec(task.kind, self._names, defaults, *layers.values(), task.spec)
        return ReadyTask(
            task=task,
            path=path,
            index=index,
            spec=spec,
            fields=self._fields(task, path),
            input=values_binder(task.input, f"{path}/input", self.places),
            auth=binder(task.auth, f"{path}/auth", self.places),
            before=ready_rules(policy.before, f"{path}/before", self.places) if policy is not None else (),
            rules=ready_rules(policy.rules, f"{path}/rules", self.places) if policy is not None else None,
            on_unmatched=policy.on_unmatched if policy is not None else OnUnmatched.CONTINUE,
            set=setter(task.set, f"{path}/set", self.places),
            select=selector(spec, task.kind, [*layers, f"{path}/spec"], self.places),
            blocks=self._kind(task).empty_blocks(),
        )

    def _fields(self, task: Task, path: str) -> EvaluateValues:
        """The kind's own fields. Code and scripts are never templates, whatever they hold."""
        texts = {key: value for key, value in task.fields.items() if key in self._kind(task).texts}
        others = {key: value for key, value in task.fields.items() if key not in texts}
        evaluate = values_binder(others, path, self.places)
        if not texts:
            return evaluate
        return lambda scope: {**texts, **evaluate(scope)}


def _loop_layers(loop: Loop | None, path: str) -> Layers:
    return {f"{path}{'/loop' * depth}/spec": level.spec for depth, level in enumerate(_levels(loop), 1)}


def _levels(loop: Loop | None) -> list[Loop]:
    return list(loop.levels()) if loop is not None else []


def _reachable(start: str, after: Mapping[str, set[str]]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(after[start])
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(after.get(name, ()))
    return frozenset(found)
