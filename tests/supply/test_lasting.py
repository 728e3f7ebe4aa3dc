"""A loop that breaks is told of and begins again; one that is cancelled ends."""

import asyncio

import pytest

from noetl.supply.lasting import REST_S, lasting
from tests.simulation.loop import SimulatedLoop


def test_a_loop_that_breaks_is_told_of_and_begins_again() -> None:
    runs: list[float] = []

    async def breaks() -> None:
        runs.append(asyncio.get_running_loop().time())
        raise ZeroDivisionError("a bug")

    async def test() -> None:
        task = asyncio.create_task(lasting(breaks))
        await asyncio.sleep(2.5 * REST_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with SimulatedLoop(1) as loop:
        loop.run(test())
        assert runs == [0.0, REST_S, 2 * REST_S]
        assert len(loop.failures()) == 3
        assert "breaks broke and begins again" in loop.failures()[0]
