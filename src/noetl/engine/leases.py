"""Leases on one piece of work: who may run which iterations until when. Rows of a store, not events.

In flight is what live leases and parked iterations take up, derived each time and never counted beside them.
An epoch is drawn from a store-wide sequence and never comes again, so that only the current holder can report.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

DELIVERIES_MAX = 5
"""Work that was handed out this often and never reported is poison."""


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

    A pipeline without a loop is work with one index. `deliveries` counts only what came back.
    """

    count: int
    slots: int
    next: int = 0
    returned: tuple[int, ...] = ()
    leases: tuple[Lease, ...] = ()
    parked: frozenset[int] = frozenset()
    deliveries: Mapping[int, int] = {}

    @property
    def free_slots(self) -> int:
        return self.slots - sum(lease.in_flight for lease in self.leases) - len(self.parked)

    def lease(self, epoch: int) -> Lease | None:
        return next((lease for lease in self.leases if lease.epoch == epoch), None)


def claim(
    work: Work, *, worker: str, epoch: int, now: float, lease_s: float, slots: int, indexes_max: int
) -> tuple[Work, Lease] | None:
    """A lease on the next indexes, or None where nothing is free. What came back goes out one at a time."""
    granted = min(slots, work.free_slots)
    if granted < 1:
        return None
    if work.returned:
        index = work.returned[0]
        lease = Lease(epoch, worker, now + lease_s, 1, index, index + 1)
        return _replace(work, returned=work.returned[1:], leases=(*work.leases, lease)), lease
    stop = min(work.next + indexes_max, work.count)
    if work.next >= stop:
        return None
    lease = Lease(epoch, worker, now + lease_s, min(granted, stop - work.next), work.next, stop)
    return _replace(work, next=stop, leases=(*work.leases, lease)), lease


def renew(work: Work, epoch: int, *, now: float, lease_s: float) -> Work | None:
    """A heartbeat; None where the lease is gone or its time is over."""
    lease = work.lease(epoch)
    if lease is None or lease.expires_at <= now:
        return None
    return _with(work, lease, msgspec.structs.replace(lease, expires_at=now + lease_s))


def is_current(work: Work, epoch: int, now: float) -> bool:
    lease = work.lease(epoch)
    return lease is not None and lease.expires_at > now


def start(work: Work, epoch: int, index: int) -> Work | None:
    """The holder starts an index: one it was given, in order, within its slots; or one it was given back."""
    lease = work.lease(epoch)
    if lease is None or index != lease.next or index >= lease.stop or len(lease.running) >= lease.slots:
        return None
    return _with(work, lease, msgspec.structs.replace(lease, next=index + 1, running=lease.running | {index}))


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
    return _replace(work, parked=work.parked - {index}, returned=_sorted(*work.returned, index))


def release(work: Work, epoch: int) -> Work:
    """The holder gives back what it has not ended, without blame."""
    lease = work.lease(epoch)
    return _back(work, lease, blame=False) if lease is not None else work


def take_back(work: Work, epoch: int) -> Work:
    """What the holder has not started goes out again, to others; what runs stays with it."""
    lease = work.lease(epoch)
    if lease is None or lease.next >= lease.stop:
        return work
    rest = tuple(range(lease.next, lease.stop))
    kept = msgspec.structs.replace(lease, stop=lease.next) if lease.running else None
    return _replace(_with(work, lease, kept), returned=_sorted(*work.returned, *rest))


def stop(work: Work, started: Collection[int]) -> Work:
    """The loop stops: only what has started goes out again, to be brought to its end."""
    for lease in work.leases:
        work = take_back(work, lease.epoch)
    returned = tuple(index for index in work.returned if index in started)
    leases = tuple(lease for lease in work.leases if lease.running)
    return _replace(work, next=work.count, returned=returned, leases=leases)


def expire(work: Work, now: float) -> tuple[Work, tuple[Lease, ...]]:
    """Leases whose time is over end; indexes without a recorded end go out again and are counted."""
    over = tuple(lease for lease in work.leases if lease.expires_at <= now)
    for lease in over:
        work = _back(work, lease, blame=True)
    return work, over


def poison(work: Work) -> tuple[int, ...]:
    """Indexes that came back too often."""
    return tuple(index for index in work.returned if work.deliveries.get(index, 0) >= DELIVERIES_MAX)


def drop(work: Work, index: int) -> Work:
    """An index that must not go out again."""
    kept = {other: number for other, number in work.deliveries.items() if other != index}
    return _replace(work, returned=tuple(other for other in work.returned if other != index), deliveries=kept)


def _back(work: Work, lease: Lease, *, blame: bool) -> Work:
    counts = dict(work.deliveries)
    for index in _suspects(lease) if blame else ():
        counts[index] = counts.get(index, 0) + 1
    rest = (*lease.running, *range(lease.next, lease.stop))
    leases = tuple(other for other in work.leases if other is not lease)
    return _replace(work, leases=leases, returned=_sorted(*work.returned, *rest), deliveries=counts)


def _suspects(lease: Lease) -> Iterable[int]:
    """What may have been in flight when the worker was lost: starts are told late, so the next ones count too."""
    free = lease.slots - len(lease.running)
    return (*lease.running, *range(lease.next, min(lease.next + free, lease.stop)))


def _sorted(*indexes: int) -> tuple[int, ...]:
    return tuple(sorted(indexes))


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
