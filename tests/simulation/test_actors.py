import asyncio
import gc
from collections import Counter

import pytest

from tests.simulation.actors import Actor
from tests.simulation.loop import Idle, SimulatedLoop
from tests.simulation.scenes import current_loop, run

SEEDS = range(20)


# ------------------------------------------------------------------------------ crashes


async def persist(deeds: list[str]) -> None:
    """Does what a real process might do at its end, and more."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(stubborn(deeds))
            while True:
                await asyncio.sleep(1)
                deeds.append("alive")
    except asyncio.CancelledError:
        deeds.append("cancelled")
        raise
    finally:
        deeds.append("finally")
        await asyncio.sleep(1)
        deeds.append("after finally")


async def stubborn(deeds: list[str]) -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except BaseException:  # noqa: BLE001
            deeds.append("ignored an exception")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crashed_actor_does_nothing_any_more(seed: int) -> None:
    deeds: list[str] = []

    async def main() -> None:
        loop = current_loop()
        actor = loop.spawn("one", persist(deeds))
        await asyncio.sleep(3.5)
        loop.crash(actor)
        gc.collect()
        await asyncio.sleep(10)
        assert deeds == ["alive"] * 3
        assert not actor.is_alive

    assert run(seed, main).time() == 13.5


def test_the_dead_are_disposed_of_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        loop = current_loop()
        crashed = [loop.spawn(f"a{number}", persist([])) for number in range(5)]
        await asyncio.sleep(2)
        for actor in crashed:
            loop.crash(actor)
        loop.spawn("left running", persist([]))
        loop.spawn("never begun", persist([]))
        loop.crash(loop.spawn("dead before it began", persist([])))

    said = run(1, main).trace
    gc.collect()
    assert capfd.readouterr().err == ""
    assert said[0] == "2.000000 world: a0 crashes"


def test_what_the_dead_say_when_they_are_disposed_of_is_in_no_trace() -> None:
    async def mourn() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            current_loop().say("too late")

    async def main() -> None:
        current_loop().spawn("one", mourn())
        await asyncio.sleep(1)

    assert not any("too late" in line for line in run(1, main).trace)


def test_child_tasks_die_with_their_actor_and_others_live() -> None:
    deeds: list[str] = []

    async def tick(name: str) -> None:
        while True:
            await asyncio.sleep(1)
            deeds.append(name)

    async def parent(name: str) -> None:
        child = asyncio.create_task(tick(name))
        await child

    async def main() -> None:
        loop = current_loop()
        one = loop.spawn("one", parent("one"))
        loop.spawn("two", parent("two"))
        await asyncio.sleep(2.5)
        loop.crash(one)
        await asyncio.sleep(2)

    run(1, main)
    assert Counter(deeds) == {"one": 2, "two": 4}


def test_an_actor_lives_again_under_its_name() -> None:
    async def live() -> None:
        current_loop().say(f"life {current_loop().current.life}")
        await asyncio.sleep(100)

    async def main() -> None:
        loop = current_loop()
        loop.crash(await begin())
        second = await begin()
        assert loop.actor("one") is second

    async def begin() -> Actor:
        actor = current_loop().spawn("one", live())
        await asyncio.sleep(1)
        return actor

    said = run(1, main).trace
    assert [line for line in said if "life" in line] == ["0.000000 one: life 1", "1.000000 one: life 2"]


def test_two_actors_of_one_name_cannot_live_at_once() -> None:
    async def main() -> None:
        loop = current_loop()
        loop.spawn("one", asyncio.sleep(9))
        second = asyncio.sleep(9)
        with pytest.raises(AssertionError, match='actor "one" is alive'):
            loop.spawn("one", second)
        second.close()

    run(1, main)


def test_a_hook_may_crash_an_actor_before_any_of_its_callbacks() -> None:
    """For every place where it may be stopped, the deeds are a prefix of what it does unharmed."""

    async def act(deeds: list[int]) -> None:
        for number in range(5):
            deeds.append(number)
            await asyncio.sleep(0)

    def deeds_until(callbacks: int) -> list[int]:
        deeds: list[int] = []
        with SimulatedLoop(1) as loop:

            def before(actor: Actor) -> None:
                if actor.callbacks == callbacks:
                    loop.crash(actor)

            async def main() -> None:
                loop.before = before
                loop.spawn("one", act(deeds))
                await asyncio.sleep(1)

            loop.run(main())
        return deeds

    assert [deeds_until(callbacks) for callbacks in range(6)] == [list(range(count)) for count in range(6)]


def test_a_process_takes_its_tasks_with_it_when_its_main_ends() -> None:
    deeds: list[str] = []

    async def parent() -> None:
        current_loop().start(current_loop().current, persist(deeds))
        await asyncio.sleep(2.5)

    async def main() -> None:
        actor = current_loop().spawn("one", parent())
        await asyncio.sleep(9)
        assert deeds == ["alive"] * 2
        assert not actor.is_alive

    assert "2.500000 world: one ends" in run(1, main).trace


def test_timers_of_the_dead_move_no_clock() -> None:
    async def main() -> None:
        loop = current_loop()
        actor = loop.spawn("one", asyncio.sleep(1_000))
        await asyncio.sleep(1)
        loop.crash(actor)
        await asyncio.Event().wait()

    with SimulatedLoop(1) as loop:
        with pytest.raises(Idle):
            loop.run(main())
        assert loop.time() == 1


# ------------------------------------------------------------------------------ freezing


def test_a_frozen_actor_stands_still_and_then_goes_on() -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(current_loop().time())

    async def main() -> None:
        loop = current_loop()
        actor = loop.spawn("one", tick())
        await asyncio.sleep(2.5)
        loop.freeze(actor, 10)
        loop.freeze(actor, 1)
        await asyncio.sleep(12)

    run(1, main)
    assert ticks == [1, 2, 12.5, 13.5]


def test_a_frozen_actor_can_die() -> None:
    async def main() -> None:
        loop = current_loop()
        deeds: list[str] = []
        actor = loop.spawn("one", persist(deeds))
        await asyncio.sleep(0.5)
        loop.freeze(actor, 10)
        await asyncio.sleep(1)
        loop.crash(actor)
        await asyncio.sleep(20)
        assert deeds == []

    assert run(1, main).time() == 21.5
