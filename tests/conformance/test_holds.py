"""Which stored objects the log refers to, and whose turn it is to look for the others."""

import msgspec
import pytest

from noetl.engine.events import Parent
from noetl.engine.holds import Hold
from noetl.ports import Append, Conflict
from tests.conformance.given import append, summary
from tests.conformance.homes import START_S, Home

A, B, C = "aa" + "0" * 62, "ab" + "1" * 62, "b0" + "f" * 62
EVERY_S = 100.0


async def test_what_events_refer_to_is_held_and_found_by_the_beginning_of_its_name(home: Home) -> None:
    async with home.store() as store:
        await append(store, holds=[Hold(A), Hold(B)])
        await append(store, name="e2", holds=[Hold(B), Hold(C)])
        assert set((await store.held("")).names) == {A, B, C}
        assert set((await store.held("a")).names) == {A, B}
        assert set((await store.held("ab")).names) == {B}
        assert set((await store.held(C)).names) == {C}
        assert set((await store.held("0")).names) == set()
        assert (await store.held("0")).at == START_S


async def test_it_is_held_when_the_store_is_opened_again(home: Home) -> None:
    async with home.store() as store:
        await append(store, holds=[Hold(A)])
    async with home.store() as store:
        assert set((await store.held("")).names) == {A}


async def test_who_loses_holds_nothing(home: Home) -> None:
    async with home.store() as store:
        (answer,) = await store.commit([Append("e1", 7, [b"event"], holds=[Hold(A)])])
        assert isinstance(answer, Conflict)
        assert set((await store.held("")).names) == set()


async def test_what_is_held_for_a_time_is_let_go_when_it_is_over(home: Home) -> None:
    async with home.store() as store:
        await append(store, summary=summary("e1", "completed"), holds=[Hold(A, START_S + 10), Hold(B)])
        home.clock.pass_s(9)
        assert set((await store.held("")).names) == {A, B}
        home.clock.pass_s(1)
        assert set((await store.held("")).names) == {B}


async def test_the_later_time_counts_and_none_is_the_latest(home: Home) -> None:
    async with home.store() as store:
        await append(store, holds=[Hold(A, START_S + 10), Hold(B, START_S + 10), Hold(C)])
        await append(store, holds=[Hold(A, START_S + 20), Hold(A, START_S + 5), Hold(B), Hold(C, START_S + 5)])
        home.clock.pass_s(15)
        assert set((await store.held("")).names) == {A, B, C}
        home.clock.pass_s(15)
        assert set((await store.held("")).names) == {B, C}


async def test_of_several_executions_the_one_that_needs_it_longest_counts(home: Home) -> None:
    async with home.store() as store:
        await append(store, holds=[Hold(A, START_S + 10), Hold(B, START_S + 10)])
        await append(store, name="e2", holds=[Hold(A), Hold(B, START_S + 5)])
        home.clock.pass_s(15)
        assert set((await store.held("")).names) == {A}


async def test_an_execution_that_goes_on_holds_all_it_refers_to(home: Home) -> None:
    async with home.store() as store:
        await append(store, summary=summary("e1"), holds=[Hold(A, START_S + 10)])
        home.clock.pass_s(1_000)
        assert set((await store.held("")).names) == {A}
        await append(store, summary=summary("e1", "failed"))
        assert set((await store.held("")).names) == set()


async def test_what_a_called_execution_refers_to_is_held_while_its_caller_goes_on(home: Home) -> None:
    """Between its end and the moment at which its caller has recorded its output, nobody else refers to it."""
    parent = Parent("e1", "call#1", (), "call#1.task/1", 1)
    async with home.store() as store:
        await append(store, summary=summary("e1"))
        ended = msgspec.structs.replace(summary("e1.c", "completed"), parent=parent)
        await append(store, name="e1.c", summary=ended, holds=[Hold(A, START_S + 10)])
        home.clock.pass_s(1_000)
        assert set((await store.held("")).names) == {A}
        await append(store, summary=summary("e1", "completed"))
        assert set((await store.held("")).names) == set()


async def test_a_round_hands_out_each_part_once_and_the_next_begins_when_it_is_time(home: Home) -> None:
    async with home.store() as store:
        assert await store.next_part(3, EVERY_S) is None
        home.clock.pass_s(EVERY_S - 1)
        assert await store.next_part(3, EVERY_S) is None
        home.clock.pass_s(1)
        assert [await store.next_part(3, EVERY_S) for _ in range(5)] == [0, 1, 2, None, None]
        home.clock.pass_s(EVERY_S)
        assert [await store.next_part(3, EVERY_S) for _ in range(2)] == [0, 1]


async def test_a_round_goes_on_where_it_was_left(home: Home) -> None:
    async with home.store() as store:
        assert await store.next_part(3, EVERY_S) is None
        home.clock.pass_s(EVERY_S)
        assert await store.next_part(3, EVERY_S) == 0
    home.clock.pass_s(5 * EVERY_S)
    async with home.store() as store:
        assert [await store.next_part(3, EVERY_S) for _ in range(4)] == [1, 2, 0, 1]


@pytest.mark.parametrize("count", [1, 70])
async def test_any_number_is_held_at_once(home: Home, count: int) -> None:
    names = [f"{number:064x}" for number in range(count)]
    async with home.store() as store:
        await append(store, holds=[Hold(name) for name in names])
        assert sorted((await store.held("")).names) == names
