"""What an execution has come to, folded from its events. Only `evolve` changes it.

Its size follows what is in flight and the playbook, never how much has been done.
"""

import msgspec

from noetl.engine.cursor import Cursor
from noetl.engine.events import LoopStarted, Origin, Parent, Path, Token, Trigger, Values
from noetl.engine.gathering import Intervals
from noetl.engine.output import NOTHING, Error, Output
from noetl.playbook.model import LoopMode

STATE_VERSION = 4
"""A snapshot of another version is ignored and folded anew."""

FAILURES_MAX = 10
"""Failed iterations of a step that people are told of one by one; of the others they learn the count."""


class Iteration(msgspec.Struct):
    """One iteration in flight: a pipeline at its cursor, or the loop inside it."""

    cursor: Cursor | None = None
    loop: "LoopRun | None" = None
    is_parked: bool = False


class LoopRun(msgspec.Struct):
    """A loop of a step run. `next` is the first index never started; `live` are those started and not ended.

    `step` is what an iteration starts with. `overlay` is what the iterations of a sequential loop inside another
    wrote to ctx so far: it becomes part of the outer iteration's writes. In a rerun `begun` are the loops that go on
    inside iterations not yet opened.
    """

    path: Path
    level: int
    count: int
    collection: object
    mode: LoopMode
    max_in_flight: int
    next: int = 0
    live: dict[int, Iteration] = {}
    ended: Intervals = msgspec.field(default_factory=lambda: Intervals([], [], []))
    succeeded: int = 0
    failed: int = 0
    failure: Output | None = None
    data_bytes: int = 0
    step: Values = {}
    overlay: Values = {}
    begun: dict[int, LoopStarted] = {}


class StepRun(msgspec.Struct):
    """`boundary` is there once the run has ended and waits to be routed.

    In a rerun, `origin_run` is the run of the origin that had come so far and not further.
    """

    id: str
    step: str
    input: Values
    trigger: Trigger
    args: Values = {}
    cursor: Cursor | None = None
    loop: LoopRun | None = None
    is_started: bool = False
    is_parked: bool = False
    deadline_at: float | None = None
    timeout_s: float | None = None
    boundary: Trigger | None = None
    output: Output = NOTHING
    output_kind: str = ""
    step_scope: Values = {}
    origin_run: str = ""


class Tally(msgspec.Struct):
    """What people are told of a step: `status` is running, done, failed, cancelled, skipped, or kept in a rerun.

    `runs` and `retries` count over all runs; the rest is that of the `last` one. `begun` and `ended` are the numbers
    of the events that tell of it, `looped` that of the begin of its loop, `failures` those of its first iterations that
    failed. Of a loop, `done` and `failed` iterations of `total` are known here once it is over.
    """

    status: str
    runs: int = 0
    retries: int = 0
    last: str = ""
    begun: int = 0
    ended: int = 0
    done: int = 0
    failed: int = 0
    total: int | None = None
    error: Error | None = None
    looped: int = 0
    failures: list[int] = []


class Arrive(msgspec.Struct, frozen=True):
    """A token stands at a step's door."""

    token: Token


class Begin(msgspec.Struct, frozen=True):
    """A step run that no worker begins: its loop starts, or it ends at once since there is nothing to run."""

    step_run_id: str


class Tend(msgspec.Struct, frozen=True):
    """A loop changed: it may be over, or start the loops of further iterations."""

    step_run_id: str
    path: Path


class Route(msgspec.Struct, frozen=True):
    """A step run ended: its arcs decide."""

    step_run_id: str


Pending = Arrive | Begin | Tend | Route
"""What an event leaves to decide. All of it is decided before the events are stored."""


class State(msgspec.Struct):
    """`waiting` holds the tokens that stand at a step's door, in the order of their arrival.

    `ctx_bytes` is what `ctx` takes at most, as JSON; `children` counts the child executions that were started.
    `steps` holds those that a token has reached. `begun` are the runs of a rerun's origin that have not gone on yet, by
    their step.
    """

    execution_id: str
    seq: int = 0
    status: str = "requested"
    digest: str = ""
    parent: Parent | None = None
    origin: Origin | None = None
    workload: Values = {}
    ctx: Values = {}
    counts: dict[str, int] = {}
    runs: dict[str, StepRun] = {}
    outputs: dict[str, object] = {}
    waiting: list[Token] = []
    output: Output = NOTHING
    error: Error | None = None
    ctx_bytes: int = 0
    children: int = 0
    steps: dict[str, Tally] = {}
    begun: dict[str, str] = {}

    @property
    def has_ended(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")


def empty(execution_id: str) -> State:
    return State(execution_id, workload={}, ctx={}, counts={}, runs={}, outputs={}, waiting=[], steps={})
