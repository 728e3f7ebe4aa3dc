"""Whose turn it is: all parts of the stored objects are looked through in rounds, each part by one process."""

import msgspec

NEVER = 9e99
"""When a round begins that stands in the way of all others: the log does not tell all that is needed."""


class Round(msgspec.Struct, frozen=True, array_like=True):
    """`next` is the part that comes next; a round that is over stands at its end."""

    next: int
    began_at: float


def following(found: Round | None, parts: int, every_s: float, now: float) -> tuple[int | None, Round]:
    """The part to look through now, and the round as it stands then. Nothing that is new can be old enough.

    A round that began later than now was begun by a clock that was ahead; it is not waited for.
    """
    if found is None:
        return None, Round(parts, now)
    if found.next < parts:
        return found.next, Round(found.next + 1, found.began_at)
    if found.began_at != NEVER and abs(now - found.began_at) >= every_s:
        return 0, Round(1, now)
    return None, found
