"""The same as lines that follow each other, for logs and pipes: one a change that people look for."""

from datetime import datetime

from noetl.cli.live.words import duration
from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import step_of
from noetl.engine.output import Output
from noetl.playbook.model import Directive

PART = 10
"""Of how many parts of a loop one is told at least."""

EVERY_S = 30.0
"""The time between two words about the same loop is no shorter."""


TOLD_MAX = 10
"""Iterations of a loop that are told one by one for each thing that may happen to them; people look for the first."""


class Count:
    """How far a loop is, and when and where that was told last."""

    __slots__ = ("ended", "failed", "told", "told_at", "total")

    def __init__(self, total: int, ended: int, now: float) -> None:
        self.total = total
        self.ended = self.told = ended
        self.failed = 0
        self.told_at = now

    def see(self, now: float, *, is_failed: bool) -> bool:
        """Whether it is time to tell: a tenth further, and not too soon. The end is told elsewhere."""
        self.ended += 1
        self.failed += is_failed
        is_far = (self.ended - self.told) * PART >= self.total
        if not is_far or now - self.told_at < EVERY_S or self.ended >= self.total:
            return False
        self.told, self.told_at = self.ended, now
        return True


class PlainLines:
    """Loops tell how far they are now and then, and of iterations that fail, are tried again or wait the first ones."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._told: dict[str, dict[str, int]] = {}
        self._loops: dict[str, Count] = {}

    def of(self, event: Event) -> list[str]:
        at = datetime.fromtimestamp(event.timestamp).astimezone().strftime("%H:%M:%S")
        return [f"{at} {text}" for text in (self._text(event), self._count(event)) if text is not None]

    def _count(self, event: Event) -> str | None:
        fact = event.fact
        if isinstance(fact, e.LoopStarted) and not fact.path:
            kept = fact.kept.succeeded if fact.kept is not None else 0
            self._loops[fact.step_run_id] = Count(fact.count, kept, event.timestamp)
        elif isinstance(fact, e.StepFailed) or (isinstance(fact, e.LoopDone) and not fact.path):
            self._loops.pop(fact.step_run_id, None)
            self._told.pop(fact.step_run_id, None)
        elif isinstance(fact, e.IterationDone | e.IterationFailed) and not fact.call and len(fact.path) == 1:
            return self._counted(fact, event.timestamp)
        return None

    def _counted(self, fact: e.IterationDone | e.IterationFailed, now: float) -> str | None:
        count = self._loops.get(fact.step_run_id)
        if count is None or not count.see(now, is_failed=isinstance(fact, e.IterationFailed)):
            return None
        failed = f", {count.failed} failed" if count.failed else ""
        return f"{step_of(fact.step_run_id)}: {count.ended} of {count.total} done{failed}"

    def _text(self, event: Event) -> str | None:
        fact = event.fact
        match fact:
            case e.StepScheduled():
                self._began[fact.step_run_id] = event.timestamp
                return f"{fact.step} started"
            case e.StepSkipped():
                return f"{fact.step} skipped: not admitted"
            case e.LoopStarted(path=()):
                return f"{step_of(fact.step_run_id)} loops over {fact.count}"
            case e.StepDone():
                return f"{step_of(fact.step_run_id)} done in {self._took(fact.step_run_id, event)}"
            case e.LoopDone(path=()):
                counts = f"{fact.loop.succeeded} of {fact.loop.total} succeeded"
                return f"{step_of(fact.step_run_id)} done in {self._took(fact.step_run_id, event)}: {counts}"
            case e.StepFailed():
                return f"{step_of(fact.step_run_id)} failed{_why(fact.output)}"
            case e.IterationFailed(call=""):
                return self._bounded(fact, "fail", f"{event.iteration_id} failed{_why(fact.output)}")
            case e.TaskDone() if fact.directive is Directive.RETRY:
                happened = "retries" if fact.output.error is None else "failed and retries"
                return self._bounded(fact, "are tried again", f"{fact.task_run_id} {happened}{_why(fact.output)}")
            case e.TaskWaiting() if fact.child is not None:
                text = f"{fact.task_run_id} waits for playbook {fact.child.path}"
                return self._bounded(fact, "wait for playbooks", text)
            case e.TaskWaiting() if fact.due_at is not None:
                text = f"{fact.task_run_id} waits for {duration(fact.due_at - event.timestamp)}"
                return self._bounded(fact, "wait", text)
            case _:
                return None

    def _bounded(self, fact: e.IterationFailed | e.TaskDone | e.TaskWaiting, what: str, text: str) -> str | None:
        """What happens to iterations one by one, until it is plain that it happens to many."""
        if not fact.path:
            return text
        told = self._told.setdefault(fact.step_run_id, {})
        count = told[what] = told.get(what, 0) + 1
        if count <= TOLD_MAX:
            return text
        if count > TOLD_MAX + 1:
            return None
        return f"{step_of(fact.step_run_id)}: more iterations {what}, which is not told one by one"

    def _took(self, run: str, event: Event) -> str:
        return duration(event.timestamp - self._began.pop(run, event.timestamp))


def _why(output: Output) -> str:
    return f": {output.error.message}" if output.error is not None else ""
