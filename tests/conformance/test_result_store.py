"""Bytes under their sha256, whole or in pieces."""

from collections.abc import AsyncIterator
from hashlib import sha256

import pytest

from noetl.engine.size import Blob
from noetl.ports import Collected, Deposit, ResultStore
from tests.conformance.homes import Home

BODIES = (b"", b"x", b'{"a": 1}' * 10_000, bytes(range(256)) * 5_000, sha256(b"noise").digest() * 3)


def blob(data: bytes) -> Blob:
    return Blob(sha256(data).hexdigest(), data)


async def pieces(data: bytes, size: int = 70_000) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def streamed(results: ResultStore, name: str) -> bytes | None:
    found = await results.open(name)
    return b"".join([chunk async for chunk in found]) if found is not None else None


@pytest.mark.parametrize("data", BODIES)
async def test_what_was_put_comes_back_whole_and_in_pieces(home: Home, data: bytes) -> None:
    async with home.results() as results:
        await results.put([blob(data)])
        assert await results.get(blob(data).sha256) == data
        assert await streamed(results, blob(data).sha256) == data


@pytest.mark.parametrize("data", BODIES)
async def test_what_was_put_in_pieces_is_told_by_its_digest_and_comes_back(home: Home, data: bytes) -> None:
    async with home.results() as results:
        assert await results.put_stream(pieces(data)) == Deposit(blob(data).sha256, len(data))
        assert await results.get(blob(data).sha256) == data


async def test_many_are_put_at_once_and_the_same_may_be_put_again(home: Home) -> None:
    async with home.results() as results:
        await results.put([blob(b"one"), blob(b"two"), blob(b"one")])
        await results.put([blob(b"two"), blob(b"three")])
        assert [await results.get(blob(data).sha256) for data in (b"one", b"two", b"three")] == [
            b"one",
            b"two",
            b"three",
        ]


async def test_what_was_never_put_is_not_there(home: Home) -> None:
    async with home.results() as results:
        assert await results.get(blob(b"x").sha256) is None
        assert await results.open(blob(b"x").sha256) is None


async def test_a_stream_that_breaks_off_leaves_nothing(home: Home) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a" * 100_000
        raise ConnectionResetError

    async with home.results() as results:
        with pytest.raises(ConnectionResetError):
            await results.put_stream(broken())
        assert await results.get(blob(b"a" * 100_000).sha256) is None


async def test_results_are_there_when_the_store_is_opened_again(home: Home) -> None:
    async with home.results() as results:
        await results.put([blob(b"kept")])
    async with home.results() as results:
        assert await results.get(blob(b"kept").sha256) == b"kept"


async def test_what_is_neither_held_nor_new_goes_and_only_under_the_prefix(home: Home) -> None:
    one, two = sorted((blob(b"one"), blob(b"two")), key=lambda each: each.sha256)
    async with home.results() as results:
        await results.put([one, two])
        assert await results.collect(one.sha256[:2], (), put_before=0.0) == Collected()
        assert await results.collect(one.sha256[:2], {one.sha256}, put_before=float("inf")) == Collected()
        assert await results.collect(one.sha256[:2], (), put_before=1e11) == Collected(1, 3)
        assert await results.get(one.sha256) is None
        assert await results.get(two.sha256) == two.data
        assert await results.collect("", (), put_before=1e11) == Collected(1, 3)


async def test_the_prefix_may_be_of_any_length(home: Home) -> None:
    one = blob(b"one")
    async with home.results() as results:
        for length in (0, 1, 2, 3, 64):
            await results.put([one, blob(b"two")])
            await results.collect(one.sha256[:length], {blob(b"two").sha256}, put_before=1e11)
            assert await results.get(one.sha256) is None
            assert await results.get(blob(b"two").sha256) == b"two"
