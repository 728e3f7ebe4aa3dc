"""Leases: handed out, renewed, given back and ended."""

from collections.abc import Sequence

import msgspec

from noetl.ports import Ask, Clock, Expired, Granted
from noetl.storage.sqlite.unit import Unit


def claim(unit: Unit, ask: Ask, limit: int, clock: Clock) -> Sequence[Granted]:
    unit.flush()
    keys = unit.work.find_open(ask, limit)
    unit.load([name for name, _ in keys])
    return dated(unit, unit.work.grant_each(keys, ask, clock.now()))


def renew(unit: Unit, held: Sequence[Granted], lease_s: float, clock: Clock) -> frozenset[int]:
    unit.load([each.execution_id for each in held])
    now = clock.now()
    return frozenset(each.lease.epoch for each in held if not unit.work.renew(each, now, lease_s))


def release(unit: Unit, held: Sequence[Granted]) -> None:
    unit.load([each.execution_id for each in held])
    for each in held:
        unit.work.release(each)


def expire(unit: Unit, limit: int, clock: Clock) -> Sequence[Expired]:
    now = clock.now()
    unit.flush()
    over = sorted(unit.work.find_expired(now, limit))
    unit.load([name for name, _ in over])
    found = {key: unit.work.expire(key, now) for key in over}
    unit.flush()
    poisoned = unit.work.find_poisoned(limit)
    unit.load([name for name, _ in poisoned])
    for key in poisoned:
        found[key] = msgspec.structs.replace(found.get(key, Expired(*key)), poison=unit.work.tell(key))
    return list(found.values())


def dated(unit: Unit, granted: Sequence[Granted]) -> Sequence[Granted]:
    """With the end of the log at which they were granted."""
    return tuple(msgspec.structs.replace(each, head=unit.head(each.execution_id)) for each in granted)
