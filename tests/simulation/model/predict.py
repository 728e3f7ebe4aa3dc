"""What a playbook must come to, foretold from its text and the answers of its tools."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from noetl.playbook.model import Playbook
from tests.simulation.model.expected import Expected, ExpectedRun, ExpectedTask
from tests.simulation.model.outputs import NOTHING, Out, failure, mistake
from tests.simulation.model.pipelines import Outcome
from tests.simulation.model.races import ancestors, candidates, conflicts
from tests.simulation.model.values import UNSURE, Lost, Place, Raced, is_unsure
from tests.simulation.model.workflow import Node, Request, Workflow

PASSES = 6
"""Each pass knows more of what branches may change for each other."""

Callee = Callable[[str], Playbook | None]
"""The playbook at a path, if there is one."""


def predict(
    playbook: Playbook,
    outcome: Outcome,
    callee: Callee,
    *,
    execution_id: str = "x",
    workload: Mapping[str, object] | None = None,
    expired: Mapping[str, frozenset[str]] | None = None,
    executions_max: int = 30,
) -> Expected:
    """`expired` names step runs and children, by execution, whose time was used up: how far they came, nobody knows."""
    family = _Family(outcome, callee, expired or {}, executions_max)
    found = family.member(playbook, execution_id, workload or {})
    return found if len(family.ids) <= executions_max else Expected(execution_id, doubts=("too many executions",))


class _Family:
    """An execution and those that it starts."""

    def __init__(
        self, outcome: Outcome, callee: Callee, expired: Mapping[str, frozenset[str]], executions_max: int
    ) -> None:
        self.outcome = outcome
        self.callee = callee
        self.expired = expired
        self.executions_max = executions_max
        self.known: dict[str, tuple[object, Expected]] = {}
        self.ids: set[str] = {"the first"}

    def member(self, playbook: Playbook, execution_id: str, workload: Mapping[str, object]) -> Expected:
        request = Request(
            playbook, execution_id, workload, self.outcome, self.child, self.expired.get(execution_id, frozenset())
        )
        read: frozenset[Place] = frozenset()
        written: frozenset[Place] = frozenset()
        raced: Raced = {}
        for _ in range(PASSES):
            flow = Workflow(request, raced).run()
            more_read, more_written = conflicts(flow.nodes)
            read, written = read | more_read, written | more_written
            known, raced = raced, candidates(flow.nodes, read | written, raced)
            if flow.lost is not None or repr(known) == repr(raced):
                return _Judgement(flow, written, self.known).expected()
        return Expected(execution_id, doubts=("branches change each other's course too often",))

    def child(self, execution_id: str, fields: Mapping[str, object], own: Mapping[str, object]) -> Out:
        path = fields.get("path")
        if not isinstance(path, str) or not path:
            return failure("input")
        playbook = self.callee(path)
        self.ids.add(execution_id)
        if playbook is None or len(self.ids) > self.executions_max:
            raise Lost("a playbook that cannot be called")
        if is_unsure(own):
            raise Lost("a child with an unsure workload")
        if any(execution_id in late for late in self.expired.values()):
            return self.given_up(execution_id, own)
        if execution_id not in self.known or self.known[execution_id][0] != own:
            self.known[execution_id] = (own, self.member(playbook, execution_id, own))
        returned = fields.get("return_step")
        return _answer(self.known[execution_id][1], str(returned) if returned is not None else None)

    def given_up(self, execution_id: str, own: Mapping[str, object]) -> Out:
        """A child that took longer than its caller waits for it."""
        self.known[execution_id] = (own, Expected(execution_id, doubts=("its caller did not wait for it",)))
        blocks = {"playbook": {"execution_id": execution_id, "status": "cancelled"}}
        return Out("error", error={**mistake("timeout"), "retryable": True}, blocks=blocks)


def _answer(child: Expected, return_step: str | None) -> Out:
    """What the caller of a child gets."""
    blocks = {"playbook": {"execution_id": child.execution_id, "status": child.status}}
    if child.status is UNSURE:
        raise Lost("a child that may end in several ways")
    if child.status != "completed":
        return msgspec.structs.replace(failure("playbook_failed"), blocks=blocks)
    if return_step is not None:
        found = child.outputs.get(return_step)
        if found is UNSURE:
            raise Lost("a return step with several results")
        if not isinstance(found, Mapping) or found["status"] == "error":
            return msgspec.structs.replace(failure("playbook_failed"), blocks=blocks)
        return Out(data=found["data"], ref=found["ref"], blocks=blocks)
    results = child.results
    if not isinstance(results, tuple) or len(results) != 1:
        return Out(data=UNSURE, ref=UNSURE, blocks=blocks)
    return Out(data=results[0].data, ref=results[0].ref, blocks=blocks)


class _Judgement:
    """What is left of one order of things when all others are thought of."""

    def __init__(self, flow: Workflow, written: frozenset[Place], known: Mapping[str, tuple[object, Expected]]) -> None:
        self.flow = flow
        self.written = written
        self.known = known
        self.before = ancestors(flow.nodes)
        self.fatal = [index for index, node in enumerate(flow.nodes) if node.fatal]

    def expected(self) -> Expected:
        flow = self.flow
        if flow.lost is not None:
            return self.part()
        must = self.must()
        everything = len(must) == len(flow.nodes)
        return Expected(
            flow.request.execution_id,
            "failed" if self.fatal or flow.deadlock else "completed",
            self.error_kinds(),
            self.ctx(must),
            self.results(),
            *self.ran(must),
            flow.skipped if everything else UNSURE,
            self.outputs(),
            self.children(must),
            is_closed=True,
            doubts=self.doubts(must),
        )

    def part(self) -> Expected:
        """The model lost its way: it can only tell what ran before that, while nothing ran beside it."""
        alone = {index for index, node in enumerate(self.flow.nodes) if node.id is not None and node.is_alone}
        runs, tasks = self.ran(alone, only=alone)
        return Expected(
            self.flow.request.execution_id,
            runs=runs,
            tasks=tasks,
            children=self.children(alone, only=alone),
            doubts=(self.flow.lost or "",),
        )

    def must(self) -> set[int]:
        """What runs in every order. A failure leaves open what had begun before it, but not what led to it."""
        found = set(range(len(self.flow.nodes)))
        for index in self.fatal:
            found &= self.before[index] | {index}
        return found

    def ran(
        self, must: set[int], only: set[int] | None = None
    ) -> tuple[dict[str, ExpectedRun], dict[str, ExpectedTask]]:
        runs: dict[str, ExpectedRun] = {}
        tasks: dict[str, ExpectedTask] = {}
        for index, node in enumerate(self.flow.nodes):
            if node.id is None or (only is not None and index not in only):
                continue
            is_must = index in must
            loop = node.loop if node.boundary is not None else UNSURE
            runs[node.id] = ExpectedRun(node.boundary or UNSURE, loop, is_must)
            is_cut = node.boundary is None and self.flow.steps[node.step].loop is not None
            of_task = is_must and not node.is_shaky and not is_cut
            tasks |= {name: ExpectedTask(directive, of_task) for name, directive in node.tasks.items()}
        return runs, tasks

    def children(self, must: set[int], only: set[int] | None = None) -> dict[str, Expected]:
        found: dict[str, Expected] = {}
        for index, node in enumerate(self.flow.nodes):
            if only is None or index in only:
                is_must = index in must and not node.is_shaky and node.boundary is not None
                for name in node.children:
                    if name in self.known:
                        found[name] = msgspec.structs.replace(self.known[name][1], must=is_must)
        return found

    def error_kinds(self) -> frozenset[object]:
        if self.flow.deadlock and not self.fatal:
            return frozenset({"admission_deadlock"})
        return frozenset(kind for index in self.fatal for kind in self.flow.nodes[index].fatal)

    def ctx(self, must: set[int]) -> dict[str, object]:
        """Keys that raced, or that were written by what may not have run, are unsure."""
        doubtful = {place[1:] for place in self.written if place[0] == "ctx"}
        for index, node in enumerate(self.flow.nodes):
            if index not in must:
                doubtful |= {place[1:] for place, _ in node.writes if place[0] == "ctx"}
        found = {key: UNSURE if is_unsure(value) else value for key, value in self.flow.ctx.items()}
        for keys in doubtful:
            found[keys[0]] = UNSURE
        return found

    def results(self) -> tuple[Out, ...]:
        nodes = self.flow.nodes
        if self.fatal:
            return _each_once(nodes[index].result for index in self.fatal)
        if self.flow.deadlock:
            return (NOTHING,)
        leaves = [index for index, node in enumerate(nodes) if node.is_leaf]
        last = [index for index in leaves if not any(index in self.before[other] for other in leaves)]
        return _each_once(nodes[index].output for index in last) or (NOTHING,)

    def outputs(self) -> dict[str, object]:
        raced = {place[1] for place in self.written if place[0] == "out"}
        return {name: UNSURE if name in raced else output for name, output in self.flow.outputs.items()}

    def doubts(self, must: set[int]) -> tuple[str, ...]:
        nodes: Sequence[Node] = self.flow.nodes
        found = []
        if len(must) < len(nodes):
            found.append("a failure beside other branches")
        if self.written:
            found.append("branches write the same")
        if len(self.results()) > 1:
            found.append("several leaves or failures")
        if any(node.is_shaky for node in nodes):
            found.append("a parallel loop that stops at a failure")
        if any(node.loop is UNSURE and not node.is_shaky for node in nodes):
            found.append("a loop that broke")
        return tuple(found)


def _each_once(outputs: Iterable[Out]) -> tuple[Out, ...]:
    """Those that differ in what an execution gives: its data."""
    return tuple({repr((output.data, output.ref)): output for output in outputs}.values())
