"""Leases on one piece of work: who may run which iterations until when. Rows of a store, not events.

In flight is what live leases and parked iterations take up, derived each time and never counted beside them.
An epoch is drawn from a store-wide sequence and never comes again, so that only the current holder can report.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from operator import itemgetter

import msgspec

from noetl.engine.events import Path

DELIVERIES_MAX = 5
"""Work that was handed out this often and never reported is poison."""

RAMP = 8
"""So many indexes must have ended for each one more that a slot may be given beforehand."""

Range = tuple[int, int]
"""The indexes from the first number on, up to and without the second."""


class Lease(msgspec.Struct, frozen=True):
    """`running` are the indexes that were started; [`next`, `stop`) is what the holder may still start."""

    epoch: int
    worker: str
    expires_at: float
    slots: int
    next: int
    stop: int
    running: frozenset[int] = frozenset()

    @property
    def in_flight(self) -> int:
        """What the lease takes of the work's slots: no more than it can still use."""
        return min(self.slots, len(self.running) + self.stop - self.next)


class Work(msgspec.Struct, frozen=True):
    """`next` is the first index never handed out; `returned` came back without an end and go out first, in order.

    Of these, `begun` are the first to go: they have started and keep their place among what is in flight.
    A pipeline without a loop is work with one index. `deliveries` counts only what came back.
    Only workers of the `pool` may have it, where there is one. `local` is the path of the loop that stays on one
    worker: no other gets a lease on any of its work while that one holds some.
    """

    count: int
    slots: int
    next: int = 0
    returned: tuple[Range, ...] = ()
    leases: tuple[Lease, ...] = ()
    parked: frozenset[int] = frozenset()
    deliveries: Mapping[int, int] = {}
    pool: str | None = None
    local: Path | None = None
    begun: frozenset[int] = frozenset()

    @property
    def free_slots(self) -> int:
        return self.slots - sum(map(self._taken, self.leases)) - len(self.parked)

    @property
    def ended(self) -> int:
        """How many are neither held nor parked, of those that were handed out and did not come back."""
        held = sum(len(lease.running) + lease.stop - lease.next for lease in self.leases)
        return self.next - held - len(self.parked)

    def _taken(self, lease: Lease) -> int:
        """What has begun keeps its place, though the lease may have no slot to go on with it yet."""
        begun = sum(lease.next <= index < lease.stop for index in self.begun)
        return max(lease.in_flight, len(lease.running) + begun)

    def lease(self, epoch: int) -> Lease | None:
        return next((lease for lease in self.leases if lease.epoch == epoch), None)


def offered(
    count: int,
    slots: int,
    indexes: Iterable[int] | None = None,
    *,
    pool: str | None = None,
    local: Path | None = None,
) -> Work:
    """New work: all indexes, or only those."""
    if indexes is None:
        return Work(count, slots, pool=pool, local=local)
    return Work(count, slots, count, _ranges(indexes), pool=pool, local=local)


def claim(
    work: Work, *, worker: str, epoch: int, now: float, lease_s: float, slots: int, indexes_max: int
) -> tuple[Work, Lease] | None:
    """A lease on the next indexes, or None where nothing is free for that worker."""
    granted = min(slots, work.free_slots)
    if granted < 1 or (work.local is not None and is_held_by_other(work, worker)):
        return None
    first, stop = _next_out(work, indexes_max if work.slots > 1 else 1)  # in order, one may need what the last wrote
    if first >= stop:
        return None
    lease = Lease(epoch, worker, now + lease_s, min(granted, stop - first), first, stop)
    leases = (*work.leases, lease)
    if first < work.next:
        return _replace(work, returned=_minus(work.returned, (first, stop)), leases=leases), lease
    return _replace(work, next=stop, leases=leases), lease


def at_once(work: Work, slots: int, indexes_max: int) -> int:
    """How many indexes one claim should take: at first one for each slot that it gets, and more when many have ended.

    So a few long ones are spread over all who could run them, and many quick ones cost few leases. Of what came back,
    or is left of an earlier run, nothing is known.
    """
    ahead = work.ended // RAMP if not work.returned else 0
    return min(indexes_max, min(slots, work.free_slots) * (1 + ahead))


def is_open(work: Work) -> bool:
    """Whether some worker could be granted something."""
    first, stop = _next_out(work, 1)
    return first < stop and work.free_slots > 0


def is_held_by_other(work: Work, worker: str) -> bool:
    return any(lease.worker != worker for lease in work.leases)


def renew(work: Work, epoch: int, *, now: float, lease_s: float) -> Work | None:
    """A heartbeat; None where the lease is over. One whose time has passed is not, until somebody ends it."""
    lease = work.lease(epoch)
    if lease is None:
        return None
    return _with(work, lease, msgspec.structs.replace(lease, expires_at=now + lease_s))


def start(work: Work, epoch: int, index: int) -> Work | None:
    """The holder speaks of an index. It begins them in order, so those before have begun too."""
    lease = work.lease(epoch)
    if lease is None or index in lease.running:
        return work if lease is not None else None
    running = lease.running.union(range(lease.next, index + 1))
    if not lease.next <= index < lease.stop or len(running) > lease.slots:
        return None
    moved = msgspec.structs.replace(lease, next=index + 1, running=running)
    return _with(_replace(work, begun=work.begun - running), lease, moved)


def end(work: Work, epoch: int, index: int) -> Work | None:
    """An index has a recorded end. A lease with nothing left is over."""
    lease = work.lease(epoch)
    if lease is None or index not in lease.running:
        return None
    kept = {other: number for other, number in work.deliveries.items() if other != index}
    return _with(_replace(work, deliveries=kept), lease, _without(lease, index))


def park(work: Work, epoch: int, index: int) -> Work | None:
    """An index waits for a timer or a child: it takes its place with it but holds no worker."""
    ended = end(work, epoch, index)
    if ended is None:
        return None
    parked = _replace(ended, parked=work.parked | {index})
    lease = parked.lease(epoch)
    if lease is None:
        return parked
    if lease.slots == 1:
        return _back(parked, lease, blame=False)
    return _with(parked, lease, msgspec.structs.replace(lease, slots=lease.slots - 1))


def wake(work: Work, index: int) -> Work:
    """A parked index can go on: it goes out again before anything new."""
    returned = _plus(work.returned, (index, index + 1))
    return _replace(work, parked=work.parked - {index}, returned=returned, begun=work.begun | {index})


def release(work: Work, epoch: int) -> Work:
    """The holder gives back what it has not ended, without blame."""
    lease = work.lease(epoch)
    return _back(work, lease, blame=False) if lease is not None else work


def take_back(work: Work, epoch: int) -> Work:
    """What the holder has not started goes out again, to others; what runs stays with it."""
    lease = work.lease(epoch)
    if lease is None or lease.next >= lease.stop:
        return work
    kept = msgspec.structs.replace(lease, stop=lease.next) if lease.running else None
    return _replace(_with(work, lease, kept), returned=_plus(work.returned, (lease.next, lease.stop)))


def stop(work: Work, started: Collection[int]) -> Work:
    """The loop stops: only what has started is brought to its end, by its holder or by whom it goes out to.

    A holder tells late of what it goes on with, so what it could have taken up of that stays with it.
    """
    kept = (_stopped(lease, started) for lease in work.leases)
    returned = _ranges(index for index in started if _holds(work.returned, index))
    return _replace(work, next=work.count, returned=returned, leases=tuple(lease for lease in kept if lease.running))


def _stopped(lease: Lease, started: Collection[int]) -> Lease:
    running = lease.running.union(index for index in started if lease.next <= index < lease.stop)
    return msgspec.structs.replace(lease, stop=lease.next, running=running)


def expire(work: Work, now: float) -> tuple[Work, tuple[Lease, ...]]:
    """Leases whose time is over end; indexes without a recorded end go out again and are counted."""
    over = tuple(lease for lease in work.leases if lease.expires_at <= now)
    for lease in over:
        work = _back(work, lease, blame=True)
    return work, over


def poison(work: Work) -> tuple[int, ...]:
    """Indexes that came back too often."""
    often = (index for index, number in work.deliveries.items() if number >= DELIVERIES_MAX)
    return tuple(sorted(index for index in often if _holds(work.returned, index)))


def drop(work: Work, index: int) -> Work:
    """An index that must not go out again."""
    kept = {other: number for other, number in work.deliveries.items() if other != index}
    returned = _minus(work.returned, (index, index + 1))
    return _replace(work, returned=returned, begun=work.begun - {index}, deliveries=kept)


def _next_out(work: Work, indexes_max: int) -> Range:
    """What goes out next: first what came back, and poison never.

    An index that may have killed a worker goes alone, so that no other is blamed for it.
    """
    begun = _ranges(index for index in work.begun if _holds(work.returned, index))
    for first, stop in chain(begun, work.returned):
        for index in range(first, stop):
            if index not in work.deliveries:
                last = min(index + indexes_max, stop)
                return index, next((other for other in range(index, last) if other in work.deliveries), last)
            if work.deliveries[index] < DELIVERIES_MAX:
                return index, index + 1
    return work.next, min(work.next + indexes_max, work.count)


def _back(work: Work, lease: Lease, *, blame: bool) -> Work:
    counts = dict(work.deliveries)
    for index in _suspects(lease) if blame else ():
        counts[index] = counts.get(index, 0) + 1
    rest = (*((index, index + 1) for index in lease.running), (lease.next, lease.stop))
    leases = tuple(other for other in work.leases if other is not lease)
    begun = work.begun | lease.running
    return _replace(work, leases=leases, returned=_plus(work.returned, *rest), begun=begun, deliveries=counts)


def _suspects(lease: Lease) -> Iterable[int]:
    """What may have been in flight when the worker was lost: starts are told late, so the next ones count too."""
    free = lease.slots - len(lease.running)
    return (*lease.running, *range(lease.next, min(lease.next + free, lease.stop)))


def _ranges(indexes: Iterable[int]) -> tuple[Range, ...]:
    return _plus((), *((index, index + 1) for index in indexes))


def _plus(ranges: tuple[Range, ...], *others: Range) -> tuple[Range, ...]:
    """All of them in order; ranges that touch become one, and an empty one is none."""
    found: list[Range] = []
    for start, stop in sorted((*ranges, *others)):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return tuple(found)


def _minus(ranges: tuple[Range, ...], gone: Range) -> tuple[Range, ...]:
    """There may be very many of them, so only those are looked at that lose something."""
    first = bisect_right(ranges, gone[0], key=itemgetter(1))
    last = bisect_left(ranges, gone[1], key=itemgetter(0))
    parts = (part for start, stop in ranges[first:last] for part in ((start, gone[0]), (gone[1], stop)))
    return (*ranges[:first], *((start, stop) for start, stop in parts if start < stop), *ranges[last:])


def _holds(ranges: tuple[Range, ...], index: int) -> bool:
    at = bisect_right(ranges, index, key=itemgetter(0)) - 1
    return at >= 0 and index < ranges[at][1]


def _without(lease: Lease, index: int) -> Lease | None:
    running = lease.running - {index}
    if not running and lease.next >= lease.stop:
        return None
    return msgspec.structs.replace(lease, running=running)


def _with(work: Work, old: Lease, new: Lease | None) -> Work:
    leases = tuple(lease if lease is not old else new for lease in work.leases)
    return _replace(work, leases=tuple(lease for lease in leases if lease is not None))


def _replace(work: Work, **changes: object) -> Work:
    return msgspec.structs.replace(work, **changes)
