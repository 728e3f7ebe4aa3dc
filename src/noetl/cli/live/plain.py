"""The same as lines that follow each other, for logs and pipes: one a change that people look for."""

from datetime import datetime

from noetl.cli.live.words import duration
from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.names import step_of
from noetl.engine.output import Output
from noetl.playbook.model import Directive


class PlainLines:
    """Loops tell their counts at their end, not each iteration; failures and retries are always told."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def of(self, event: Event) -> str | None:
        text = self._text(event)
        if text is None:
            return None
        at = datetime.fromtimestamp(event.timestamp).astimezone().strftime("%H:%M:%S")
        return f"{at} {text}"

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
                return f"{event.iteration_id} failed{_why(fact.output)}"
            case e.TaskDone() if fact.directive is Directive.RETRY:
                happened = "retries" if fact.output.error is None else "failed and retries"
                return f"{fact.task_run_id} {happened}{_why(fact.output)}"
            case e.TaskWaiting() if fact.child is not None:
                return f"{fact.task_run_id} waits for playbook {fact.child.path}"
            case e.TaskWaiting() if fact.due_at is not None:
                return f"{fact.task_run_id} waits for {duration(fact.due_at - event.timestamp)}"
            case _:
                return None

    def _took(self, run: str, event: Event) -> str:
        return duration(event.timestamp - self._began.pop(run, event.timestamp))


def _why(output: Output) -> str:
    return f": {output.error.message}" if output.error is not None else ""
