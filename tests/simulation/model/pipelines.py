"""One pipeline from its first task to its end: `before` rules, tools, rules, sets and directives, as written."""

from collections.abc import Callable, Mapping

import msgspec

from noetl.engine.output import Output
from noetl.playbook.kinds import KINDS
from noetl.playbook.model import Dialect, Directive, OnUnmatched, Playbook, Rule, Task
from tests.simulation.model.outputs import NOTHING, Out, failure, from_tool, kept, mistake, result, seen, with_error
from tests.simulation.model.values import (
    UNSURE,
    Broken,
    Lost,
    Patch,
    Reader,
    as_worker_sees,
    assignments,
    both,
    patched,
)

TEXTS = {kind.name: kind.texts for kind in KINDS}
TASK_RUNS_MAX = 100_000
CALLS_DEPTH_MAX = 32
PATIENCE = 500
"""A pipeline with more task runs goes in circles: the model leaves it alone."""

Outcome = Callable[[str, str, Task], Output]
"""Given the execution's id, the task run's id and the task, what its tool answers."""


class Setting(msgspec.Struct, frozen=True):
    """What is the same for all of a step run. `child` runs a playbook; `noted` keeps what each task run came to."""

    playbook: Playbook
    execution_id: str
    workload: Mapping[str, object]
    outputs: Mapping[str, object]
    reader: Reader
    outcome: Outcome
    child: Callable[[str, Mapping[str, object], Mapping[str, object]], Out]
    noted: Callable[[str, Directive], None]
    texts: str

    def is_kept(self, task: Task) -> bool:
        """Whether the playbook may read the task's reference, so that its data is stored whatever its size."""
        own = str((task.set, task.policy))
        return "output.ref" in own or "outcome.ref" in own or f"{task.name}.ref" in self.texts


class Thread(msgspec.Struct):
    """One logical thread: a step run or an iteration, with every block it calls. `ctx` is what it sees.

    `log` is every write, also those that later ones cover.
    """

    ctx: dict[str, object]
    written: Patch = {}
    task_runs: int = 0
    log: list[tuple[str, object]] = []

    def write(self, patch: Patch) -> None:
        self.log.extend(patch.items())
        self.ctx = patched(self.ctx, patch)
        self.written = both(self.written, patch)


class Stage(msgspec.Struct):
    """One pipeline's own: its tasks, what `step` and `iter` hold, and the id that its task runs begin with.

    `depth` counts the calls of blocks around it.
    """

    tasks: tuple[Task, ...]
    id: str
    task_runs_max: int
    input: Mapping[str, object] = {}
    step: dict[str, object] = {}
    iter: dict[str, object] | None = None
    iterators: tuple[str, ...] = ()
    prev: object = None
    output: Out | None = None
    output_kind: str = ""
    named: dict[str, object] = {}
    runs: dict[str, int] = {}
    depth: int = 0

    def number(self, task: Task) -> str:
        """The id of the task's next run."""
        self.runs[task.name] = self.runs.get(task.name, 0) + 1
        return f"{self.id}.{task.name}/{self.runs[task.name]}"


class End(msgspec.Struct, frozen=True):
    output: Out
    is_failed: bool = False


class _Turn(msgspec.Struct, frozen=True):
    """What one visit or run of a task came to. `own` is its output, unless it was dropped or there is none."""

    directive: Directive
    rule: Rule | None = None
    own: Out | None = None
    failed_with: Out | None = None


class Pipeline:
    """`call` runs a workbook block; it is given so that blocks can be looped without this module knowing how."""

    def __init__(
        self,
        setting: Setting,
        thread: Thread,
        stage: Stage,
        call: Callable[["Pipeline", Task, str, dict[str, object]], Out],
    ) -> None:
        self.setting = setting
        self.thread = thread
        self.stage = stage
        self.call = call
        self.positions = {task.name: index for index, task in enumerate(stage.tasks)}

    def run(self) -> End:
        at = 0
        while at < len(self.stage.tasks):
            task = self.stage.tasks[at]
            turn = self.visit(task)
            if turn.directive is Directive.FAIL:
                return End(turn.failed_with or NOTHING, is_failed=True)
            if turn.directive is Directive.BREAK:
                break
            to = turn.rule.then.to if turn.rule is not None and turn.directive is Directive.JUMP else None
            at = at + 1 if to is None else self.positions[to]
        return End(self.stage.output or NOTHING)

    def visit(self, task: Task) -> _Turn:
        """A task is entered: its `before` rules once, then its runs until nothing tells it to run again."""
        attempt = 1
        while True:
            if self.thread.task_runs >= self.stage.task_runs_max:
                return self.unrun(task, Directive.FAIL, None, failure("budget_exceeded"))
            if self.thread.task_runs > PATIENCE:
                raise Lost("too many task runs")
            decided = self.before(task) if attempt == 1 else None
            if decided is not None:
                return decided
            turn = self.once(task, attempt)
            if turn.directive is not Directive.RETRY:
                return turn
            attempt += 1

    # ------------------------------------------------------------------------------ before

    def before(self, task: Task) -> _Turn | None:
        """What the `before` rules decide; nothing where the tool is to run."""
        rules = task.policy.before if task.policy is not None else ()
        scope = self.scope(task, 1)
        if self.stage.output is not None:
            scope |= seen(self.stage.output, self.stage.output_kind, self.setting.playbook.dialect)
        try:
            rule = self.match(rules, scope)
            patches = assignments(self.setting.reader, rule.then.set, scope) if rule is not None else {}
        except Broken as broken:
            return self.unrun(task, Directive.FAIL, None, failure(broken.kind))
        if rule is None:
            return None
        self.write(patches)
        if rule.then.do is Directive.CONTINUE:
            return None
        return self.unrun(task, rule.then.do, rule, failure("failed"))

    def unrun(self, task: Task, directive: Directive, rule: Rule | None, why: Out) -> _Turn:
        """A visit without a run of the tool. It has a number and is counted all the same."""
        self.setting.noted(self.stage.number(task), directive)
        self.thread.task_runs += 1
        return _Turn(directive, rule, failed_with=why)

    # ------------------------------------------------------------------------------ one run

    def once(self, task: Task, attempt: int) -> _Turn:
        run_id = self.stage.number(task)
        self.thread.task_runs += 1
        scope = self.scope(task, attempt)
        output, own = self.tool(task, run_id, scope)
        if output.ref is None and self.setting.is_kept(task):
            output = msgspec.structs.replace(output, ref=UNSURE)
        turn = self.settle(task, attempt, output, own)
        self.setting.noted(run_id, turn.directive)
        if turn.own is not None:
            self.keep(task, turn.own)
        return turn

    def tool(self, task: Task, run_id: str, scope: dict[str, object]) -> tuple[Out, Mapping[str, object]]:
        """The output of the tool, and the task's own input."""
        if task.kind == "workbook":
            return self.called(task, run_id, scope)
        evaluate = self.setting.reader.evaluate
        try:
            own = evaluate(dict(task.input), scope)
            assert isinstance(own, dict)
            inner = scope | self.inputs({**self.stage.input, **own})
            texts = TEXTS.get(task.kind, ())
            fields = evaluate({key: value for key, value in task.fields.items() if key not in texts}, inner)
            auth = evaluate(task.auth, inner)
        except Broken as broken:
            return failure(broken.kind), {}
        assert isinstance(fields, dict)
        if auth is not None and not isinstance(auth, str):
            return failure("input"), {}
        if task.kind == "noop":
            return NOTHING, own
        if task.kind == "playbook":
            output = self.setting.child(run_id, fields, own)
            return msgspec.structs.replace(output, data=as_worker_sees(output.data)), own
        return from_tool(self.setting.outcome(self.setting.execution_id, run_id, task)), own

    def called(self, task: Task, run_id: str, scope: dict[str, object]) -> tuple[Out, Mapping[str, object]]:
        if self.stage.depth >= CALLS_DEPTH_MAX:
            return failure("budget_exceeded"), {}
        try:
            own = self.setting.reader.evaluate(dict(task.input), scope)
            assert isinstance(own, dict)
            return self.call(self, task, run_id, scope), own
        except Broken as broken:
            return failure(broken.kind), {}

    def settle(self, task: Task, attempt: int, output: Out, own: Mapping[str, object]) -> _Turn:
        reader = self.setting.reader
        scope = self.scope(task, attempt) | self.inputs({**self.stage.input, **own})
        scope |= seen(output, task.kind, self.setting.playbook.dialect, attempt)
        try:
            rule = self.match(task.policy.rules, scope) if task.policy is not None else None
            directive = self.directive(task, rule, output, attempt)
            is_published = directive not in (Directive.RETRY, Directive.FAIL)
            patches = assignments(reader, task.set if is_published else {}, scope)
            after = scope | {name: patched(_values(scope.get(name)), patch) for name, patch in patches.items() if patch}
            more = assignments(reader, rule.then.set if rule is not None else {}, after)
            if rule is not None and directive is Directive.RETRY:
                self.check_delay(rule, scope)
        except Broken as broken:
            output = with_error(output, broken.kind)
            return _Turn(Directive.FAIL, None, output, output)
        self.write(patches)
        self.write(more)
        if directive is Directive.FAIL and output.is_ok:
            output = msgspec.structs.replace(output, status="error", error=mistake("failed"))
        return _Turn(directive, rule, None if directive is Directive.SKIP else output, output)

    def match(self, rules: tuple[Rule, ...], scope: dict[str, object]) -> Rule | None:
        return next((rule for rule in rules if self.setting.reader.test(rule.when, scope)), None)

    def directive(self, task: Task, rule: Rule | None, output: Out, attempt: int) -> Directive:
        if rule is not None:
            is_spent = rule.then.do is Directive.RETRY and attempt >= rule.then.attempts
            return Directive.FAIL if is_spent else rule.then.do
        if task.policy is None:
            return Directive.CONTINUE if output.is_ok else Directive.FAIL
        return Directive.FAIL if task.policy.on_unmatched is OnUnmatched.FAIL else Directive.CONTINUE

    def check_delay(self, rule: Rule, scope: dict[str, object]) -> None:
        delay = self.setting.reader.evaluate(rule.then.delay, scope)
        if isinstance(delay, bool) or not isinstance(delay, int | float) or not delay >= 0:
            raise Broken

    # ------------------------------------------------------------------------------ scopes

    def scope(self, task: Task, attempt: int) -> dict[str, object]:
        stage, setting = self.stage, self.setting
        words: dict[str, object] = {
            "workload": setting.workload,
            "ctx": self.thread.ctx,
            "step": stage.step,
            "execution_id": setting.execution_id,
            "_prev": stage.prev,
            "_task": task.name,
            "_attempt": attempt,
            **self.inputs(stage.input),
        }
        if stage.iter is not None:
            words["iter"] = stage.iter
        bare = bare_iterators(stage.iterators, stage.iter)
        return {**setting.workload, **bare, **setting.outputs, **stage.named, **words}

    def inputs(self, given: Mapping[str, object]) -> dict[str, object]:
        is_v10 = self.setting.playbook.dialect is Dialect.V10
        return {"input": given, "args": given} if is_v10 else {"input": given}

    def write(self, patches: Mapping[str, Patch]) -> None:
        stage = self.stage
        self.thread.write(patches.get("ctx", {}))
        stage.step = patched(stage.step, patches.get("step", {}))
        if stage.iter is not None:
            stage.iter = patched(stage.iter, patches.get("iter", {}))

    def keep(self, task: Task, output: Out) -> None:
        stage = self.stage
        stage.output, stage.output_kind = output, task.kind
        stage.named = {**stage.named, task.name: kept(output)}
        if output.is_ok and task.kind != "noop":
            stage.prev = result(output, task.kind, self.setting.playbook.dialect)


def bare_iterators(names: tuple[str, ...], scratch: object) -> dict[str, object]:
    """`{{ item }}` for `{{ iter.item }}`; `names` run from the outermost loop inwards."""
    found: dict[str, object] = {}
    for name in reversed(names):
        if isinstance(scratch, Mapping):
            found.setdefault(name, scratch.get(name))
            scratch = scratch.get("parent")
    return found


def task_runs_max(*layers: Mapping[str, object]) -> int:
    """The innermost layer that has the limit wins."""
    for layer in reversed(layers):
        limits = layer.get("limits")
        found = limits.get("task_runs_max") if isinstance(limits, Mapping) else None
        if isinstance(found, int):
            return found
    return TASK_RUNS_MAX


def _values(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Lost("a scope is missing")
    return value
