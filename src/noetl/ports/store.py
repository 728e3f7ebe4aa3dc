"""What one database keeps: logs of executions, the work that follows from them, incidents, and what tools printed."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from noetl.engine.effects import CancelChild, Effect, SetTimer, StartChild, TellParent
from noetl.engine.events import Parent
from noetl.engine.holds import Hold
from noetl.engine.incidents import Incident, Rows
from noetl.engine.leases import Lease
from noetl.engine.worklist import Progress, Row


class Ask(msgspec.Struct, frozen=True):
    """What a worker could take on: so many things at once, under a lease of `lease_s` seconds.

    With `within` only of that execution and those below it.
    """

    worker: str
    slots: int
    lease_s: float
    indexes_max: int = 1
    pools: Sequence[str] = ()
    within: str = ""


class Granted(msgspec.Struct, frozen=True):
    """A lease on work of an execution whose log ended with number `head` when it was granted."""

    execution_id: str
    row: Row
    lease: Lease
    delivery: int = 1
    head: int = 0


class Revoked(msgspec.Struct, frozen=True):
    """A lease that is over before its holder said so."""

    worker: str
    epoch: int


ENDED = frozenset({"completed", "failed", "cancelled"})


class Summary(msgspec.Struct, frozen=True):
    """An execution as lists show it."""

    execution_id: str
    path: str
    digest: str
    status: str
    started_at: float
    changed_at: float
    head: int = 0
    parent: Parent | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


class Append(msgspec.Struct, frozen=True):
    """One execution's part of a commit: all of it happens or none.

    The log must end with number `head`. `progress` must hold under the leases it names. `done` are the timers and
    messages that this answers, which are gone with it. `asks` may be granted a lease on what is now to do. `holds` are
    the stored objects that the events refer to.
    """

    execution_id: str
    head: int
    events: Sequence[bytes] = ()
    effects: Sequence[Effect] = ()
    progress: Sequence[Progress] = ()
    done: Sequence[int] = ()
    asks: Sequence[Ask] = ()
    summary: Summary | None = None
    holds: Sequence[Hold] = ()


class Appended(msgspec.Struct, frozen=True):
    granted: Sequence[Granted] = ()
    revoked: Sequence[Revoked] = ()
    has_work: bool = False
    """Whether something is left that a worker could take."""


class Conflict(msgspec.Struct, frozen=True):
    """The log ends elsewhere: someone else appended."""

    head: int


class Fenced(msgspec.Struct, frozen=True):
    """Nothing was appended: of the `progress`, by position, the lease is over or the index is not its own."""

    positions: frozenset[int]


class Timer(msgspec.Struct, frozen=True):
    """`id` is the row's own and never comes again, though a `timer_id` does."""

    id: int
    execution_id: str
    timer: SetTimer


class Message(msgspec.Struct, frozen=True):
    """From the `sender` to the execution of that id, delivered at least once.

    What one execution says to another comes in order.
    """

    id: int
    sender: str
    execution_id: str
    body: StartChild | CancelChild | TellParent


class EventLog(Protocol):
    """The append-only log of every execution, and the timers and messages that were committed with it.

    Time is the store's own: a timer is due, and a lease is over, when the store says so.
    """

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        """One durable transaction; who loses aborts nobody else. `Unavailable` leaves open whether it happened."""

    async def head(self, execution_id: str) -> int:
        """The number of the last event, 0 where there is none."""

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]: ...

    async def save_snapshot(self, execution_id: str, seq: int, data: bytes) -> None: ...

    async def snapshot(self, execution_id: str) -> tuple[int, bytes] | None: ...

    async def due(self, limit: int) -> tuple[Sequence[Timer], float | None]:
        """Timers that are due, and in how many seconds the next one after them is."""

    async def messages(self, after: int, limit: int) -> Sequence[Message]:
        """Those that wait to be delivered, by id, beginning after that one."""

    async def live(self, after: str, limit: int) -> Sequence[Summary]:
        """Executions that have not ended, by id, beginning after that one."""

    async def summary(self, execution_id: str) -> Summary | None: ...

    async def recent(self, before: str, limit: int) -> Sequence[Summary]:
        """Executions that no other started, by id from the last on; before that one where it is given."""

    async def below(self, execution_id: str, after: str, limit: int) -> Sequence[Summary]:
        """Executions that one started, and those below them, by id, beginning after that one."""

    async def rows(self, execution_id: str) -> tuple[int, Rows]:
        """The number of the last event, and at that moment all that can move the execution."""


class WorkQueue(Protocol):
    """Work and the leases on it, timed by the store's clock."""

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        """Leases on the oldest work that is free, of at most `limit` rows. Nothing of one that is parked."""

    async def renew(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        """Heartbeats; the answer is the epochs that are over."""

    async def release(self, leases: Sequence[Granted]) -> None:
        """What the holder has not ended goes out again, without blame."""

    async def expire(self, limit: int) -> Sequence["Expired"]:
        """Ends leases whose time is over. What came back too often is told, until it is dropped."""


class Expired(msgspec.Struct, frozen=True):
    """A row whose leases ran out: those that are `over` now. `poison` are the indexes that came back too often."""

    execution_id: str
    row: Row
    over: Sequence[Revoked] = ()
    poison: Sequence[int] = ()


class LogChunk(msgspec.Struct, frozen=True):
    """Lines that a task run printed. `number` counts the chunks of a run."""

    execution_id: str
    task_run_id: str
    number: int
    at: float
    stream: str
    text: str


class Logs(Protocol):
    """What tools printed, kept for people and bounded for each execution."""

    async def write_logs(self, chunks: Sequence[LogChunk]) -> None: ...

    async def logs(self, execution_id: str, after: int, limit: int) -> Sequence[LogChunk]:
        """In the order in which they were kept, beginning after so many."""


class Incidents(Protocol):
    """What cannot go on by itself, until people resume or cancel the execution."""

    async def open(self, incidents: Sequence[Incident]) -> None:
        """One that stands already, of the same kind at the same place, stays as it is."""

    async def close(self, execution_id: str) -> None:
        """All of an execution."""

    async def parking(self, execution_id: str) -> Incident | None:
        """The one for which an execution takes nothing but a cancel."""

    async def incidents(self, execution_id: str, limit: int) -> Sequence[Incident]:
        """Those of one execution, the oldest first."""

    async def incidents_within(self, root: str, limit: int) -> Sequence[Incident]:
        """Those of an execution and of all below it; `EVERY` is the root of all."""


class Held(msgspec.Struct, frozen=True):
    """The objects that are needed, and when that was so."""

    at: float
    names: Collection[str]


class Holds(Protocol):
    """Which stored objects the log refers to, and whose turn it is to look for the others."""

    async def held(self, prefix: str) -> Held:
        """Of the objects whose sha256 begins so, those that some event refers to. Time is the store's.

        Where all that refers to one does so for a time, it is held until that is over and the executions have ended.
        """

    async def next_part(self, parts: int, every_s: float) -> int | None:
        """The part of the objects to look through next, which is then the caller's alone; None where none is due.

        A round goes through all parts, and begins so long after the one before. What a caller leaves is left until the
        next round.
        """


class Store(EventLog, WorkQueue, Incidents, Logs, Holds, Protocol):
    """What one database offers."""
