"""What a report means for the lease that it was made under."""

from noetl.engine import events as e
from noetl.engine.commands import Report, Reported
from noetl.engine.worklist import Progress
from noetl.ports import Granted


def progress_of(granted: Granted, report: Report) -> Progress:
    """The indexes that the report speaks of, and which of them ended or wait. A pipeline without a loop is index 0."""
    begun = dict.fromkeys(_index(fact) for fact in report.facts if not isinstance(fact, e.StepStarted))
    ended = tuple(_index(fact) for fact in report.facts if _is_end(fact))
    parked = tuple(_index(fact) for fact in report.facts if isinstance(fact, e.TaskWaiting))
    return Progress(granted.row, granted.lease.epoch, tuple(begun), ended, parked)


def _index(fact: Reported) -> int:
    if isinstance(fact, e.StepStarted | e.StepDone | e.StepFailed) or not fact.path:
        return 0
    return fact.path[-1]


def _is_end(fact: Reported) -> bool:
    match fact:
        case e.IterationDone(call="") | e.IterationFailed(call="") | e.StepDone() | e.StepFailed():
            return True
        case _:
            return False
