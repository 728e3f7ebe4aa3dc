"""What workers and servers say to each other."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from noetl.engine.commands import Rejection, Report
from noetl.engine.cursor import Cursor
from noetl.engine.events import Path, Values
from noetl.engine.reference import External, Reference
from noetl.ports.store import Ask, Granted, LogChunk
from noetl.ports.supplies import Registered


class Loop(msgspec.Struct, frozen=True):
    """The iterations of a claim: [`first`, `stop`) of `count`.

    `items` are their elements, or the stored list that holds all of them. `cursors` are those that had begun before.
    """

    iterator: str
    count: int
    first: int
    stop: int
    items: Sequence[object] | External | Reference
    cursors: Mapping[int, Cursor] = {}
    parent: Values | None = None
    step: Values = {}
    is_sequential: bool = False


class Claim(msgspec.Struct, frozen=True):
    """A lease with all that its pipelines may read. `cursor` is that of a pipeline without a loop."""

    granted: Granted
    digest: str
    step: str
    is_started: bool
    workload: Values = {}
    ctx: Values = {}
    input: Values = {}
    outputs: Values = {}
    cursor: Cursor | None = None
    loop: Loop | None = None

    @property
    def epoch(self) -> int:
        return self.granted.lease.epoch

    @property
    def path(self) -> Path:
        return self.granted.row[1]


class LeaseReport(msgspec.Struct, frozen=True):
    """What happened under a lease: a report for each pipeline, in the order in which they began."""

    lease: Granted
    reports: Sequence[Report]


class Told(msgspec.Struct, frozen=True):
    """The answer to reports: of each lease what was refused, by position; and what to do next."""

    refused: Mapping[int, Mapping[int, Rejection]] = {}
    claims: Sequence[Claim] = ()
    revoked: frozenset[int] = frozenset()


class Poll(msgspec.Struct, frozen=True):
    """The answer to an open poll: something to do, or leases that are over.

    Nothing was granted before the poll had been open for `waited_s`.
    """

    claims: Sequence[Claim] = ()
    revoked: frozenset[int] = frozenset()
    waited_s: float = 0.0


class ControlPlane(Protocol):
    """All that a worker may ask of a server."""

    async def poll(self, ask: Ask, wait_s: float) -> Poll:
        """Work, as soon as there is some; nothing after `wait_s`. Who asks for no slots hears of lost leases alone."""

    async def report(self, reports: Sequence[LeaseReport], ask: Ask) -> Told: ...

    async def heartbeat(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        """Keeps leases alive; the answer is the epochs that are over."""

    async def release(self, leases: Sequence[Granted]) -> None: ...

    async def playbook(self, digest: str) -> Registered | None: ...

    async def log(self, chunks: Sequence[LogChunk]) -> None:
        """Keeps what tools printed."""
