"""The work of one execution as a store keeps it: a row for a pipeline, a row for all iterations of a loop.

Stores load the rows, let these functions change them and write back what changed, all in the append's transaction.
"""

from collections.abc import Collection, Mapping, MutableMapping
from typing import assert_never

import msgspec

from noetl.engine import leases
from noetl.engine.commands import Continue, EndWait
from noetl.engine.effects import ClearTimers, EndAll, EndWork, OfferWork, SetTimer, StopWork
from noetl.engine.events import Path
from noetl.engine.leases import Lease, Work

Row = tuple[str, Path]
"""The step run, and the path under which its iterations are numbered; empty for a pipeline without a loop."""

WorkEffect = OfferWork | EndWork | StopWork | EndAll


class Progress(msgspec.Struct, frozen=True):
    """What a report means for the lease it was made under: which indexes it speaks of, and which ended or wait."""

    row: Row
    epoch: int
    begun: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    parked: tuple[int, ...] = ()


def advance(rows: MutableMapping[Row, Work], progress: Progress) -> bool:
    """Moves a lease on, or changes nothing and answers no: the lease is over, or the index is not its own."""
    work: Work | None = rows.get(progress.row)
    if work is None or work.lease(progress.epoch) is None:
        return False
    for indexes, how in (
        (progress.begun, leases.start),
        (progress.ended, leases.end),
        (progress.parked, leases.park),
    ):
        for index in indexes:
            work = how(work, progress.epoch, index) if work is not None else None
    if work is None:
        return False
    rows[progress.row] = work
    return True


def may_claim(rows: Mapping[Row, Work], row: Row, worker: str, pools: Collection[str]) -> bool:
    """Whether a worker of these pools may have of a row; not while another holds some of a loop that stays on one."""
    work = rows[row]
    if work.pool is not None and work.pool not in pools:
        return False
    if work.local is None:
        return True
    beside = (other for (run, _), other in rows.items() if run == row[0] and other.local == work.local)
    return not any(leases.is_held_by_other(other, worker) for other in beside)


def carry_out(rows: MutableMapping[Row, Work], effect: WorkEffect) -> tuple[Lease, ...]:
    """Changes the rows by an effect. The answer is the leases that are over without a report of their holder."""
    match effect:
        case OfferWork():
            _offer(rows, effect)
            return ()
        case EndWork():
            return _end(rows, effect)
        case StopWork():
            return _stop(rows, effect)
        case EndAll():
            lost = tuple(lease for work in rows.values() for lease in work.leases)
            rows.clear()
            return lost
        case _:
            assert_never(effect)


def is_cleared(timer: SetTimer, effect: ClearTimers) -> bool:
    """Whether a timer belongs to what is over: a step run, or an iteration and what is inside it."""
    if isinstance(timer.command, Continue):
        return False
    path = timer.command.path if isinstance(timer.command, EndWait) else ()
    return timer.command.step_run_id == effect.step_run_id and path[: len(effect.path)] == effect.path


def _offer(rows: MutableMapping[Row, Work], effect: OfferWork) -> None:
    """New work, or work that waited and can go on."""
    run, path = effect.step_run_id, effect.path
    if effect.count is not None:
        rows[run, path] = leases.offered(
            effect.count, effect.slots, effect.indexes, pool=effect.pool, local=effect.local
        )
    elif path:
        _wake(rows, (run, path[:-1]), path[-1])
    elif (run, ()) in rows:
        _wake(rows, (run, ()), 0)
    else:
        rows[run, ()] = leases.offered(1, 1, pool=effect.pool)


def _wake(rows: MutableMapping[Row, Work], row: Row, index: int) -> None:
    rows[row] = leases.wake(rows[row], index)


def _end(rows: MutableMapping[Row, Work], effect: EndWork) -> tuple[Lease, ...]:
    """What is inside is over, and an iteration that the server ended goes out no more."""
    over = [row for row in rows if row[0] == effect.step_run_id and row[1][: len(effect.path)] == effect.path]
    lost = tuple(lease for row in over for lease in rows.pop(row).leases)
    outer = (effect.step_run_id, effect.path[:-1])
    if effect.path and outer in rows:
        index = effect.path[-1]
        work = leases.drop(rows[outer], index)
        rows[outer] = msgspec.structs.replace(work, parked=work.parked - {index})
    return lost


def _stop(rows: MutableMapping[Row, Work], effect: StopWork) -> tuple[Lease, ...]:
    row = (effect.step_run_id, effect.path)
    if row not in rows:
        return ()
    before = rows[row]
    rows[row] = leases.stop(before, frozenset(effect.started))
    kept = {lease.epoch for lease in rows[row].leases}
    return tuple(lease for lease in before.leases if lease.epoch not in kept)


EVERY = ""
"""The root of all executions."""


def is_within(execution_id: str, root: str) -> bool:
    """Whether an execution is the root or was started below it."""
    return root in (EVERY, execution_id) or execution_id.startswith(f"{root}.")
