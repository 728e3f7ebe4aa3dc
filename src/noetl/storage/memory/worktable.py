"""Rows of work. Those that can be claimed are kept apart, so that finding one costs the same among thousands."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import msgspec

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row, may_claim
from noetl.ports import Ask, Expired, Granted

Key = tuple[str, Row]
"""The execution of a row, and its place in there."""


class WorkTable:
    def __init__(self) -> None:
        self._epoch = 0
        self._rows: dict[str, dict[Row, Work]] = {}
        self._open: dict[Key, None] = {}
        self._ends: list[tuple[float, Key]] = []
        self._poisoned: dict[Key, None] = {}

    def rows(self, name: str) -> Mapping[Row, Work]:
        return self._rows.get(name, {})

    def get(self, key: Key) -> Work | None:
        return self._rows.get(key[0], {}).get(key[1])

    def put(self, key: Key, work: Work) -> None:
        self._rows.setdefault(key[0], {})[key[1]] = work
        self._index(key, work)

    def write(self, name: str, rows: dict[Row, Work]) -> None:
        """All rows of an execution as they are now."""
        before = self._rows.pop(name, {})
        for row in before:
            if row not in rows:
                self._open.pop((name, row), None)
                self._poisoned.pop((name, row), None)
        if rows:
            self._rows[name] = rows
        for row, work in rows.items():
            if before.get(row) is not work:
                self._index((name, row), work)

    def has_open(self, name: str) -> bool:
        return any((name, row) in self._open for row in self._rows.get(name, ()))

    def claim(self, ask: Ask, limit: int, now: float, is_parked: Callable[[str], bool]) -> list[Granted]:
        """The oldest first; what has more to give goes to the back of the queue."""
        keys = list(islice((key for key in self._open if not is_parked(key[0])), limit))
        granted = self._grant_each(keys, ask, now)
        for each in granted:
            key = (each.execution_id, each.row)
            if key in self._open:
                del self._open[key]
                self._open[key] = None
        return granted

    def claim_from(self, name: str, ask: Ask, now: float) -> list[Granted]:
        return self._grant_each([(name, row) for row in self._rows.get(name, ())], ask, now)

    def expire(self, now: float, limit: int) -> list[Expired]:
        found: dict[Key, None] = dict(self._poisoned)
        while self._ends and self._ends[0][0] <= now and len(found) < limit:
            key = heapq.heappop(self._ends)[1]
            work = self.get(key)
            if work is not None:
                self.put(key, leases.expire(work, now)[0])
                found[key] = None
        return [Expired(name, row, leases.poison(self._rows[name][row])) for name, row in found]

    def _grant_each(self, keys: Iterable[Key], ask: Ask, now: float) -> list[Granted]:
        granted: list[Granted] = []
        slots = ask.slots
        for key in keys:
            found = self._grant(key, msgspec.structs.replace(ask, slots=slots), now) if slots > 0 else None
            if found is not None:
                granted.append(found)
                slots -= found.lease.slots
        return granted

    def _grant(self, key: Key, ask: Ask, now: float) -> Granted | None:
        rows = self._rows[key[0]]
        work = rows[key[1]]
        if not may_claim(rows, key[1], ask.worker, ask.pools):
            return None
        claimed = leases.claim(
            work,
            worker=ask.worker,
            epoch=self._epoch + 1,
            now=now,
            lease_s=ask.lease_s,
            slots=ask.slots,
            indexes_max=ask.indexes_max,
        )
        if claimed is None:
            return None
        self._epoch += 1
        left, lease = claimed
        self.put(key, left)
        return Granted(key[0], key[1], lease, work.deliveries.get(lease.next, 0) + 1)

    def _index(self, key: Key, work: Work) -> None:
        if leases.is_open(work):
            self._open.setdefault(key)
        else:
            self._open.pop(key, None)
        if leases.poison(work):
            self._poisoned[key] = None
        else:
            self._poisoned.pop(key, None)
        if work.leases:
            heapq.heappush(self._ends, (min(lease.expires_at for lease in work.leases), key))
