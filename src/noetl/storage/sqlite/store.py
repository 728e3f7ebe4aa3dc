"""The log, the work, the incidents and what tools printed, in one SQLite file."""

from collections.abc import Sequence
from functools import partial

from noetl.engine.incidents import Incident, Rows
from noetl.ports import (
    Append,
    Appended,
    Ask,
    Clock,
    Conflict,
    Expired,
    Fenced,
    Granted,
    Held,
    LogChunk,
    Message,
    Summary,
    Timer,
)
from noetl.storage.sqlite import appending, claiming, holds, reading
from noetl.storage.sqlite.database import Database
from noetl.storage.sqlite.logs import write_logs
from noetl.storage.sqlite.unit import Unit


class SqliteStore:
    """Time is that of the clock it is given, which is the machine's: processes that share the file share it too."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    # ------------------------------------------------------------------------------ the log

    async def commit(self, appends: Sequence[Append]) -> Sequence[Appended | Conflict | Fenced]:
        return await self._database.write(partial(appending.commit, appends=appends, clock=self._clock), "commit")

    async def head(self, execution_id: str) -> int:
        return await self._database.read(partial(reading.head, execution_id=execution_id))

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
        return await self._database.read(partial(reading.events, execution_id=execution_id, after=after, limit=limit))

    async def save_snapshot(self, execution_id: str, seq: int, data: bytes) -> None:
        await self._database.write(lambda unit: unit.session.run("save_snapshot", execution_id, seq, data))

    async def snapshot(self, execution_id: str) -> tuple[int, bytes] | None:
        return await self._database.read(partial(reading.snapshot, execution_id=execution_id))

    async def due(self, limit: int) -> tuple[Sequence[Timer], float | None]:
        return await self._database.read(partial(reading.due, limit=limit, clock=self._clock))

    async def messages(self, after: int, limit: int) -> Sequence[Message]:
        return await self._database.read(partial(reading.messages, after=after, limit=limit))

    async def live(self, after: str, limit: int) -> Sequence[Summary]:
        return await self._database.read(partial(reading.live, after=after, limit=limit))

    async def summary(self, execution_id: str) -> Summary | None:
        return await self._database.read(partial(reading.summary, execution_id=execution_id))

    async def recent(self, before: str, limit: int) -> Sequence[Summary]:
        return await self._database.read(partial(reading.recent, before=before, limit=limit))

    async def below(self, execution_id: str, after: str, limit: int) -> Sequence[Summary]:
        return await self._database.read(partial(reading.below, execution_id=execution_id, after=after, limit=limit))

    async def rows(self, execution_id: str) -> tuple[int, Rows]:
        return await self._database.read(partial(reading.rows, execution_id=execution_id))

    # ------------------------------------------------------------------------------ stored objects

    async def held(self, prefix: str) -> Held:
        return await self._database.read(partial(holds.held, prefix=prefix, clock=self._clock))

    async def next_part(self, parts: int, every_s: float) -> int | None:
        return await self._database.write(partial(holds.next_part, parts=parts, every_s=every_s, clock=self._clock))

    # ------------------------------------------------------------------------------ work

    async def claim(self, ask: Ask, limit: int) -> Sequence[Granted]:
        return await self._database.write(partial(claiming.claim, ask=ask, limit=limit, clock=self._clock), "claim")

    async def renew(self, held: Sequence[Granted], lease_s: float) -> frozenset[int]:
        return await self._database.write(
            partial(claiming.renew, held=held, lease_s=lease_s, clock=self._clock), "renew"
        )

    async def release(self, held: Sequence[Granted]) -> None:
        await self._database.write(partial(claiming.release, held=held), "release")

    async def expire(self, limit: int) -> Sequence[Expired]:
        return await self._database.write(partial(claiming.expire, limit=limit, clock=self._clock), "expire")

    # ------------------------------------------------------------------------------ incidents

    async def open(self, incidents: Sequence[Incident]) -> None:
        await self._database.write(partial(_open, incidents=incidents))

    async def close(self, execution_id: str) -> None:
        await self._database.write(partial(_close, execution_id=execution_id))

    async def parking(self, execution_id: str) -> Incident | None:
        return await self._database.read(partial(reading.parking, execution_id=execution_id))

    async def incidents(self, execution_id: str, limit: int) -> Sequence[Incident]:
        return await self._database.read(partial(reading.incidents, execution_id=execution_id, limit=limit))

    async def incidents_within(self, root: str, limit: int) -> Sequence[Incident]:
        return await self._database.read(partial(reading.incidents_within, root=root, limit=limit))

    # ------------------------------------------------------------------------------ what tools printed

    async def write_logs(self, chunks: Sequence[LogChunk]) -> None:
        await self._database.write(partial(write_logs, chunks=chunks))

    async def logs(self, execution_id: str, after: int, limit: int) -> Sequence[LogChunk]:
        return await self._database.read(partial(reading.logs, execution_id=execution_id, after=after, limit=limit))


def _open(unit: Unit, incidents: Sequence[Incident]) -> None:
    for each in incidents:
        values = (each.execution_id, each.kind, each.where, each.message, each.remedy, each.since, int(each.parks))
        unit.session.run("open_incident", *values)
        unit.set_parked(each.execution_id, is_parked=each.parks or unit.is_parked(each.execution_id))


def _close(unit: Unit, execution_id: str) -> None:
    unit.session.run("close_incidents", execution_id)
    unit.set_parked(execution_id, is_parked=False)
