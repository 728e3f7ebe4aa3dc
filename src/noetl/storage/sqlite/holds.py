"""Which stored objects the log refers to, and how far the search for the others has come."""

from noetl.ports import Clock, Held
from noetl.storage.rounds import Round, following
from noetl.storage.sqlite.records import ObjectRow
from noetl.storage.sqlite.session import Session
from noetl.storage.sqlite.unit import Unit

AFTER_HEX = "g"
"""Comes after every digit of a sha256."""


def held(session: Session, prefix: str, clock: Clock) -> Held:
    """Time is taken first: what was committed before it is seen."""
    now = clock.now()
    found = session.all("held", ObjectRow, prefix, prefix + AFTER_HEX, now)
    return Held(now, frozenset(each.sha256 for each in found))


def next_part(unit: Unit, parts: int, every_s: float, clock: Clock) -> int | None:
    found = unit.session.first("round", Round)
    part, now = following(found, parts, every_s, clock.now())
    if now != found:
        unit.session.run("save_round", now.next, now.began_at)
    return part
