"""Stored data at hand: bounded, fetched when it is asked for, and never taken from under someone's work."""

import asyncio
from collections.abc import Coroutine
from hashlib import sha256
from typing import Any

import pytest

from noetl.engine.reference import External, Gone, Reference, ReferenceMeta, encode_value
from noetl.engine.size import Blob
from noetl.errors import TemplateError
from noetl.ports import Unavailable
from noetl.storage.memory import MemoryResults
from noetl.supply.shelf import FETCHES_MAX, Ended, Left, Missing, NotAtHand, Shelf


class CountingResults(MemoryResults):
    def __init__(self) -> None:
        super().__init__()
        self.gets = 0

    async def get(self, sha256: str) -> bytes | None:
        self.gets += 1
        return await super().get(sha256)


class Given:
    def __init__(self, bytes_max: int = 1_000) -> None:
        self.results = CountingResults()
        self.shelf = Shelf(self.results, bytes_max)

    async def stored(self, value: object) -> Reference:
        data = encode_value(value)
        digest = sha256(data).hexdigest()
        await self.results.put([Blob(digest, data)])
        return Reference("object", {"sha256": digest})


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_what_is_not_at_hand_is_told_and_fetched_once() -> None:
    async def test() -> None:
        given = Given()
        reference = await given.stored([1, 2, 3])
        with pytest.raises(NotAtHand) as told:
            given.shelf.fetch(reference)
        assert told.value.reference is reference
        for _ in range(3):
            await given.shelf.bring(reference)
        assert given.results.gets == 1
        assert given.shelf.value(reference) == [1, 2, 3]
        assert given.shelf.value(External(reference)) is given.shelf.value(reference)
        assert given.shelf.length(reference) == 3
        assert given.shelf.element(External(reference), 1) == 2

    run(test())


def test_only_a_list_has_a_length() -> None:
    async def test() -> None:
        given = Given()
        reference = await given.stored({"a": 1})
        assert await given.shelf.tried(lambda: given.shelf.length(reference)) is None

    run(test())


def test_a_value_that_was_written_into_is_read_with_its_patch() -> None:
    async def test() -> None:
        given = Given()
        external = External(await given.stored({"a": 1, "b": 2}), patch={"a": 9})
        assert await given.shelf.tried(lambda: given.shelf.value(external)) == {"a": 9, "b": 2}

    run(test())


def test_data_that_is_gone_is_missing_and_not_only_unavailable() -> None:
    async def test() -> None:
        with pytest.raises(Missing, match="is not in the result store, or is damaged"):
            await Given().shelf.bring(Reference("object", {"sha256": "abc"}))

    run(test())


def test_what_was_used_longest_ago_goes_first() -> None:
    async def test() -> None:
        given = Given(bytes_max=250)
        first, second, third = [await given.stored(letter * 100) for letter in "abc"]
        await given.shelf.bring(first)
        await given.shelf.bring(second)
        given.shelf.fetch(first)
        await given.shelf.bring(third)
        given.shelf.fetch(first)
        with pytest.raises(NotAtHand):
            given.shelf.fetch(second)

    run(test())


def test_one_thing_larger_than_the_shelf_is_at_hand_all_the_same() -> None:
    async def test() -> None:
        given = Given(bytes_max=10)
        reference = await given.stored("x" * 100)
        await given.shelf.bring(reference)
        assert len(given.shelf.fetch(reference)) == 102

    run(test())


def test_work_that_needs_more_than_the_shelf_holds_gets_all_of_it_and_then_the_room_is_made() -> None:
    async def test() -> None:
        given = Given(bytes_max=250)
        value = {letter: External(await given.stored(letter * 100)) for letter in "abcdef"}
        assert await given.shelf.hydrated(value) == {letter: letter * 100 for letter in "abcdef"}
        assert given.results.gets == 6
        assert given.shelf._size <= 250

    run(test())


def test_two_works_at_once_do_not_take_from_each_other() -> None:
    async def test() -> None:
        given = Given(bytes_max=250)
        shared = await given.stored("s" * 100)
        with given.shelf.working() as one, given.shelf.working() as other:
            await one.bring(shared)
            await other.bring(shared)
            await one.bring(shared)
            await other.bring(await given.stored("o" * 300))
            given.shelf.fetch(shared)
        assert given.shelf._users == {}

    run(test())


def test_data_that_refers_to_data_without_end_is_given_up() -> None:
    async def test() -> None:
        given = Given()
        references = [await given.stored(number) for number in range(FETCHES_MAX + 1)]

        def ask() -> None:
            for reference in references:
                given.shelf.fetch(reference)

        with pytest.raises(Unavailable, match="refers to more stored data"):
            await given.shelf.tried(ask)

    run(test())


# ------------------------------------------------------------------------------ what was kept for a time


def ended(name: str) -> External:
    return External(Reference("blob", {"sha256": name}, meta=ReferenceMeta(sha256=name, ttl="24h")))


def test_of_data_that_was_kept_for_a_time_it_is_told_that_the_time_is_over() -> None:
    async def test() -> None:
        with pytest.raises(Ended, match=r"was kept for 24h, as `spec\.result\.ttl` says, and is gone; run again what"):
            await Given().shelf.hydrated([ended("a")])

    run(test())


def test_what_is_left_is_given_and_in_the_place_of_the_rest_stands_that_it_is_gone() -> None:
    async def test() -> None:
        given = Given()
        kept = External(await given.stored(["here"]))
        nested = External(await given.stored({"inside": [ended("b"), ended("c")]}))
        found = await given.shelf.left_of({"a": ended("a"), "kept": kept, "nested": nested})
        assert isinstance(found, dict)
        assert found["kept"] == ["here"]
        assert [type(each) for each in (found["a"], *found["nested"]["inside"])] == [Gone] * 3
        assert given.shelf._users == {}
        assert await given.shelf.left_of([1]) == [1]

    run(test())


def test_what_was_to_be_kept_for_good_is_missed_by_everyone() -> None:
    async def test() -> None:
        with pytest.raises(Missing, match="is not in the result store, or is damaged"):
            await Given().shelf.left_of([External(Reference("blob", {"sha256": "x"}))])

    run(test())


def test_a_decision_hears_of_an_end_where_it_asks_for_a_length_and_is_broken_off_elsewhere() -> None:
    async def test() -> None:
        given = Given()
        left, lost, kept = Left(given.shelf), ended("a"), External(await given.stored([1, 2]))
        with given.shelf.working() as work:
            await left.bring(work, lost.reference)
            await left.bring(work, kept.reference)
            assert (left.length(kept), left.length(kept.reference), left.element(kept, 1)) == (2, 2, 2)
            with pytest.raises(TemplateError, match="was kept for 24h") as caught:
                left.length(lost)
            assert caught.value.kind == "reference_not_available"
            with pytest.raises(NotAtHand):
                left.fetch(lost.reference)
            with pytest.raises(Ended):
                await left.bring(work, lost.reference)

    run(test())
