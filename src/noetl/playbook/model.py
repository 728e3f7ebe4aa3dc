"""The canonical playbook: what the author meant, frozen, in the words of the specification.

It holds plain data. Positions, comments and spelling stay with the source; strings that hold a template
are kept as authored and compiled by `noetl.expressions`. Anything typed `object` is JSON-like data.
"""

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

SCHEMA_VERSION = 1

Guard = str | bool | None
"""A `when`: one `{{ expression }}`, a constant, or None where no `when` was written."""


class Dialect(StrEnum):
    CANONICAL = "canonical"
    V10 = "v10"


class Join(StrEnum):
    EACH = "each"
    ALL = "all"


class FailureMode(StrEnum):
    FAIL_FAST = "fail_fast"
    BEST_EFFORT = "best_effort"


class OnDeny(StrEnum):
    SKIP = "skip"
    WAIT = "wait"


class LoopMode(StrEnum):
    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


class Placement(StrEnum):
    LOCAL = "local"
    DISTRIBUTED = "distributed"


class RouteMode(StrEnum):
    EXCLUSIVE = "exclusive"
    INCLUSIVE = "inclusive"


class Directive(StrEnum):
    CONTINUE = "continue"
    SKIP = "skip"
    RETRY = "retry"
    JUMP = "jump"
    BREAK = "break"
    FAIL = "fail"


class Backoff(StrEnum):
    NONE = "none"
    FIXED = "fixed"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


class OnUnmatched(StrEnum):
    CONTINUE = "continue"
    FAIL = "fail"


class Reducer(StrEnum):
    SUM = "sum"
    COUNT = "count"
    MIN = "min"
    MAX = "max"
    APPEND = "append"
    MERGE = "merge"
    LAST = "last"


ATTEMPTS_DEFAULT = 3
DELAY_DEFAULT_S = 1.0
MAX_IN_FLIGHT_DEFAULT = 10
TASK_RUNS_MAX_DEFAULT = 100_000


class Metadata(msgspec.Struct, frozen=True):
    name: str
    path: str
    version: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}


class KeychainEntry(msgspec.Struct, frozen=True):
    name: str
    kind: str
    fields: Mapping[str, object] = {}


class Executor(msgspec.Struct, frozen=True):
    profile: Placement | None = None
    version: str | None = None
    requires: object = None
    spec: Mapping[str, object] = {}


class Then(msgspec.Struct, frozen=True, gc=False):
    do: Directive
    attempts: int = ATTEMPTS_DEFAULT
    backoff: Backoff = Backoff.NONE
    delay: float | str = DELAY_DEFAULT_S
    max_delay: float | None = None
    jitter: float | None = None
    to: str | None = None
    set: Mapping[str, object] = {}


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One line of a task policy; the one that `is_else` is the last and matches when nothing before it did."""

    when: Guard
    then: Then
    is_else: bool = False


class Policy(msgspec.Struct, frozen=True, gc=False):
    rules: tuple[Rule, ...] = ()
    before: tuple[Rule, ...] = ()
    on_unmatched: OnUnmatched = OnUnmatched.CONTINUE


class Task(msgspec.Struct, frozen=True, gc=False):
    """One tool call. `fields` are the kind's own (`url`, `code`, …); `input` is what a callee receives."""

    name: str
    kind: str
    desc: str | None = None
    fields: Mapping[str, object] = {}
    input: Mapping[str, object] = {}
    auth: str | None = None
    spec: Mapping[str, object] = {}
    policy: Policy | None = None
    set: Mapping[str, object] = {}


class Loop(msgspec.Struct, frozen=True, rename={"in_": "in"}):
    in_: object
    iterator: str
    mode: LoopMode = LoopMode.SEQUENTIAL
    max_in_flight: int | str = MAX_IN_FLIGHT_DEFAULT
    placement: Placement | None = None
    reduce: Mapping[str, Reducer] = {}
    spec: Mapping[str, object] = {}
    loop: "Loop | None" = None

    def levels(self) -> "Iterator[Loop]":
        level: Loop | None = self
        while level is not None:
            yield level
            level = level.loop


class AdmitRule(msgspec.Struct, frozen=True, gc=False):
    when: Guard
    allow: bool
    is_else: bool = False


class Admit(msgspec.Struct, frozen=True):
    rules: tuple[AdmitRule, ...] = ()
    on_deny: OnDeny = OnDeny.SKIP


class Arc(msgspec.Struct, frozen=True, gc=False):
    """`args` is the v10 token payload; canonical arcs carry `set` only."""

    step: str
    when: Guard = None
    set: Mapping[str, object] = {}
    args: Mapping[str, object] = {}


class Router(msgspec.Struct, frozen=True, gc=False):
    mode: RouteMode = RouteMode.EXCLUSIVE
    arcs: tuple[Arc, ...] = ()


class Step(msgspec.Struct, frozen=True, gc=False):
    name: str
    desc: str | None = None
    join: Join = Join.EACH
    admit: Admit | None = None
    failure: FailureMode = FailureMode.FAIL_FAST
    timeout_s: float | None = None
    deadline_s: float | None = None
    spec: Mapping[str, object] = {}
    input: Mapping[str, object] = {}
    loop: Loop | None = None
    tool: tuple[Task, ...] = ()
    set: Mapping[str, object] = {}
    next: Router = Router()


class Block(msgspec.Struct, frozen=True):
    """A workbook entry: a pipeline with its own names, called by `kind: workbook`."""

    name: str
    desc: str | None = None
    input: Mapping[str, object] = {}
    loop: Loop | None = None
    tool: tuple[Task, ...] = ()


class Playbook(msgspec.Struct, frozen=True):
    metadata: Metadata
    dialect: Dialect
    entry_step: str
    workflow: tuple[Step, ...]
    keychain: tuple[KeychainEntry, ...] = ()
    executor: Executor = Executor()
    workload: Mapping[str, object] = {}
    workbook: Mapping[str, Block] = {}
    schema_version: int = SCHEMA_VERSION

    @property
    def digest(self) -> str:
        """sha256 of the canonical content: the same for any formatting, comments or order of keys."""
        return hashlib.sha256(encode(self)).hexdigest()


def encode(playbook: Playbook) -> bytes:
    return msgspec.json.encode(playbook, order="sorted")


def decode(data: bytes) -> Playbook:
    return msgspec.json.decode(data, type=Playbook)
