"""The execution tree, read whole from the log: step runs, iterations, task runs and child executions.

One pass over the events. Of a huge loop it keeps the counts of all iterations and the nodes of one page.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import entity_id
from noetl.engine.output import Error, Status
from noetl.playbook.model import Directive

PAGE_SIZE_DEFAULT = 100


class Kind(StrEnum):
    EXECUTION = "execution"
    STEP = "step"
    ITERATION = "iteration"
    TASK = "task"


class State(StrEnum):
    SCHEDULED = "scheduled"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    RETRIED = "retried"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


ENDED = frozenset({State.DONE, State.FAILED, State.RETRIED, State.SKIPPED, State.CANCELLED})


class Counts(msgspec.Struct, frozen=True):
    """The iterations of one loop, those outside the page included. `kept` ones succeeded in the origin of a rerun."""

    total: int
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    kept: int = 0


class Page(msgspec.Struct, frozen=True):
    """Which iterations are shown of the loop right below the node `of`, or else of each step's outermost loop.

    Of all other loops the first ones are shown, as many.
    """

    first: int = 0
    size: int = PAGE_SIZE_DEFAULT
    of: str | None = None

    def shows(self, parent: "Node", index: int) -> bool:
        is_turned = parent.id == self.of if self.of is not None else parent.kind is Kind.STEP
        first = self.first if is_turned else 0
        return first <= index < first + self.size


class Node(msgspec.Struct):
    """`id` is derived, the same on every reading. `loop` counts the iterations of a loop right below this node."""

    id: str
    kind: Kind
    name: str
    status: State
    started_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    loop: Counts | None = None
    children: list["Node"] = []


def tree(execution_id: str, events: Iterable[Event], page: Page | None = None) -> Node:
    """The whole tree of a log; with a page, only these iterations of each loop."""
    grower = _Grower(execution_id, page)
    for event in events:
        grower.take(event)
    return grower.root


class _Grower:
    """`turns` are the iterations of looped workbook blocks that run now, `turn_counts` how many there were."""

    def __init__(self, execution_id: str, page: Page | None) -> None:
        self.root = Node(execution_id, Kind.EXECUTION, "", State.SCHEDULED, children=[])
        self.page = page
        self.nodes: dict[str, Node] = {}
        self.skips: dict[str, int] = {}
        self.turns: dict[str, e.Path] = {}
        self.turn_counts: dict[str, int] = {}

    def take(self, event: Event) -> None:  # noqa: C901, PLR0912
        fact = event.fact
        match fact:
            case e.ExecutionRequested():
                self.root.name, self.root.started_at = fact.path, event.timestamp
            case e.WorkflowStarted():
                self.root.status = State.RUNNING
            case e.StepScheduled():
                self.add(self.root, Node(fact.step_run_id, Kind.STEP, fact.step, State.SCHEDULED), event)
            case e.StepSkipped():
                self.skipped(fact, event)
            case e.StepStarted():
                self.change(fact.step_run_id, State.RUNNING)
            case e.LoopStarted():
                self.loop_started(fact)
            case e.IterationStarted():
                self.iteration_started(fact, event)
            case e.IterationDone() | e.IterationFailed():
                self.iteration_ended(fact, event)
            case e.TaskStarted():
                self.task_started(fact, event)
            case e.TaskDone():
                self.task_done(fact, event)
            case e.TaskWaiting():
                self.waiting(fact, event)
            case e.StepDone() | e.LoopDone(path=()):
                self.end(fact.step_run_id, State.DONE, event)
            case e.StepFailed():
                self.end(fact.step_run_id, State.FAILED, event, _message(fact.output.error))
            case e.WorkflowFinished():
                self.finished(fact, event)
            case _:
                pass

    def add(self, parent: Node, node: Node, event: Event) -> None:
        node.started_at = event.timestamp
        parent.children.append(node)
        self.nodes[node.id] = node

    def change(self, id_: str, status: State) -> None:
        node = self.nodes.get(id_)
        if node is not None:
            node.status = status

    def end(self, id_: str, status: State, event: Event, error: str | None = None) -> None:
        node = self.nodes.get(id_)
        if node is not None:
            node.status, node.ended_at, node.error = status, event.timestamp, error

    def skipped(self, fact: e.StepSkipped, event: Event) -> None:
        """A step that was skipped has no run and so no number; its skips are counted instead."""
        number = self.skips[fact.step] = self.skips.get(fact.step, 0) + 1
        node = Node(f"{fact.step}#skipped-{number}", Kind.STEP, fact.step, State.SKIPPED, error=fact.reason)
        self.add(self.root, node, event)
        node.ended_at = event.timestamp

    def loop_started(self, fact: e.LoopStarted) -> None:
        node = self.nodes.get(entity_id(fact.step_run_id, fact.path))
        if node is not None:
            kept = fact.kept.succeeded if fact.kept is not None else 0
            node.loop = Counts(fact.count, succeeded=kept, kept=kept)
            node.status = State.RUNNING

    def iteration_started(self, fact: e.IterationStarted, event: Event) -> None:
        if fact.call:
            self.turn_started(fact.call, event)
            return
        parent = self.nodes.get(entity_id(fact.step_run_id, fact.path[:-1]))
        if parent is None or parent.loop is None:
            return
        parent.loop = msgspec.structs.replace(parent.loop, started=parent.loop.started + 1)
        self.add_iteration(parent, entity_id(fact.step_run_id, fact.path), fact.path[-1], event)

    def turn_started(self, call: str, event: Event) -> None:
        """An iteration of a looped block. Its index is the number of those before it, one at a time."""
        if call not in self.nodes:
            return
        path = self.turns.get(call, ())
        around = entity_id(call, path)
        index = self.turn_counts.get(around, 0)
        self.turn_counts[around] = index + 1
        self.turns[call] = (*path, index)
        parent = self.nodes.get(around)
        if parent is not None:
            self.add_iteration(parent, entity_id(call, (*path, index)), index, event)

    def add_iteration(self, parent: Node, id_: str, index: int, event: Event) -> None:
        if self.page is None or self.page.shows(parent, index):
            self.add(parent, Node(id_, Kind.ITERATION, str(index), State.RUNNING), event)

    def iteration_ended(self, fact: e.IterationDone | e.IterationFailed, event: Event) -> None:
        is_done = isinstance(fact, e.IterationDone)
        status = State.DONE if is_done else State.FAILED
        if fact.call:
            self.turn_ended(fact, status, event)
            return
        parent = self.nodes.get(entity_id(fact.step_run_id, fact.path[:-1]))
        if parent is not None and parent.loop is not None:
            loop = parent.loop
            parent.loop = msgspec.structs.replace(
                loop, succeeded=loop.succeeded + is_done, failed=loop.failed + (not is_done)
            )
        self.end(entity_id(fact.step_run_id, fact.path), status, event, _message(fact.output.error))

    def turn_ended(self, fact: e.IterationDone | e.IterationFailed, status: State, event: Event) -> None:
        path = self.turns.get(fact.call)
        if path:
            self.turns[fact.call] = path[:-1]
            self.end(entity_id(fact.call, path), status, event, _message(fact.output.error))

    def task_started(self, fact: e.TaskStarted, event: Event) -> None:
        parent = self.holder(fact)
        if parent is not None:
            self.add(parent, Node(fact.task_run_id, Kind.TASK, fact.task, State.RUNNING), event)

    def task_done(self, fact: e.TaskDone, event: Event) -> None:
        if not fact.ran:
            self.decided_before(fact, event)
        self.end(fact.task_run_id, _status(fact), event, _message(fact.output.error))

    def decided_before(self, fact: e.TaskDone, event: Event) -> None:
        """A `before` rule decided without a run. The visit has a number all the same."""
        parent = self.holder(fact)
        if parent is not None:
            self.add(parent, Node(fact.task_run_id, Kind.TASK, fact.task, State.SKIPPED), event)

    def holder(self, fact: e.TaskStarted | e.TaskDone) -> Node | None:
        """The task run that called the block, or the iteration, or the step run."""
        caller = self.nodes.get(fact.task_run_id.rpartition(".")[0])
        return caller or self.nodes.get(entity_id(fact.step_run_id, fact.path))

    def waiting(self, fact: e.TaskWaiting, event: Event) -> None:
        node = self.nodes.get(fact.task_run_id)
        if node is None:
            return
        if fact.child is not None and not fact.is_over:
            child = Node(fact.child.execution_id, Kind.EXECUTION, fact.child.path, State.RUNNING)
            self.add(node, child, event)
        node.status = State.RUNNING if fact.is_over else State.WAITING
        if fact.is_over and fact.output is not None:
            for child in node.children:
                self.child_ended(child, fact, event)

    def child_ended(self, child: Node, fact: e.TaskWaiting, event: Event) -> None:
        assert fact.output is not None
        error = fact.output.error
        status = State.DONE
        if error is not None:
            is_cancelled = error.kind == "cancelled" or fact.cancels is not None
            status = State.CANCELLED if is_cancelled else State.FAILED
        self.end(child.id, status, event, _message(error))

    def finished(self, fact: e.WorkflowFinished, event: Event) -> None:
        ends = {"completed": State.DONE, "failed": State.FAILED, "cancelled": State.CANCELLED}
        self.root.status, self.root.ended_at = ends[fact.status], event.timestamp
        self.root.error = _message(fact.error)
        for node in self.nodes.values():
            if node.status not in ENDED:
                node.status, node.ended_at = State.CANCELLED, event.timestamp


def _status(fact: e.TaskDone) -> State:
    if fact.directive is Directive.RETRY:
        return State.RETRIED
    if fact.directive is Directive.SKIP or not fact.ran:
        return State.SKIPPED if fact.directive is not Directive.FAIL else State.FAILED
    return State.FAILED if fact.output.status is Status.ERROR else State.DONE


def _message(error: Error | None) -> str | None:
    return error.message if error is not None else None
