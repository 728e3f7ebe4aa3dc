"""How every store gives out leases. Which rows come first, and how they are kept, each store knows itself."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row, is_within, may_claim
from noetl.ports import Ask, Granted

Key = tuple[str, Row]
"""The execution of a row, and its place in there."""


def grant_each(keys: Iterable[Key], ask: Ask, grant: Callable[[Key, Ask], Granted | None]) -> list[Granted]:
    """Leases on each of the rows, as long as there are slots left of those that are asked for.

    What is left of a row may be scattered: then it takes several leases, and they are granted at once.
    """
    granted: list[Granted] = []
    slots = ask.slots
    for key in keys:
        while slots > 0 and (found := grant(key, msgspec.structs.replace(ask, slots=slots))) is not None:
            granted.append(found)
            slots -= found.lease.slots
    return granted


def grant(key: Key, rows: Mapping[Row, Work], ask: Ask, *, epoch: int, now: float) -> tuple[Work, Granted] | None:
    """The row as it is then, and the lease on it; None where nothing of it is for who asks."""
    if not is_for(key, rows, ask):
        return None
    work = rows[key[1]]
    claimed = leases.claim(
        work,
        worker=ask.worker,
        epoch=epoch,
        now=now,
        lease_s=ask.lease_s,
        slots=ask.slots,
        indexes_max=leases.at_once(work, ask.slots, ask.indexes_max),
    )
    if claimed is None:
        return None
    left, lease = claimed
    return left, Granted(*key, lease, work.deliveries.get(lease.next, 0) + 1)


def is_for(key: Key, rows: Mapping[Row, Work], ask: Ask) -> bool:
    return is_within(key[0], ask.within) and may_claim(rows, key[1], ask.worker, ask.pools)
