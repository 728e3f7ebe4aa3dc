"""Stored data at hand: bounded, fetched when it is asked for, and never taken from under someone's work."""

import asyncio
from collections.abc import Coroutine
from hashlib import sha256
from typing import Any

import pytest

from noetl.engine.reference import External, Gone, Loss, Lost, Reference, ReferenceMeta, encode_value
from noetl.engine.size import Blob
from noetl.errors import TemplateError
from noetl.ports import Damaged, Unavailable
from noetl.storage.memory import MemoryResults
from noetl.supply.shelf import FETCHES_MAX, Ended, Left, LeftOver, Missing, MissingData, NotAtHand, Shelf


class CountingResults(MemoryResults):
    def __init__(self) -> None:
        super().__init__()
        self.gets = 0
        self.damaged: set[object] = set()

    async def get(self, sha256: str) -> bytes | None:
        self.gets += 1
        if sha256 in self.damaged:
            raise Damaged(sha256)
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
        with pytest.raises(Missing, match="is not in the result store"):
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
        with pytest.raises(Ended, match=r"was kept for 24h, as `spec\.result\.ttl` says, and is gone") as caught:
            await Given().shelf.hydrated([ended("a")])
        assert caught.value.error.message.endswith("and is gone; run again what made it")
        assert not caught.value.error.retryable

    run(test())


def test_what_is_left_is_given_and_in_the_place_of_the_rest_stands_that_it_is_gone() -> None:
    async def test() -> None:
        given = Given()
        kept = External(await given.stored(["here"]))
        nested = External(await given.stored({"inside": [ended("b"), ended("c")]}))
        left = await given.shelf.left_of({"a": ended("a"), "kept": kept, "nested": nested}, in_words)
        found = left.value
        assert isinstance(found, dict)
        assert (found["kept"], left.is_whole) == (["here"], False)
        assert [each.error.message for each in (found["a"], *found["nested"]["inside"])] == [
            f"the data of {name} was kept for 24h, as `spec.result.ttl` says, and is gone; run again what made it"
            for name in "abc"
        ]
        assert given.shelf._users == {}
        assert await given.shelf.left_of([1], in_words) == LeftOver([1])
        assert await given.shelf.left_of([kept], in_words) == LeftOver([["here"]])

    run(test())


def test_what_was_to_be_kept_for_good_is_told_to_who_needs_it_and_may_be_put_back() -> None:
    async def test() -> None:
        (gone,) = await left_of(Given(), External(Reference("blob", {"sha256": "x"})))
        assert (gone.error.kind, gone.error.retryable) == ("reference_not_available", True)
        restore = "restore it from a backup, or run again what made it"
        assert gone.error.message == f"the data of x is not in the result store; {restore}"

    run(test())


def test_what_is_damaged_is_told_to_who_needs_it() -> None:
    async def test() -> None:
        given = Given()
        external = External(await given.stored("x" * 100))
        given.results.damaged.add(external.reference.locator["sha256"])
        (gone,) = await left_of(given, external)
        assert (gone.error.kind, gone.error.retryable) == ("checksum_mismatch", False)
        assert "is damaged in the result store; restore it from a backup, or " in gone.error.message

    run(test())


def test_data_that_refers_to_what_is_gone_where_nobody_else_can_say_so_is_gone_itself() -> None:
    """As the output of a large loop, which is read from the log with all that its iterations stored."""

    async def test() -> None:
        async def read(shelf: Shelf, reference: Reference) -> bytes:  # noqa: ARG001
            return encode_value(await shelf.hydrated([ended("a")]))

        shelf = Shelf(CountingResults(), 1_000, read)
        left = await shelf.left_of([External(Reference("relational", {"sha256": "loop"}))], in_words)
        assert isinstance(left.value, list)
        assert left.value[0].error.message.startswith("the data of loop was kept for 24h")

    run(test())


def in_words(reference: Reference, loss: Loss) -> TemplateError:
    return loss.error(str(reference.locator["sha256"]))


async def left_of(given: Given, *values: External) -> list[Gone]:
    left = await given.shelf.left_of(list(values), in_words)
    assert not left.is_whole
    assert isinstance(left.value, list)
    return left.value


def test_what_a_decision_needs_is_missed_by_it() -> None:
    async def test() -> None:
        given = Given()
        with given.shelf.working() as work, pytest.raises(MissingData):
            await Left(given.shelf).bring(work, Reference("blob", {"sha256": "x"}))

    run(test())


def test_a_decision_hears_of_an_end_where_it_asks_for_a_length_and_is_broken_off_elsewhere() -> None:
    async def test() -> None:
        given = Given()
        left, lost, kept = Left(given.shelf), ended("a"), External(await given.stored([1, 2]))
        with given.shelf.working() as work:
            await left.bring(work, lost.reference)
            await left.bring(work, kept.reference)
            assert (left.length(kept), left.length(kept.reference), left.element(kept, 1)) == (2, 2, 2)
            with pytest.raises(Lost, match="was kept for 24h"):
                left.length(lost)
            with pytest.raises(NotAtHand):
                left.fetch(lost.reference)
            with pytest.raises(Ended):
                await left.bring(work, lost.reference)

    run(test())
