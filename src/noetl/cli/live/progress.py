"""What is going on in an execution, gathered from its events as they come. Bounded, however long the run is."""

from collections.abc import Sequence
from typing import NamedTuple

from noetl.cli.live.words import item_label, retry_reason, visit
from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import step_of
from noetl.engine.output import Error, Output
from noetl.playbook.model import Directive


class Doing(NamedTuple):
    """What a pipeline is at. Where it retries, `why` says for what reason, and it waits until `due_at`."""

    text: str = ""
    is_retrying: bool = False
    due_at: float | None = None
    why: str = ""


class IterationLine:
    """One iteration in flight, or the one that ended last. `mark` is running, done or failed."""

    __slots__ = ("doing", "item", "label", "mark")

    def __init__(self, path: e.Path, item: str) -> None:
        self.label = f"[{','.join(map(str, path))}]"
        self.item = item
        self.mark = "running"
        self.doing = Doing()


class StepLine:
    """All runs of one step; times, counts and notes are those of the one that was scheduled last.

    `fate` is what came of it: pending, running, done, failed, cancelled, skipped, or kept in a rerun.
    `items` are the collections of its loops, by the path under which their iterations are numbered.
    """

    __slots__ = (
        "doing", "done", "ended", "ended_at", "error", "failed", "fate", "items", "last", "live", "name", "retries",
        "running", "runs", "started_at", "total",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs = 0
        self.retries = 0
        self.live: set[str] = set()
        self.fate = "pending"
        self.begin("", None)

    def begin(self, run: str, now: float | None) -> None:
        self.last = run
        self.started_at = now
        self.ended_at: float | None = None
        self.total: int | None = None
        self.done = self.failed = 0
        self.doing = Doing()
        self.error: Error | None = None
        self.running: dict[e.Path, IterationLine] = {}
        self.ended: IterationLine | None = None
        self.items: dict[e.Path, object] = {}

    @property
    def mark(self) -> str:
        return "running" if self.live else self.fate

    def end(self, run: str, fate: str, now: float | None, error: Error | None = None) -> None:
        self.live.discard(run)
        if run != self.last:
            return
        self.fate, self.ended_at, self.error, self.doing = fate, now, error, Doing()
        self.running, self.ended, self.items = {}, None, {}


class Progress:
    """`status` is that of the execution; `output` and `error` are there at its end."""

    def __init__(self, title: str, execution_id: str, steps: Sequence[str]) -> None:
        self.title = title
        self.execution_id = execution_id
        self.steps = {name: StepLine(name) for name in steps}
        self.status = "running"
        self.output: Output | None = None
        self.error: Error | None = None
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def see(self, event: Event) -> None:
        fact, now = event.fact, event.timestamp
        if self.started_at is None:
            self.started_at = now
        match fact:
            case e.WorkflowStarted() if fact.seed is not None:
                for step in fact.seed.outputs:
                    self.steps[step].fate = "kept"
            case e.WorkflowFinished():
                self.status, self.output, self.error, self.ended_at = fact.status, fact.output, fact.error, now
                self._end_all(now)
            case e.StepSkipped():
                self.steps[fact.step].fate = "skipped"
            case e.StepScheduled():
                self._scheduled(self.steps[fact.step], fact.step_run_id, now)
            case _:
                self._in_step(fact, now)

    def _scheduled(self, line: StepLine, run: str, now: float) -> None:
        line.runs += 1
        line.live.add(run)
        line.fate = "running"
        line.begin(run, now)

    def _end_all(self, now: float) -> None:
        for line in self.steps.values():
            for run in tuple(line.live):
                line.end(run, "failed" if self.status == "failed" else "cancelled", now)

    def _in_step(self, fact: e.Fact, now: float) -> None:
        run = getattr(fact, "step_run_id", None)
        line = self.steps.get(step_of(run)) if isinstance(run, str) else None
        if line is None or run is None:
            return
        match fact:
            case e.StepDone() | e.LoopDone(path=()):
                line.end(run, "done", now)
            case e.StepFailed():
                line.end(run, "failed", now, fact.output.error)
            case _:
                line.retries += isinstance(fact, e.TaskDone) and fact.directive is Directive.RETRY
                if run == line.last:
                    self._in_run(line, fact)

    def _in_run(self, line: StepLine, fact: e.Fact) -> None:
        match fact:
            case e.LoopStarted():
                _loop_started(line, fact)
            case e.IterationStarted(call=""):
                line.running[fact.path] = IterationLine(fact.path, _item(line, fact.path))
            case e.IterationDone(call="") | e.IterationFailed(call=""):
                _iteration_ended(line, fact)
            case e.TaskStarted():
                _note(line, fact.path, Doing(visit(fact.task_run_id)))
            case e.TaskDone() if fact.directive is Directive.RETRY:
                retrying = Doing(visit(fact.task_run_id), True, fact.due_at, retry_reason(fact.output))
                _note(line, fact.path, retrying)
            case e.TaskWaiting() if fact.child is not None:
                _note(line, fact.path, Doing(f"waits for {fact.child.path}"))
            case _:
                return


def _loop_started(line: StepLine, fact: e.LoopStarted) -> None:
    line.items[fact.path] = fact.collection
    if fact.path:
        return
    line.total = fact.count
    line.done = fact.kept.succeeded if fact.kept is not None else 0


def _item(line: StepLine, path: e.Path) -> str:
    return item_label(line.items.get(path[:-1]), path[-1])


def _iteration_ended(line: StepLine, fact: e.IterationDone | e.IterationFailed) -> None:
    is_failed = isinstance(fact, e.IterationFailed)
    if len(fact.path) == 1:
        line.done += not is_failed
        line.failed += is_failed
    line.items.pop(fact.path, None)
    ended = line.running.pop(fact.path, None)
    if ended is not None:
        ended.mark = "failed" if is_failed else "done"
        ended.doing = Doing(fact.output.error.message if fact.output.error is not None else "")
        line.ended = ended


def _note(line: StepLine, path: e.Path, doing: Doing) -> None:
    shown = line.running.get(path)
    if shown is not None:
        shown.doing = doing
    elif not path:
        line.doing = doing
