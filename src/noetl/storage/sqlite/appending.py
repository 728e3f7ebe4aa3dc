"""Appends: one execution after the other, each wholly or not at all. Who loses has written nothing."""

from collections.abc import Sequence

from noetl.engine.effects import CancelChild, ClearTimers, Effect, EndAll, SetTimer, StartChild, TellParent
from noetl.engine.leases import Lease, Work
from noetl.engine.worklist import Row, advance, carry_out
from noetl.ports import Append, Appended, Clock, Conflict, Fenced, Revoked
from noetl.storage.sqlite.claiming import dated
from noetl.storage.sqlite.unit import Unit


def commit(unit: Unit, appends: Sequence[Append], clock: Clock) -> Sequence[Appended | Conflict | Fenced]:
    unit.load([append.execution_id for append in appends])
    unit.agenda.load_timers(appends)
    return [_append(unit, append, clock.now()) for append in appends]


def _append(unit: Unit, append: Append, now: float) -> Appended | Conflict | Fenced:
    name = append.execution_id
    if unit.head(name) != append.head:
        return Conflict(unit.head(name))
    rows = dict(unit.work.rows(name))
    fenced = frozenset(at for at, each in enumerate(append.progress) if not advance(rows, each))
    if fenced:
        return Fenced(fenced)
    lost = _carry_out(unit, name, rows, append.effects)
    unit.work.write(name, rows)
    unit.append(name, append.events, append.summary)
    unit.hold(name, append.holds)
    unit.agenda.answer(append.done)
    return _answer(unit, append, lost, now)


def _carry_out(unit: Unit, name: str, rows: dict[Row, Work], effects: Sequence[Effect]) -> list[Lease]:
    lost: list[Lease] = []
    for effect in effects:
        match effect:
            case SetTimer() | ClearTimers() | StartChild() | CancelChild() | TellParent():
                unit.agenda.carry_out(name, effect)
            case _:
                lost += carry_out(rows, effect)
        if isinstance(effect, EndAll):
            unit.agenda.clear(name)
    return lost


def _answer(unit: Unit, append: Append, lost: Sequence[Lease], now: float) -> Appended:
    name = append.execution_id
    revoked = tuple(Revoked(lease.worker, lease.epoch) for lease in sorted(lost, key=lambda lease: lease.epoch))
    if unit.is_parked(name):
        return Appended((), revoked)
    granted = [grant for ask in append.asks for grant in unit.work.claim_from(name, ask, now)]
    return Appended(dated(unit, granted), revoked, unit.work.has_open(name))
