"""Steps, tokens and routing, in one order of the many that are possible: first come, first served.

Each step run is carried out whole before the next one. What another order could change is found afterwards, in
`races`, from what each run read and wrote. So a failure does not stop the others here: they may have run before it.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from noetl.engine.output import Loop
from noetl.playbook.model import Dialect, Directive, Join, OnDeny, Playbook, RouteMode, Step
from tests.simulation.model.loops import Blocks, StepBroken, StepLoop, layers
from tests.simulation.model.outputs import NOTHING, Out, failure, kept, kind_of, seen
from tests.simulation.model.pipelines import Outcome, Pipeline, Setting, Stage, Thread, task_runs_max
from tests.simulation.model.values import (
    UNSURE,
    Broken,
    Lost,
    Patch,
    Place,
    Raced,
    Reader,
    Unsure,
    assignments,
    patched,
    scope_of_worker,
)

RUNS_MAX = 60
"""An execution with more step runs goes in circles: the model leaves it alone."""

CTX_LENGTH_MAX = 100_000
"""Far below what an execution may hold in ctx, so that the model need not measure it as the engine does."""

TANGLED: Place = ("tangled",)
"""Two branches write a key and one inside it: whether the second may depends on what the first wrote."""

Values = Mapping[str, object]


class Token(msgspec.Struct, frozen=True):
    step: str
    event: Values
    source: int | None = None
    args: Values = {}


class Node(msgspec.Struct):
    """Tokens that arrived at a step, and the run they became, unless they were turned away or wait."""

    step: str
    tokens: tuple[Token, ...]
    sources: set[int]
    reads: set[Place] = set()
    writes: list[tuple[Place, object]] = []
    id: str | None = None
    boundary: str | None = None
    output: Out = NOTHING
    loop: Loop | Unsure | None = None
    tasks: dict[str, str] = {}
    children: list[str] = []
    is_leaf: bool = False
    is_shaky: bool = False
    is_alone: bool = True
    fatal: frozenset[object] = frozenset()
    result: Out = NOTHING


class Request(msgspec.Struct, frozen=True):
    """One execution to foretell. `child` does so for the playbook that a task calls."""

    playbook: Playbook
    execution_id: str
    workload: Values
    outcome: Outcome
    child: Callable[[str, Values, Values], Out]
    expired: frozenset[str] = frozenset()


class Workflow:
    """`raced` is what branches that ran beside each other wrote or read, as far as it is known by now."""

    def __init__(self, request: Request, raced: Raced) -> None:
        self.request = request
        self.playbook = request.playbook
        self.raced = raced
        self.steps = {step.name: step for step in self.playbook.workflow}
        self.texts = str((self.playbook.workflow, self.playbook.workbook))
        self.workload = merged(self.playbook.workload, request.workload)
        self.ctx: dict[str, object] = {}
        self.outputs: dict[str, object] = {}
        self.counts: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.nodes: list[Node] = []
        self.queue: list[Token] = []
        self.doors: list[Node] = []
        self.is_forked = False
        self.lost: str | None = None
        self.deadlock = False
        self.reach = {name: _reachable(name, self.steps) for name in self.steps}

    def run(self) -> "Workflow":
        self.queue.append(Token(self.playbook.entry_step, _event("workflow.started")))
        try:
            if TANGLED in self.raced:
                raise Lost("branches write a key and one inside it")
            while self.queue or self.knock():
                if self.queue:
                    self.arrive(self.queue.pop(0))
        except Lost as lost:
            self.lost = str(lost)
        return self

    # ------------------------------------------------------------------------------ arriving

    def arrive(self, token: Token) -> None:
        self.is_forked |= len(self.queue) + len(self.doors) > 0
        step = self.steps[token.step]
        node = self.node(step, (token,))
        if step.join is Join.ALL:
            here = next((door for door in self.doors if door.step == token.step), None)
            self.doors.append(node) if here is None else _join(here, token)
        elif not self.admit(node):
            self.doors.append(node)

    def node(self, step: Step, tokens: tuple[Token, ...]) -> Node:
        return Node(step.name, tokens, {token.source for token in tokens if token.source is not None})

    def knock(self) -> bool:
        """Whoever waits tries again. Where nothing else can happen, one join fires; else it is a deadlock."""
        for door in list(self.doors):
            is_open = self.steps[door.step].join is not Join.ALL or not self.may_still_come(door)
            if is_open and self.enter(door):
                return True
        joins = [door for door in self.doors if self.steps[door.step].join is Join.ALL]
        if len(joins) > 1:
            raise Lost("several joins wait for each other")
        for door in joins:
            door.sources |= set(range(len(self.nodes)))
            if self.enter(door):
                return True
        self.deadlock = bool(self.doors)
        return False

    def enter(self, door: Node) -> bool:
        self.doors.remove(door)
        if self.steps[door.step].join is Join.ALL:
            before = (index for index, node in enumerate(self.nodes) if door.step in self.reach[node.step])
            door.sources |= set(before)
        if self.admit(door):
            return True
        self.doors.append(door)
        return False

    def may_still_come(self, door: Node) -> bool:
        return any(door.step in self.reach[other.step] for other in self.doors if other.step != door.step)

    def admit(self, node: Node) -> bool:
        """Whether the tokens are gone from the door: the step ran, or they were turned away."""
        step = self.steps[node.step]
        if ("args", step.name) in self.raced:
            raise Lost("payloads meet at a step")
        reader = Reader(frozenset(self.steps), self.raced, step.name)
        reader.reads = node.reads
        given = self.given(step, node.tokens)
        scope = self.scope(given, _together([token.event for token in node.tokens]))
        try:
            if not self.is_admitted(step, reader, scope):
                if step.admit is not None and step.admit.on_deny is OnDeny.WAIT:
                    return False
                self.nodes.append(node)
                self.skipped[step.name] = self.skipped.get(step.name, 0) + 1
                return True
            bound = reader.evaluate(dict(step.input), scope)
        except Broken as broken:
            self.nodes.append(node)
            self.fail(node, frozenset({broken.kind}), failure(broken.kind))
            return True
        assert isinstance(bound, dict)
        self.step_run(step, node, reader, {**given, **bound}, scope)
        return True

    def is_admitted(self, step: Step, reader: Reader, scope: Values) -> bool:
        if step.admit is None:
            return True
        return next((rule.allow for rule in step.admit.rules if reader.test(rule.when, scope)), False)

    def given(self, step: Step, tokens: tuple[Token, ...]) -> dict[str, object]:
        given: dict[str, object] = {}
        for token in tokens:
            given |= token.args
        if len(tokens) > 1 and given:
            raise Lost("payloads meet at a join")
        if step.join is Join.ALL:
            given["joined"] = [_source(tokens[0].event)] if len(tokens) == 1 else UNSURE
        return given

    # ------------------------------------------------------------------------------ running

    def step_run(self, step: Step, node: Node, reader: Reader, given: Values, scope: dict[str, object]) -> None:
        self.counts[step.name] = self.counts.get(step.name, 0) + 1
        node.id = f"{step.name}#{self.counts[step.name]}"
        node.is_alone = not self.is_forked
        self.nodes.append(node)
        if len(self.nodes) > RUNS_MAX:
            raise Lost("too many step runs")
        node.is_shaky = node.id in self.request.expired
        step_scope, kinds = self.body(step, node, reader, given, scope)
        if node.id in self.request.expired:
            step_scope, kinds = self.expire(node, step, step_scope)
        if node.fatal:
            self.fail(node, node.fatal, failure(str(next(iter(node.fatal)))))
            return
        node.boundary = "step.failed" if kinds else "step.done" if step.loop is None else "loop.done"
        self.outputs[step.name] = kept(node.output)
        node.writes.append((("out", step.name), kept(node.output)))
        self.route(step, node, reader, given, step_scope, kinds)

    def body(
        self, step: Step, node: Node, reader: Reader, given: Values, scope: dict[str, object]
    ) -> tuple[Values, frozenset[object]]:
        """The pipeline or the loop: what `step` holds after it, and the errors it may have failed with."""
        setting = self.setting(node, reader)
        assert node.id is not None
        if step.loop is not None:
            return self.loop_body(StepLoop(setting, step, node.id, given, scope | self.inputs(given)), node)
        if not step.tool:
            return {}, frozenset()
        thread = Thread(scope_of_worker(self.ctx))
        stage = Stage(step.tool, node.id, task_runs_max(*layers(setting, step)), scope_of_worker(given))
        end = Pipeline(setting, thread, stage, Blocks(step).call).run()
        self.write(node, thread.written, thread.log)
        node.output = end.output
        return stage.step, frozenset({kind_of(end.output)}) if end.is_failed else frozenset()

    def expire(self, node: Node, step: Step, step_scope: Values) -> tuple[Values, frozenset[object]]:
        """How far the run came before its time was used up, nobody knows."""
        for place, _ in list(node.writes):
            self.write(node, {".".join(place[1:]): UNSURE})
        node.output, node.fatal = failure("timeout"), frozenset()
        node.loop = UNSURE if step.loop is not None else None
        return dict.fromkeys(step_scope, UNSURE), frozenset({"timeout"})

    def loop_body(self, loop: StepLoop, node: Node) -> tuple[Values, frozenset[object]]:
        try:
            ended = loop.run(self.ctx)
        except StepBroken as broken:
            self.write(node, loop.patch, loop.log)
            node.output, node.loop = failure(broken.kind), broken.counts
            return loop.carried, frozenset({broken.kind})
        except Broken as broken:
            self.write(node, loop.patch, loop.log)
            node.fatal = frozenset({broken.kind})
            return {}, node.fatal
        self.write(node, ended.patch, loop.log)
        node.output, node.loop, node.is_shaky = ended.output, ended.output.loop, node.is_shaky or ended.is_shaky
        return ended.step, ended.kinds

    def setting(self, node: Node, reader: Reader) -> Setting:
        def child(run_id: str, fields: Values, own: Values) -> Out:
            node.children.append(f"{self.request.execution_id}.{run_id}")
            return self.request.child(node.children[-1], fields, own)

        def noted(run_id: str, directive: Directive) -> None:
            node.tasks[run_id] = str(directive)

        request = self.request
        return Setting(
            self.playbook,
            request.execution_id,
            self.workload,
            scope_of_worker(self.outputs),
            reader,
            request.outcome,
            child,
            noted,
            self.texts,
        )

    # ------------------------------------------------------------------------------ routing

    def route(
        self, step: Step, node: Node, reader: Reader, given: Values, own: Values, kinds: frozenset[object]
    ) -> None:
        event = self.boundary_event(node, kinds)
        reader.is_leaving = True
        try:
            if not kinds:
                patches = assignments(reader, step.set, self.leaving(node, given, own, event))
                self.write(node, patches["ctx"])
                own = patched(own, patches["step"])
            fired = self.fired(step, reader, self.leaving(node, given, own, event), failed=bool(kinds))
            tokens = [self.token(node, arc, reader, self.leaving(node, given, own, event)) for arc in fired]
            if kinds and not tokens:
                self.fail(node, kinds, node.output)
                return
            for arc in fired:
                patches = assignments(reader, step.next.arcs[arc].set, self.leaving(node, given, own, event))
                self.write(node, patches["ctx"])
                own = patched(own, patches["step"])
        except Broken as broken:
            self.fail(node, frozenset({broken.kind}), failure(broken.kind))
            return
        node.is_leaf = not tokens
        self.queue.extend(tokens)
        self.is_forked |= len(self.queue) > 1

    def fired(self, step: Step, reader: Reader, scope: Values, *, failed: bool) -> list[int]:
        found: list[int] = []
        for index, arc in enumerate(step.next.arcs):
            is_taken = reader.test(arc.when, scope) if arc.when is not None else not failed
            if is_taken:
                found.append(index)
            if is_taken and step.next.mode is RouteMode.EXCLUSIVE:
                break
        return found

    def token(self, node: Node, arc: int, reader: Reader, scope: dict[str, object]) -> Token:
        target = self.steps[node.step].next.arcs[arc]
        args = reader.evaluate(dict(target.args), scope)
        assert isinstance(args, dict)
        inherited = {key: value for token in node.tokens for key, value in token.args.items()}
        event = scope["event"]
        assert isinstance(event, dict)
        return Token(target.step, event, self.nodes.index(node), {**inherited, **args})

    def boundary_event(self, node: Node, kinds: frozenset[object]) -> dict[str, object]:
        loop = msgspec.structs.asdict(node.loop) if isinstance(node.loop, Loop) else node.loop
        status = "error" if kinds else "success"
        event = _event(node.boundary or "", node.step, status, node.id)
        return {**event, "error": node.output.error if kinds else None, "loop": loop}

    def fail(self, node: Node, kinds: frozenset[object], result: Out) -> None:
        node.fatal, node.result = kinds, result

    # ------------------------------------------------------------------------------ scopes

    def inputs(self, given: Values) -> dict[str, object]:
        return {"input": given, "args": given} if self.playbook.dialect is Dialect.V10 else {"input": given}

    def scope(self, given: Values, event: Values) -> dict[str, object]:
        return {
            **self.workload,
            **self.outputs,
            "workload": self.workload,
            "ctx": self.ctx,
            "execution_id": self.request.execution_id,
            "event": event,
            **self.inputs(given),
        }

    def leaving(self, node: Node, given: Values, own: Values, event: Values) -> dict[str, object]:
        tool = self.steps[node.step].tool
        shown = seen(node.output, tool[-1].kind if tool else "", self.playbook.dialect)
        scope = self.scope(given, event)
        return {**scope, node.step: shown["output"], **shown, "step": own}

    def write(self, node: Node, patch: Patch, log: Iterable[tuple[str, object]] = ()) -> None:
        """`log` is what was to be seen in between."""
        self.ctx = patched(self.ctx, patch)
        if len(repr(self.ctx)) > CTX_LENGTH_MAX:
            raise Lost("ctx grows too large")
        node.writes.extend((("ctx", *path.split(".")), value) for path, value in (*log, *patch.items()))


def _join(door: Node, token: Token) -> None:
    door.tokens = (*door.tokens, token)
    if token.source is not None:
        door.sources.add(token.source)


def _event(name: str, step: str | None = None, status: str = "success", run: str | None = None) -> dict[str, object]:
    return {"name": name, "step": step, "status": status, "step_run_id": run, "error": None, "loop": None}


def _together(events: Iterable[Values]) -> dict[str, object]:
    """What several events have in common: which of them came last is unsure."""
    first, *others = events
    return {key: value if all(each[key] == value for each in others) else UNSURE for key, value in first.items()}


def _source(event: Values) -> dict[str, object]:
    return {"step": event["step"], "step_run_id": event["step_run_id"], "event": event["name"]}


def _reachable(start: str, steps: Mapping[str, Step]) -> frozenset[str]:
    found: set[str] = set()
    pending = [arc.step for arc in steps[start].next.arcs]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(arc.step for arc in steps[name].next.arcs)
    return frozenset(found)


def merged(outer: Values, inner: Values) -> dict[str, object]:
    """The request over the defaults; two mappings under one key are merged in turn."""
    result = dict(outer)
    for key, value in inner.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result
