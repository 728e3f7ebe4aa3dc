"""Queues: order, readiness, bounds, and an end when all is answered."""

import asyncio

import pytest

from noetl.control_plane.letters import Letter, Look, Taken
from noetl.control_plane.limits import Limits
from noetl.control_plane.mailboxes import Mailboxes
from noetl.engine.commands import CancelExecution
from noetl.engine.program import Program
from noetl.engine.state import State, empty
from noetl.ports import Busy, Unavailable
from tests.runtime import Rig, chain, played


def letter(reason: str = "") -> Letter:
    return Letter(CancelExecution(reason))


def see(program: Program, state: State) -> object:
    return program, state


@played
async def test_letters_and_looks_are_taken_in_order_and_no_more_letters_than_asked_for(rig: Rig) -> None:
    boxes = Mailboxes(Limits())
    first, second, third, look = letter(), letter(), letter(), Look(see, 0)
    boxes.post("x", first, look, second)
    boxes.post("x", third)
    (box,) = await boxes.next_group()
    assert box.take(2) == ([first, second], [look])
    assert box.take(2) == ([third], [])
    await rig.free()


@played
async def test_a_busy_queue_is_nobody_elses_until_it_is_done(rig: Rig) -> None:
    boxes = Mailboxes(Limits())
    boxes.post("x", letter())
    (box,) = await boxes.next_group()
    box.take(10)
    boxes.post("x", letter())
    waiting = asyncio.create_task(boxes.next_group())
    await rig.free()
    assert not waiting.done()
    boxes.done(box)
    assert await waiting == [box]


@played
async def test_warm_queues_go_together_and_a_cold_one_alone(rig: Rig) -> None:
    boxes = Mailboxes(Limits(group_max=2))
    for name in ("cold", "warm1", "warm2", "warm3"):
        boxes.post(name, letter())
        if name.startswith("warm"):
            boxes._boxes[name].loaded = (empty(name), None)
    groups = [await boxes.next_group() for _ in range(3)]
    assert [[box.execution_id for box in group] for group in groups] == [["cold"], ["warm1", "warm2"], ["warm3"]]
    await rig.free()


@played
async def test_room_is_made_when_letters_are_answered_and_any_number_fits_into_an_empty_house(rig: Rig) -> None:
    boxes = Mailboxes(Limits(waiting_max=2))
    many = [letter() for _ in range(5)]
    boxes.post("x", *many)
    with pytest.raises(Busy):
        boxes.post("y", letter())
    for each in many:
        each.resolve(Taken())
        each.resolve(Taken())
    await rig.free()
    boxes.post("y", letter())


@played
async def test_a_drain_takes_nothing_more_and_ends_when_all_is_answered(rig: Rig) -> None:
    boxes = Mailboxes(Limits())
    last = letter()
    boxes.post("x", last)
    draining = asyncio.create_task(boxes.drain())
    await rig.free()
    assert not draining.done()
    with pytest.raises(Unavailable, match="stopping"):
        boxes.post("x", letter())
    last.fail(Unavailable("no answer"))
    last.fail(Unavailable("twice"))
    await draining
    assert isinstance(last.answer.exception(), Unavailable)


@played
async def test_who_asked_may_be_gone(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.store.latency_s = 1.0
    asking = asyncio.create_task(plane.cancel(name))
    await rig.free()
    asking.cancel()
    await rig.until(lambda: rig.status(name) == "cancelled", within_s=3.0)
    gone = Look(see, 0)
    gone.answer.cancel()
    gone.resolve(1)
    gone.fail(Unavailable("nobody hears it"))
    assert gone.answer.cancelled()
