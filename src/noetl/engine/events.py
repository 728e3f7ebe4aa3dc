"""The facts of an execution. Each body is what happened; the envelope says when, where and in what order.

A body is only ever added to: a field that an older log lacks has a default.
"""

from collections.abc import Mapping, Sequence

import msgspec

from noetl.engine.gathering import Intervals
from noetl.engine.output import NOTHING, Error, Loop, Output
from noetl.playbook.model import Directive, LoopMode

EVENT_VERSION = 1

Values = Mapping[str, object]
Path = tuple[int, ...]
"""The indexes of an iteration, from the outermost loop to the innermost."""


class Body(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What all facts have in common: nothing but being one. A fact is a tree, so no circle is ever to be collected."""


class Parent(msgspec.Struct, frozen=True):
    """The task run that started a child execution, how deep the child stands, and which step's output it wants.

    `share` is how many children the child may start.
    """

    execution_id: str
    step_run_id: str
    path: Path
    task_run_id: str
    depth: int
    return_step: str | None = None
    share: int = 0


class Origin(msgspec.Struct, frozen=True):
    """The execution that a rerun goes on from, and where it was cut.

    `digest` is that of the playbook that the origin ran, where the rerun runs another text of it.
    """

    execution_id: str
    seq: int
    from_step: str | None = None
    failed_iterations: bool = False
    digest: str | None = None


class ExecutionRequested(Body, frozen=True):
    path: str
    digest: str
    version: str | None = None
    workload: object = {}
    parent: Parent | None = None
    origin: Origin | None = None
    trace_id: str | None = None


class RequestEvaluated(Body, frozen=True):
    workload: object = {}
    keychain: Sequence[str] = ()
    entry_step: str = ""
    error: Error | None = None


class Trigger(msgspec.Struct, frozen=True, omit_defaults=True):
    """The boundary event that sent a token; templates read it as `event`."""

    name: str
    step: str | None = None
    status: str = "success"
    step_run_id: str | None = None
    error: Error | None = None
    loop: Loop | None = None


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """Permission to run a step. `args` is the v10 payload."""

    step: str
    trigger: Trigger
    args: Values = {}


class Seed(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rerun takes over from its origin: scopes, outputs and run numbers, and the tokens it begins with.

    `begun` are steps whose last run had failed or not ended, by that run: the children that it had can go on.
    """

    tokens: Sequence[Token]
    ctx: Values = {}
    outputs: Values = {}
    counts: Mapping[str, int] = {}
    output: Output = NOTHING
    begun: Mapping[str, str] = {}


class WorkflowStarted(Body, frozen=True):
    entry_step: str
    seed: Seed | None = None


class StepScheduled(Body, frozen=True):
    step_run_id: str
    step: str
    input: object = {}
    tokens: Sequence[Token] = ()
    timeout_s: float | None = None
    deadline_at: float | None = None


class StepSkipped(Body, frozen=True):
    """`rule` is the admission rule that denied, or null where none matched."""

    step: str
    tokens: Sequence[Token]
    reason: str = "denied"
    rule: int | None = None


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The iterations of a rerun's loop that had succeeded in its origin and do not run again.

    Data that grew too large to be carried is in the origin's log, under `execution_id` and `step_run_id`.
    `overlay` is what a sequential loop inside another wrote to ctx. `begun` are the loops inside iterations that had
    begun: each goes on, with what it has kept, when its iteration opens.
    """

    execution_id: str
    step_run_id: str
    ended: Intervals
    succeeded: int
    data_bytes: int = 0
    step: Values = {}
    overlay: Values = {}
    begun: "tuple[LoopStarted, ...]" = ()


class LoopStarted(Body, frozen=True):
    step_run_id: str
    path: Path
    count: int
    collection: object
    mode: LoopMode
    max_in_flight: int
    kept: Kept | None = None


class LoopDone(Body, frozen=True):
    step_run_id: str
    path: Path
    output: Output
    loop: Loop


class PatchOrigin(msgspec.Struct, frozen=True, omit_defaults=True):
    """What wrote to ctx: the place in the playbook and the run."""

    path: str
    step_run_id: str | None = None
    task_run_id: str | None = None
    iteration: Path = ()


class CtxPatched(Body, frozen=True):
    patch: Values
    origin: PatchOrigin


class NextEvaluated(Body, frozen=True):
    """`arcs` tells of each arc whether its guard was true or false, or null where it was not evaluated."""

    step_run_id: str
    step: str
    trigger: Trigger
    arcs: Sequence[bool | None]
    tokens: Sequence[Token] = ()
    error: Error | None = None


class ExecutionCancelled(Body, frozen=True, omit_defaults=False):
    reason: str | None = None
    status: str = "cancelled"


class WorkflowFinished(Body, frozen=True):
    """`children` are the child executions that are still live and must end too."""

    status: str
    output: Output
    error: Error | None = None
    children: Sequence[str] = ()


class PlaybookProcessed(Body, frozen=True):
    status: str


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one `set` wrote, by scope; keys are paths inside the scope."""

    ctx: Values = {}
    step: Values = {}
    iter: Values = {}


NO_PATCH = Patch()
"""The patch of a fact that has none in its log, so that it can be told without a look inside."""


class StepStarted(Body, frozen=True):
    step_run_id: str
    worker: str = ""


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workbook block entered, with the first loop of a looped one; `parent` is the caller's `iter`."""

    block: str
    input: Values = {}
    loop: "BlockLoop | None" = None
    parent: Values | None = None


class BlockLoop(msgspec.Struct, frozen=True):
    """The collection of a loop inside a workbook block."""

    iterator: str
    items: Sequence[object]


class TaskStarted(Body, frozen=True):
    """`key` is the idempotency key: the id of the first run of this visit.

    `patch` is what a `before` rule wrote, and `rule` its position.
    """

    step_run_id: str
    path: Path
    task_run_id: str
    task: str
    attempt: int
    key: str
    call: Call | None = None
    patch: Patch = NO_PATCH
    rule: int | None = None


class TaskDone(Body, frozen=True):
    """One run of a task, or a `before` rule that decided without one (`ran` is false).

    `next` is the index of the task to go on with, or null when the pipeline ends here.
    """

    step_run_id: str
    path: Path
    task_run_id: str
    task: str
    attempt: int
    output: Output
    directive: Directive
    next: int | None
    patch: Patch = NO_PATCH
    ran: bool = True
    due_at: float | None = None
    rule: int | None = None


class Child(msgspec.Struct, frozen=True, omit_defaults=True):
    """`number` counts the children of an execution; the server gives it."""

    execution_id: str
    path: str
    workload: object = {}
    version: str | None = None
    return_step: str | None = None
    number: int = 1


class TaskWaiting(Body, frozen=True):
    """The pipeline holds no worker until `due_at`, or until the child execution ends.

    The same fact with `is_over` ends the wait; for a child it brings the child's output. Where a child has a `due_at`,
    that is when its time is used up; the fact that then ends the wait names in `cancels` the execution to cancel.
    """

    step_run_id: str
    path: Path
    task_run_id: str
    due_at: float | None = None
    child: Child | None = None
    is_over: bool = False
    output: Output | None = None
    cancels: str | None = None


class IterationStarted(Body, frozen=True):
    """`call` names the task run of a looped workbook block, whose iterations are steps of one pipeline.

    `turn` numbers the iteration of such a block; `loop` is the loop inside it, where there is one.
    """

    step_run_id: str
    path: Path
    call: str = ""
    loop: BlockLoop | None = None
    by_server: bool = False
    turn: Path = ()


class IterationDone(Body, frozen=True):
    step_run_id: str
    path: Path
    output: Output
    ctx: Values = {}
    reduced: Values = {}
    step: Values = {}
    call: str = ""
    by_server: bool = False
    turn: Path = ()


class IterationFailed(Body, frozen=True):
    """`children` are the child executions that it waited for, which must end too."""

    step_run_id: str
    path: Path
    output: Output
    call: str = ""
    by_server: bool = False
    children: Sequence[str] = ()
    turn: Path = ()


class StepDone(Body, frozen=True):
    step_run_id: str
    output: Output
    by_server: bool = False


class StepFailed(Body, frozen=True):
    """`children` are the child executions that it waited for, which must end too."""

    step_run_id: str
    output: Output
    loop: Loop | None = None
    by_server: bool = False
    children: Sequence[str] = ()


Fact = (
    ExecutionRequested | RequestEvaluated | WorkflowStarted | StepScheduled | StepSkipped
    | LoopStarted | LoopDone | CtxPatched | NextEvaluated | ExecutionCancelled | WorkflowFinished
    | PlaybookProcessed | StepStarted | TaskStarted | TaskDone | TaskWaiting
    | IterationStarted | IterationDone | IterationFailed | StepDone | StepFailed
)  # fmt: skip
