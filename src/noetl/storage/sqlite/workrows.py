"""Rows of work as one transaction sees and changes them. What they decide, `engine.leases` and `engine.worklist` do."""

from collections.abc import Iterable, Mapping, Sequence

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row
from noetl.ports import Ask, Expired, Granted, Revoked
from noetl.storage.granting import Key, grant, grant_each
from noetl.storage.sqlite.counters import Counters
from noetl.storage.sqlite.records import KeyRow, WorkRow, encode_work, path_text
from noetl.storage.sqlite.session import Session, Value, as_list


class WorkRows:
    """Rows of the executions that were loaded. Searches are for those who have flushed before."""

    def __init__(self, session: Session, counters: Counters) -> None:
        self._session = session
        self._counters = counters
        self._rows: dict[str, dict[Row, Work]] = {}
        self._places: dict[Key, int] = {}
        self._told: dict[Key, int] = {}
        self._changed: dict[Key, None] = {}
        self._gone: dict[Key, None] = {}

    # ------------------------------------------------------------------------------ rows

    def load(self, names: Sequence[str]) -> None:
        self._rows.update((name, {}) for name in names)
        for found in self._session.all("load_work", WorkRow, as_list(names)):
            key = found.key
            self._rows[key[0]][key[1]] = found.work
            if found.place is not None:
                self._places[key] = found.place
            if found.told is not None:
                self._told[key] = found.told

    def rows(self, name: str) -> Mapping[Row, Work]:
        return self._rows[name]

    def put(self, key: Key, work: Work) -> None:
        self._rows[key[0]][key[1]] = work
        self._index(key, work)
        self._changed[key] = None

    def write(self, name: str, rows: dict[Row, Work]) -> None:
        """All rows of an execution as they are now."""
        before = self._rows[name]
        for row in before.keys() - rows.keys():
            self._drop((name, row))
        for row in sorted(row for row, work in rows.items() if before.get(row) is not work):
            self.put((name, row), rows[row])

    def has_open(self, name: str) -> bool:
        return any((name, row) in self._places for row in self._rows[name])

    def _drop(self, key: Key) -> None:
        del self._rows[key[0]][key[1]]
        self._gone[key] = None
        for index in (self._places, self._told, self._changed):
            index.pop(key, None)

    def _index(self, key: Key, work: Work) -> None:
        _keep(self._places, key, self._counters, leases.is_open(work))
        _keep(self._told, key, self._counters, bool(leases.poison(work)))

    # ------------------------------------------------------------------------------ searches

    def find_open(self, ask: Ask, limit: int) -> list[Key]:
        found = self._session.all("find_open", KeyRow, ask.worker, as_list(ask.pools), limit, ask.within)
        return [each.key for each in found]

    def find_expired(self, now: float, limit: int) -> list[Key]:
        return [each.key for each in self._session.all("find_expired", KeyRow, now, limit)]

    def find_poisoned(self, limit: int) -> list[Key]:
        return [each.key for each in self._session.all("find_poisoned", KeyRow, limit)]

    # ------------------------------------------------------------------------------ leases

    def claim_from(self, name: str, ask: Ask, now: float) -> list[Granted]:
        own = ((name, row) for row in self._rows[name])
        keys = sorted((key for key in own if key in self._places), key=self._places.__getitem__)
        return self.grant_each(keys, ask, now)

    def grant_each(self, keys: Iterable[Key], ask: Ask, now: float) -> list[Granted]:
        """What has more to give goes to the back of the queue."""
        return grant_each(keys, ask, lambda key, ask: self._grant(key, ask, now))

    def renew(self, held: Granted, now: float, lease_s: float) -> bool:
        work = self._rows[held.execution_id].get(held.row)
        renewed = leases.renew(work, held.lease.epoch, now=now, lease_s=lease_s) if work is not None else None
        if renewed is not None:
            self.put((held.execution_id, held.row), renewed)
        return renewed is not None

    def release(self, held: Granted) -> None:
        work = self._rows[held.execution_id].get(held.row)
        if work is not None and work.lease(held.lease.epoch) is not None:
            self.put((held.execution_id, held.row), leases.release(work, held.lease.epoch))

    def expire(self, key: Key, now: float) -> Expired:
        work, over = leases.expire(self._rows[key[0]][key[1]], now)
        self.put(key, work)
        return Expired(*key, tuple(Revoked(lease.worker, lease.epoch) for lease in over))

    def tell(self, key: Key) -> Sequence[int]:
        """What is told of poison goes to the back, so that each gets its turn."""
        self._told[key] = self._counters.draw_place()
        self._changed[key] = None
        return leases.poison(self._rows[key[0]][key[1]])

    def _grant(self, key: Key, ask: Ask, now: float) -> Granted | None:
        found = grant(key, self._rows[key[0]], ask, epoch=self._counters.epoch + 1, now=now)
        if found is None:
            return None
        left, granted = found
        self._counters.draw_epoch()
        self._places.pop(key, None)
        self.put(key, left)
        return granted

    # ------------------------------------------------------------------------------ the table

    def flush(self) -> None:
        if self._gone:
            gone = [(name, run, path_text(path)) for name, (run, path) in self._gone]
            self._session.write("delete_work", gone)
        if self._changed:
            self._session.write("save_work", [self._values(key) for key in self._changed])
        self._gone.clear()
        self._changed.clear()

    def forget(self) -> None:
        for each in (self._rows, self._places, self._told, self._changed, self._gone):
            each.clear()

    def _values(self, key: Key) -> tuple[Value, ...]:
        name, (run, path) = key
        work = self._rows[name][key[1]]
        is_local = work.local is not None and bool(work.leases)
        return (
            name,
            run,
            path_text(path),
            encode_work(work),
            self._places.get(key),
            work.pool,
            path_text(work.local) if work.local is not None else None,
            work.leases[0].worker if is_local else None,
            min((lease.expires_at for lease in work.leases), default=None),
            self._told.get(key),
        )


def _keep(index: dict[Key, int], key: Key, counters: Counters, belongs: bool) -> None:
    if not belongs:
        index.pop(key, None)
    elif key not in index:
        index[key] = counters.draw_place()
