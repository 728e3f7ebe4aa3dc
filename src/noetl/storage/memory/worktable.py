"""Rows of work. Those that can be claimed are kept apart, so that finding one costs the same among thousands."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import msgspec

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row
from noetl.ports import Ask, Expired, Granted, Revoked
from noetl.storage.granting import Key, grant, grant_each, is_for

Parked = Callable[[str], bool]


class WorkTable:
    """`_open` is the queue: rows that can be claimed, and their places in it. What is parked keeps its place."""

    def __init__(self) -> None:
        self._epoch = 0
        self._place = 0
        self._rows: dict[str, dict[Row, Work]] = {}
        self._open: dict[Key, int] = {}
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
        for row in sorted(row for row, work in rows.items() if before.get(row) is not work):
            self._index((name, row), rows[row])

    def has_open(self, name: str) -> bool:
        return any((name, row) in self._open for row in self._rows.get(name, ()))

    def claim(self, ask: Ask, limit: int, now: float, is_parked: Parked) -> list[Granted]:
        """The oldest first; what has more to give goes to the back of the queue."""
        free = (key for key in self._open if not is_parked(key[0]) and is_for(key, self._rows[key[0]], ask))
        return self._grant_each(list(islice(free, limit)), ask, now)

    def claim_from(self, name: str, ask: Ask, now: float) -> list[Granted]:
        own = ((name, row) for row in self._rows.get(name, ()))
        return self._grant_each(sorted((key for key in own if key in self._open), key=self._open.__getitem__), ask, now)

    def expire(self, now: float, limit: int, is_parked: Parked) -> list[Expired]:
        """What is told of poison goes to the back, so that each gets its turn."""
        found = {key: self._expire(key, now) for key in sorted(self._over(now, limit))}
        told: dict[Key, None] = dict.fromkeys(islice((key for key in self._poisoned if not is_parked(key[0])), limit))
        for key in told:
            self._poisoned[key] = self._poisoned.pop(key)
            poison = leases.poison(self._rows[key[0]][key[1]])
            found[key] = msgspec.structs.replace(found.get(key, Expired(*key)), poison=poison)
        return list(found.values())

    def _expire(self, key: Key, now: float) -> Expired:
        work, over = leases.expire(self._rows[key[0]][key[1]], now)
        self.put(key, work)
        return Expired(*key, tuple(Revoked(lease.worker, lease.epoch) for lease in over))

    def _over(self, now: float, limit: int) -> dict[Key, None]:
        """Rows with leases whose time is over. What the heap says of others is out of date."""
        found: dict[Key, None] = {}
        while self._ends and self._ends[0][0] <= now and len(found) < limit:
            key = heapq.heappop(self._ends)[1]
            work = self.get(key)
            if work is not None and any(lease.expires_at <= now for lease in work.leases):
                found[key] = None
        return found

    def _grant_each(self, keys: Iterable[Key], ask: Ask, now: float) -> list[Granted]:
        return grant_each(keys, ask, lambda key, ask: self._grant(key, ask, now))

    def _grant(self, key: Key, ask: Ask, now: float) -> Granted | None:
        found = grant(key, self._rows[key[0]], ask, epoch=self._epoch + 1, now=now)
        if found is None:
            return None
        left, granted = found
        self._epoch += 1
        self._open.pop(key, None)
        self.put(key, left)
        return granted

    def _index(self, key: Key, work: Work) -> None:
        if not leases.is_open(work):
            self._open.pop(key, None)
        elif key not in self._open:
            self._place += 1
            self._open[key] = self._place
        if leases.poison(work):
            self._poisoned[key] = None
        else:
            self._poisoned.pop(key, None)
        if work.leases:
            heapq.heappush(self._ends, (min(lease.expires_at for lease in work.leases), key))
