"""What tools printed: kept in order and bounded."""

from noetl.ports import LogChunk
from noetl.storage.bounds import CHUNKS_MAX, THE_REST
from tests.conformance.given import E
from tests.conformance.homes import Home


def chunk(number: int, execution_id: str = E) -> LogChunk:
    return LogChunk(execution_id, "a#1:t", number, 1.5, "stdout", f"line {number}\n")


async def test_chunks_come_back_in_order_by_pages(home: Home) -> None:
    async with home.store() as store:
        await store.write_logs([chunk(1), chunk(2), chunk(1, "e2")])
        await store.write_logs([chunk(3)])
        assert list(await store.logs(E, 0, 2)) == [chunk(1), chunk(2)]
        assert list(await store.logs(E, 2, 9)) == [chunk(3)]
        assert list(await store.logs("e2", 0, 9)) == [chunk(1, "e2")]
        assert list(await store.logs("e3", 0, 9)) == []


async def test_no_more_is_kept_of_an_execution_than_the_bound_and_the_last_chunk_says_so(home: Home) -> None:
    async with home.store() as store:
        await store.write_logs([chunk(number) for number in range(CHUNKS_MAX - 1)])
        await store.write_logs([chunk(number) for number in range(3)])
        *_, before, last = await store.logs(E, CHUNKS_MAX - 2, 9)
        assert (before, last.text) == (chunk(CHUNKS_MAX - 2), THE_REST)
        assert list(await store.logs(E, CHUNKS_MAX, 9)) == []
