"""Hints: one is woken for work at a time, none is lost between a look and a wait, and nothing piles up."""

import asyncio

from noetl.control_plane.signals import HEARD_BYTES_MAX, Follower, Signals
from noetl.ports import Revoked
from tests.runtime import Rig, played


@played
async def test_work_wakes_the_one_who_waits_longest(rig: Rig) -> None:
    signals = Signals()
    woken: list[str] = []

    async def wait(name: str) -> None:
        with signals.polling(name) as bell:
            signals.ask_for_work(bell)
            await bell.wait(100.0)
            woken.append(name)

    waiting = []
    for name in ("first", "second"):
        waiting.append(asyncio.create_task(wait(name)))
        await rig.free()
    signals.work_offered()
    await rig.free()
    assert woken == ["first"]
    signals.work_offered()
    await asyncio.gather(*waiting)
    assert woken == ["first", "second"]
    signals.work_offered()


@played
async def test_a_bell_that_rings_before_the_wait_is_heard(rig: Rig) -> None:
    signals = Signals()
    with signals.polling("w") as bell:
        signals.ask_for_work(bell)
        signals.work_offered()
        began_at = rig.loop.time()
        await bell.wait(100.0)
        assert rig.loop.time() == began_at
        await bell.wait(5.0)
        assert rig.loop.time() == began_at + 5.0


@played
async def test_who_leaves_without_taking_what_was_offered_passes_it_on(rig: Rig) -> None:
    signals = Signals()
    with signals.polling("stays") as stays:
        with signals.polling("leaves") as leaves:
            signals.ask_for_work(leaves)
            signals.ask_for_work(stays)
            signals.work_offered()
            assert (leaves.is_rung, stays.is_rung) == (True, False)
        assert stays.is_rung
    await rig.free()


@played
async def test_a_lost_lease_is_told_to_the_worker_that_polls_here_and_forgotten_with_it(rig: Rig) -> None:
    signals = Signals()
    signals.revoke(Revoked("elsewhere", 1))
    assert signals.revoked("elsewhere") == frozenset()
    with signals.polling("w") as bell:
        signals.revoke(Revoked("w", 2))
        signals.revoke(Revoked("w", 3))
        await bell.wait(100.0)
        assert rig.loop.time() == 0.0
        assert signals.revoked("w") == {2, 3}
        assert signals.revoked("w") == frozenset()
        signals.revoke(Revoked("w", 4))
    assert signals.revoked("w") == frozenset()


@played
async def test_idle_polls_leave_nothing_behind(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, "w1")
    rig.work(plane, "w2")
    await asyncio.sleep(300.0)
    signals = plane._signals
    assert len(signals._claimants) == 2
    assert {worker: len(bells) for worker, bells in signals._polls.items()} == {"w1": 2, "w2": 2}


@played
async def test_a_follower_is_told_what_follows_and_nothing_twice(rig: Rig) -> None:
    follower = Follower()
    follower.hear(0, [b"1", b"2"])
    follower.hear(2, [b"3"])
    follower.hear(5, [b"6"])
    await follower.wait(100.0)
    assert follower.take(1) == [b"2"]
    assert follower.take(2) == [b"3"]
    assert follower.take(3) == ()
    await follower.wait(100.0)
    assert rig.loop.time() == 0.0
    assert follower.take(6) == ()
    await follower.wait(5.0)
    assert rig.loop.time() == 5.0


@played
async def test_a_follower_remembers_only_so_much_and_is_rung_for_the_rest(rig: Rig) -> None:
    follower = Follower()
    follower.hear(0, [b"x" * HEARD_BYTES_MAX])
    follower.hear(1, [b"y"])
    assert len(follower.take(0)) == 1
    assert follower.take(1) == ()
    await follower.wait(100.0)
    follower.hear(2, [b"z"])
    assert follower.take(2) == [b"z"]
    assert rig.loop.time() == 0.0
