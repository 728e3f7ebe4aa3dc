"""What is going on in an execution, gathered from its events as they come. Bounded, however long the run is."""

from collections import Counter
from collections.abc import Sequence

from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import step_of
from noetl.engine.output import Error, Output, Status
from noetl.playbook.model import Directive

RECENT_MAX = 3
"""Iterations that are shown beside the counts of a loop."""


class IterationLine:
    """One iteration in flight, or one that ended a moment ago."""

    __slots__ = ("due_at", "label", "mark", "note", "since")

    def __init__(self, label: str, since: float) -> None:
        self.label = label
        self.since = since
        self.mark = "running"
        self.note = ""
        self.due_at: float | None = None


class StepLine:
    """All runs of one step. `mark` is pending, running, waiting, done, failed or skipped."""

    __slots__ = (
        "done", "ended_at", "error", "failed", "iterations", "mark", "name", "note", "retries", "runs",
        "started_at", "total",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.mark = "pending"
        self.runs = 0
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.total: int | None = None
        self.done = 0
        self.failed = 0
        self.retries = 0
        self.note = ""
        self.error: Error | None = None
        self.iterations: dict[e.Path, IterationLine] = {}


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
        self.counts: Counter[str] = Counter()

    def see(self, event: Event) -> None:
        fact, now = event.fact, event.timestamp
        if self.started_at is None:
            self.started_at = now
        self.counts[event.name] += 1
        match fact:
            case e.WorkflowFinished():
                self.status, self.output, self.error, self.ended_at = fact.status, fact.output, fact.error, now
                self._end_all(now)
            case e.StepSkipped():
                self.steps[fact.step].mark = "skipped"
            case e.StepScheduled():
                self._scheduled(self.steps[fact.step], now)
            case _:
                self._in_step(fact, now)

    def _scheduled(self, line: StepLine, now: float) -> None:
        line.runs += 1
        line.mark, line.ended_at, line.total, line.done, line.failed = "running", None, None, 0, 0
        line.started_at = now
        line.iterations.clear()

    def _end_all(self, now: float) -> None:
        for line in self.steps.values():
            line.iterations.clear()
            if line.mark in ("running", "waiting"):
                line.mark, line.ended_at = ("failed" if self.status == "failed" else "cancelled"), now

    def _in_step(self, fact: e.Fact, now: float) -> None:
        run = getattr(fact, "step_run_id", None)
        line = self.steps.get(step_of(run)) if isinstance(run, str) else None
        if line is None:
            return
        match fact:
            case e.LoopStarted(path=()):
                line.total = fact.count
            case e.IterationStarted(call="", by_server=False) | e.IterationStarted(call=""):
                line.iterations[fact.path] = IterationLine(f"[{','.join(map(str, fact.path))}]", now)
                self._trim(line)
            case e.IterationDone(call="") | e.IterationFailed(call=""):
                self._iteration_ended(line, fact)
            case e.TaskStarted():
                self._note(line, fact.path, fact.task, None)
            case e.TaskDone():
                self._task_done(line, fact)
            case e.TaskWaiting():
                self._waiting(line, fact)
            case e.StepDone() | e.LoopDone(path=()):
                line.mark, line.ended_at, line.note = "done", now, ""
                line.iterations.clear()
            case e.StepFailed():
                line.mark, line.ended_at, line.error, line.note = "failed", now, fact.output.error, ""
                line.iterations.clear()
            case _:
                return

    def _iteration_ended(self, line: StepLine, fact: e.IterationDone | e.IterationFailed) -> None:
        is_failed = isinstance(fact, e.IterationFailed)
        if len(fact.path) == 1:
            line.done += not is_failed
            line.failed += is_failed
        ended = line.iterations.get(fact.path)
        if ended is not None:
            ended.mark, ended.due_at = ("failed" if is_failed else "done"), None
            ended.note = fact.output.error.message if is_failed and fact.output.error is not None else ""
            self._trim(line)

    def _task_done(self, line: StepLine, fact: e.TaskDone) -> None:
        if fact.directive is not Directive.RETRY:
            return
        line.retries += 1
        why = _why(fact.output)
        self._note(line, fact.path, f"{fact.task} retries{f' ({why})' if why else ''}", fact.due_at)

    def _waiting(self, line: StepLine, fact: e.TaskWaiting) -> None:
        if fact.child is not None:
            self._note(line, fact.path, f"waits for {fact.child.path}", None)
        elif not fact.is_over:
            self._note(line, fact.path, "waits", fact.due_at)

    def _note(self, line: StepLine, path: e.Path, note: str, due_at: float | None) -> None:
        shown = line.iterations.get(path)
        if shown is not None:
            shown.note, shown.due_at = note, due_at
        elif not path:
            line.note = note

    def _trim(self, line: StepLine) -> None:
        """Keeps what runs, and of what ended only the last."""
        over = [path for path, each in line.iterations.items() if each.mark != "running"]
        for path in over[: max(0, len(over) - 1)]:
            del line.iterations[path]


def _why(output: Output) -> str:
    http = output.blocks.get("http")
    if isinstance(http, dict) and isinstance(http.get("status"), int):
        return str(http["status"])
    return output.error.kind if output.status is Status.ERROR and output.error is not None else ""
