"""Who follows a log sees every event once, in order, and the end of it."""

import asyncio

from noetl.control_plane.limits import Limits
from noetl.control_plane.plane import Plane
from tests.runtime import Rig, chain, played


async def followed(plane: Plane, name: str, after: int = 0) -> list[bytes]:
    return [data async for data in plane.feed.events(name, after)]


@played
async def test_a_follower_misses_nothing_sees_nothing_twice_and_is_told_the_end(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(chain("a"))
    early = asyncio.create_task(followed(plane, "x1"))
    await rig.free()
    rig.work(plane)
    await rig.begin(plane, chain("a", "b", "c"), name="x1")
    late = asyncio.create_task(followed(plane, "x1", 3))
    await rig.end("x1")
    log = list(await rig.store.read("x1", 0, 1_000))
    assert await early == log
    assert await late == log[3:]
    assert await followed(plane, "x1") == log
    assert plane._signals._followers == {}


@played
async def test_a_follower_at_another_server_sees_the_same_a_little_later(rig: Rig) -> None:
    plane, other = rig.serve(), rig.serve(Limits(poll_s=1.0, read_max=2))
    rig.work(plane)
    name = await rig.begin(plane, chain("a", "b"))
    assert await followed(other, name) == list(await rig.store.read(name, 0, 1_000))


@played
async def test_an_event_is_seen_the_moment_it_is_appended(rig: Rig) -> None:
    plane = rig.serve(Limits(poll_s=1_000.0))
    name = await rig.begin(plane, chain("a"))
    following = asyncio.create_task(followed(plane, name))
    await rig.free()
    await plane.cancel(name)
    await rig.until(following.done, within_s=0.1)
    assert await following == list(await rig.store.read(name, 0, 1_000))


@played
async def test_what_is_committed_here_is_told_without_asking_the_store(rig: Rig) -> None:
    plane = rig.serve(Limits(poll_s=1_000.0))
    await rig.register(chain("a", "b", "c"))
    following = asyncio.create_task(followed(plane, "x1"))
    await rig.free()
    await rig.begin(plane, chain("a", "b", "c"), name="x1")
    reads = rig.store.reads
    rig.work(plane)
    await rig.end("x1")
    assert rig.store.reads == reads
    assert await following == list(await rig.store.read("x1", 0, 1_000))
