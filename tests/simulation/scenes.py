"""How tests run a short scene on the simulated loop."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.simulation.loop import SimulatedLoop


def current_loop() -> SimulatedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop


def run(seed: int, main: Callable[[], Awaitable[object]]) -> SimulatedLoop:
    """A finished simulation, closed, of which nobody complained."""

    async def begin() -> None:
        await main()

    with SimulatedLoop(seed) as loop:
        loop.run(begin())
        assert loop.failures() == []
    return loop
