import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from tests.simulation.loop import Idle, SimulatedLoop, TooLong
from tests.simulation.scenes import current_loop, run

SEEDS = range(20)


# ------------------------------------------------------------------------------ time


def test_time_jumps_to_the_next_timer() -> None:
    with SimulatedLoop(1) as loop:
        loop.run(asyncio.sleep(86_400))
        assert loop.time() == 86_400
        assert loop.callbacks < 10


@pytest.mark.parametrize("seed", SEEDS)
def test_sleepers_wake_in_the_order_of_their_timers(seed: int) -> None:
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await asyncio.sleep(seconds)
        woken.append(seconds)

    async def main() -> None:
        await asyncio.gather(*map(sleep, (3, 1, 2)))

    assert run(seed, main).time() == 3
    assert woken == [1, 2, 3]


def test_a_cancelled_timer_moves_no_clock() -> None:
    async def main() -> None:
        current_loop().call_later(100, print).cancel()
        await asyncio.sleep(1)
        assert current_loop().time() == 1

    run(1, main)


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> None:
        for _ in range(5_000):
            current_loop().call_later(1_000, print).cancel()

    with SimulatedLoop(1) as loop:
        loop.run(main())
        assert len(loop._timers) < 1_000


def test_a_timer_of_the_past_is_due_at_once() -> None:
    async def main() -> None:
        await asyncio.sleep(5)
        due = asyncio.Event()
        assert current_loop().call_at(1, due.set).when() == 1
        await due.wait()
        assert current_loop().time() == 5

    run(1, main)


# ------------------------------------------------------------------------------ order


def interleaving(seed: int) -> str:
    letters: list[str] = []

    async def write(letter: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
            letters.append(letter)

    async def main() -> None:
        await asyncio.gather(*map(write, "abc"))

    run(seed, main)
    return "".join(letters)


def test_a_seed_means_one_order_and_other_seeds_mean_others() -> None:
    orders = [interleaving(seed) for seed in SEEDS]
    assert orders == [interleaving(seed) for seed in SEEDS]
    assert len(set(orders)) > 15


@pytest.mark.parametrize("seed", SEEDS)
def test_what_one_task_does_stays_in_order(seed: int) -> None:
    steps: list[int] = []

    async def count() -> None:
        for number in range(10):
            await asyncio.sleep(0)
            steps.append(number)

    async def main() -> None:
        noise = [asyncio.create_task(asyncio.sleep(0)) for _ in range(10)]
        await asyncio.gather(count(), *noise)

    run(seed, main)
    assert steps == list(range(10))


def test_everyone_gets_a_fair_share() -> None:
    turns: Counter[int] = Counter()

    async def spin(number: int) -> None:
        while current_loop().callbacks < 10_000:
            turns[number] += 1
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*map(spin, range(10)))

    run(1, main)
    assert min(turns.values()) > 800
    assert max(turns.values()) < 1_200


# ------------------------------------------------------------------------------ asyncio as it is


@pytest.mark.parametrize("seed", SEEDS)
def test_no_item_of_a_queue_is_lost(seed: int) -> None:
    taken: list[int] = []

    async def put(queue: asyncio.Queue[int], first: int) -> None:
        for number in range(first, first + 20):
            await queue.put(number)

    async def take(queue: asyncio.Queue[int]) -> None:
        while True:
            taken.append(await queue.get())
            queue.task_done()

    async def main() -> None:
        queue = asyncio.Queue[int](3)
        takers = [asyncio.create_task(take(queue)) for _ in range(3)]
        await asyncio.gather(*(put(queue, first) for first in (0, 20, 40)))
        await queue.join()
        for taker in takers:
            taker.cancel()

    run(seed, main)
    assert sorted(taken) == list(range(60))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_wake_up_is_lost(seed: int) -> None:
    woken: list[int] = []

    async def wait(number: int, condition: asyncio.Condition, event: asyncio.Event) -> None:
        await event.wait()
        async with condition:
            await condition.wait()
            woken.append(number)

    async def main() -> None:
        condition, event = asyncio.Condition(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(wait(number, condition, event))
            await asyncio.sleep(1)
            event.set()
            await asyncio.sleep(1)
            async with condition:
                condition.notify_all()

    run(seed, main)
    assert sorted(woken) == list(range(5))


@pytest.mark.parametrize("seed", SEEDS)
def test_timeouts_and_wait_for_end_what_takes_too_long(seed: int) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(9), 2)
        assert await asyncio.wait_for(asyncio.sleep(1, "slept"), 2) == "slept"
        assert current_loop().time() == 6

    run(seed, main)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_cancels_the_others_when_one_fails(seed: int) -> None:
    ended: list[str] = []

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("one")

    async def wait() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append("finally")

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for task in (wait, fail, wait):
                group.create_task(task())

    async def main() -> None:
        with pytest.raises(ExceptionGroup):
            await together()

    assert run(seed, main).time() == 1
    assert ended == ["finally", "finally"]


async def numbers() -> AsyncIterator[int]:
    try:
        for number in range(10):
            await asyncio.sleep(1)
            yield number
    finally:
        await asyncio.sleep(1)
        current_loop().say("generator closed")


def test_a_generator_left_early_is_closed_by_the_loop() -> None:
    async def main() -> None:
        async for number in numbers():
            if number == 2:
                break
        await asyncio.sleep(5)

    assert "4.000000 world: generator closed" in run(1, main).trace


@pytest.mark.parametrize("seed", SEEDS)
def test_callbacks_run_soon_and_in_any_order(seed: int) -> None:
    called: list[int] = []

    async def main() -> None:
        loop = current_loop()
        handles = [loop.call_soon(called.append, number) for number in range(5)]
        handles[3].cancel()
        await asyncio.sleep(1)
        assert handles[3].cancelled()
        assert not loop.get_debug()

    run(seed, main)
    assert sorted(called) == [0, 1, 2, 4]


def test_threads_are_refused() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="no threads"):
            await asyncio.to_thread(print)
        with pytest.raises(RuntimeError, match="no threads"):
            current_loop().call_soon_threadsafe(print)

    run(1, main)


def farewells(seed: int) -> str:
    """The order in which asyncio, which keeps tasks and futures in sets, cancels and hands out many of them."""
    left: list[str] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            left.append(f"task {number}")

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(wait(number))
            await asyncio.sleep(1)
            raise ValueError("enough")

    async def main() -> None:
        with pytest.raises(ExceptionGroup):
            await together()
        futures = {current_loop().create_future(): number for number in range(20)}
        for future in futures:
            future.set_result(None)
        done, _ = await asyncio.wait(futures)
        left.extend(f"future {futures[future]}" for future in done)

    run(seed, main)
    return ", ".join(left)


def test_the_order_in_sets_of_tasks_does_not_follow_from_addresses() -> None:
    kept, orders = [], set()
    for count in range(10):
        kept.append([object() for _ in range(101 * count)])
        orders.add(farewells(1))
    assert len(orders) == 1


# ------------------------------------------------------------------------------ bounds and failures


def test_idleness_says_who_waits_for_what() -> None:
    async def wait(event: asyncio.Event) -> None:
        await event.wait()

    async def main() -> None:
        current_loop().spawn("server", wait(asyncio.Event()))
        await asyncio.sleep(7)
        await asyncio.Queue[int]().get()

    with SimulatedLoop(5) as loop, pytest.raises(Idle) as idle:
        loop.run(main())
    first, world, server = str(idle.value).splitlines()
    assert first == "at 7 s nothing is ready and no timer is set; seed 5"
    assert world.startswith("  world/1 waits in get (queues.py:")
    assert " < main (test_loop.py:" in world
    assert server.startswith("  server/")
    assert "waits in wait (locks.py:" in server


def test_too_many_callbacks_say_who_is_busy() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    async def main() -> None:
        current_loop().spawn("spinner", spin())
        await asyncio.sleep(1)

    with SimulatedLoop(5, callbacks_max=1_000) as loop, pytest.raises(TooLong, match=r"1000 .* 0 s, .* spinner 1000"):
        loop.run(main())


async def fail() -> None:
    await asyncio.sleep(1)
    raise ValueError("a bug")


def test_an_actor_that_ends_with_an_exception_is_a_failure() -> None:
    async def main() -> None:
        current_loop().spawn("one", fail())
        await asyncio.sleep(2)

    with SimulatedLoop(1) as loop:
        loop.run(main())
        (failure,) = loop.failures()
    assert failure.startswith("one ended with ValueError('a bug') at ")
    assert "1.000000 world: failure: one ended with ValueError('a bug')" in loop.trace


def test_a_task_that_fails_unseen_is_a_failure() -> None:
    async def main() -> None:
        task = asyncio.create_task(fail(), name="lost")
        await asyncio.sleep(2)
        assert task.done()

    with SimulatedLoop(1) as loop:
        loop.run(main())
        (failure,) = loop.failures()
    assert failure.startswith("world/lost failed unseen: ValueError('a bug') at ")


def test_what_asyncio_complains_of_is_a_failure() -> None:
    async def main() -> None:
        current_loop().call_exception_handler({"message": "odd"})

    with SimulatedLoop(1) as loop:
        loop.run(main())
        assert loop.failures() == ["odd"]


def test_an_exception_that_someone_saw_is_none() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="a bug"):
            await asyncio.create_task(fail())

    assert run(1, main).time() == 1


def test_a_run_can_go_on_later() -> None:
    with SimulatedLoop(1) as loop:
        assert loop.run(asyncio.sleep(1, "first")) == "first"
        assert loop.run_until_complete(asyncio.sleep(1, "second")) == "second"
        assert loop.time() == 2
        assert not loop.is_running()


def test_tasks_that_are_over_are_let_go() -> None:
    async def main() -> None:
        for _ in range(2_000):
            await asyncio.create_task(asyncio.sleep(0))
        assert len(current_loop().world.tasks) < 200

    assert run(1, main).callbacks > 4_000
