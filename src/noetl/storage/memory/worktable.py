"""Rows of work. Those that can be claimed are kept apart, so that finding one costs the same among thousands."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import msgspec

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row, is_within, may_claim
from noetl.ports import Ask, Expired, Granted, Revoked

Key = tuple[str, Row]
"""The execution of a row, and its place in there."""

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
        free = (key for key in self._open if not is_parked(key[0]) and self._is_for(key, ask))
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

    def _is_for(self, key: Key, ask: Ask) -> bool:
        return is_within(key[0], ask.within) and may_claim(self._rows[key[0]], key[1], ask.worker, ask.pools)

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
        work = self._rows[key[0]][key[1]]
        if not self._is_for(key, ask):
            return None
        claimed = leases.claim(
            work,
            worker=ask.worker,
            epoch=self._epoch + 1,
            now=now,
            lease_s=ask.lease_s,
            slots=ask.slots,
            indexes_max=leases.at_once(work, ask.slots, ask.indexes_max),
        )
        if claimed is None:
            return None
        self._epoch += 1
        left, lease = claimed
        self._open.pop(key, None)
        self.put(key, left)
        return Granted(key[0], key[1], lease, work.deliveries.get(lease.next, 0) + 1)

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
