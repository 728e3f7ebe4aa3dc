"""How the stores are met: what lasts, what is over, and what will not pass by itself."""

import pytest

from noetl.ports import Unavailable
from noetl.storage.errors import DiskFull, Locked, ReadOnly
from noetl.storage.health import CALM_S, Health


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def meet(health: Health, doing: str, trouble: Exception | None = None) -> None:
    with health.watching(doing):
        if trouble is not None:
            raise trouble


def met(health: Health, doing: str, trouble: Exception) -> None:
    with pytest.raises(Unavailable):
        meet(health, doing, trouble)


async def test_trouble_lasts_from_its_first_time_until_the_same_kind_of_work_is_done() -> None:
    clock = Hand()
    health = Health(clock)
    met(health, "commit", DiskFull("full"))
    clock.at += 3
    met(health, "commit", DiskFull("still full"))
    meet(health, "claim")
    spell = health.spell()
    assert spell is not None
    assert (str(spell.error), spell.since, spell.last, spell.may_pass) == ("still full", 100.0, 103.0, True)
    meet(health, "commit")
    assert health.spell() is None


async def test_trouble_that_nobody_meets_again_is_over() -> None:
    clock = Hand()
    health = Health(clock)
    met(health, "renew", Locked("held"))
    clock.at += CALM_S
    assert health.spell() is None
    met(health, "renew", Locked("held anew"))
    spell = health.spell()
    assert spell is not None
    assert spell.since == clock.at


async def test_what_will_not_pass_comes_first_and_stays() -> None:
    clock = Hand()
    health = Health(clock)
    met(health, "commit", DiskFull("full"))
    clock.at += 1
    met(health, "put", ReadOnly("read-only"))
    clock.at += 2 * CALM_S
    spell = health.spell()
    assert spell is not None
    assert (str(spell.error), spell.may_pass) == ("read-only", False)


async def test_work_without_a_name_can_wait() -> None:
    health = Health(Hand())
    met(health, "", DiskFull("full"))
    met(health, "", ReadOnly("read-only"))
    assert health.spell() is None
    assert not health.changed.is_set()


async def test_whoever_watches_hears_of_a_beginning_and_of_an_end() -> None:
    health = Health(Hand())
    meet(health, "commit")
    assert not health.changed.is_set()
    met(health, "commit", DiskFull("full"))
    assert health.changed.is_set()
    health.changed.clear()
    meet(health, "commit")
    assert health.changed.is_set()


async def test_what_is_no_trouble_of_the_store_is_not_noted() -> None:
    health = Health(Hand())
    met(health, "get", Unavailable("that one result is damaged"))
    assert health.spell() is None
