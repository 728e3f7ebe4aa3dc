import asyncio

import pytest

from tests.simulation.clocks import EPOCH_S, SeededChance, SimulatedClock, chance_of_current
from tests.simulation.loop import SimulatedLoop


def test_a_clock_may_begin_anywhere_drift_and_jump() -> None:
    with SimulatedLoop(1) as loop:
        clock = SimulatedClock(loop, "server-1", drift=0.01, offset_s=5, began_s=1_000)
        loop.run(asyncio.sleep(100))
        assert clock.now() == pytest.approx(EPOCH_S + 106)
        assert clock.monotonic() == pytest.approx(1_101)
        clock.jump(-3_600)
        assert clock.now() == pytest.approx(EPOCH_S + 106 - 3_600)
        assert clock.monotonic() == pytest.approx(1_101)
        assert "100.000000 world: the clock of server-1 jumps by -3600 s" in loop.trace


def test_chance_is_the_seeds_and_each_lifes_own() -> None:
    draws = [SeededChance(seed, "a", life).draw() for seed, life in ((1, 1), (1, 1), (1, 2), (2, 1))]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3
    assert all(0 <= draw < 1 for draw in draws)


def test_ids_tell_who_made_them() -> None:
    async def make() -> list[str]:
        chance = chance_of_current()
        return [chance.new_id(), chance.new_id()]

    with SimulatedLoop(1) as loop:
        assert loop.run(make()) == ["world.1.1", "world.1.2"]
