"""What the shell asks of the core. A command may be late, doubled or fenced, so it may be rejected."""

from collections.abc import Mapping, Sequence

import msgspec

from noetl.engine.events import (
    IterationDone,
    IterationFailed,
    IterationStarted,
    LoopStarted,
    Origin,
    Parent,
    Path,
    StepDone,
    StepFailed,
    StepScheduled,
    StepStarted,
    TaskDone,
    TaskStarted,
    TaskWaiting,
    WorkflowStarted,
)
from noetl.engine.output import Output

Reported = (
    StepStarted | TaskStarted | TaskDone | TaskWaiting | IterationStarted | IterationDone | IterationFailed
    | StepDone | StepFailed
)  # fmt: skip


class RequestExecution(msgspec.Struct, frozen=True):
    """`missing` names the keychain entries that could not be found; `seed` is what a rerun starts with."""

    path: str
    digest: str
    workload: Mapping[str, object] = {}
    version: str | None = None
    parent: Parent | None = None
    origin: Origin | None = None
    missing: Sequence[str] = ()
    trace_id: str | None = None
    seed: Sequence[WorkflowStarted | StepScheduled | LoopStarted] = ()


class Report(msgspec.Struct, frozen=True):
    """What a worker did under a lease, in order. All of it is taken or none."""

    step_run_id: str
    facts: Sequence[Reported]


class EndWait(msgspec.Struct, frozen=True):
    """A timer is due, or the child that a task run waited for has ended and brings its output.

    Where it `is_late`, the time in which the child should have ended is used up.
    """

    step_run_id: str
    path: Path
    task_run_id: str
    output: Output | None = None
    is_late: bool = False


class ExpireStep(msgspec.Struct, frozen=True):
    """A step run's time is used up; `reason` is `timeout` or `deadline`."""

    step_run_id: str
    reason: str


class FailPoison(msgspec.Struct, frozen=True):
    """Work that was delivered too often without a report. `path` is empty for a step without a loop."""

    step_run_id: str
    path: Path
    deliveries: int


class CancelExecution(msgspec.Struct, frozen=True):
    reason: str | None = None


class Continue(msgspec.Struct, frozen=True):
    """A transaction held enough facts and left the rest to this one. `steps` ran in it without waiting for work."""

    steps: int = 0


Command = RequestExecution | Report | EndWait | ExpireStep | FailPoison | CancelExecution | Continue


class Rejection(msgspec.Struct, frozen=True):
    """Why a command changed nothing. `kind`: ended, unknown, stale; or parked, which is for a while only."""

    kind: str
    message: str
