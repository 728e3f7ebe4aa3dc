from collections.abc import AsyncIterator, Callable
from hashlib import sha256

import pytest

from noetl.engine.reference import External, Reference, ReferenceMeta, encode_value
from noetl.engine.size import Blob
from noetl.ports import Damaged
from noetl.storage.memory import MemoryResults
from noetl.supply.rendering import HELD_BYTES_MAX, Rendered, TooLarge, rendered
from noetl.supply.shelf import MissingData, Shelf


async def kept(results: MemoryResults, value: object) -> Reference:
    data = encode_value(value)
    name = sha256(data).hexdigest()
    await results.put([Blob(name, data)])
    return Reference("blob", {"sha256": name}, meta=ReferenceMeta(bytes=len(data), sha256=name))


async def shown(results: MemoryResults, reference: Reference) -> Rendered | None:
    return await rendered(reference, results, Shelf(results, 1_000))


async def test_a_value_in_parts_is_put_together() -> None:
    results = MemoryResults()
    parts = [External(await kept(results, text)) for text in ("one", "two")]
    found = await shown(results, await kept(results, {"parts": parts}))
    assert found == Rendered(b'{"parts":["one","two"]}', "application/json")


async def test_a_key_that_looks_like_our_mark_is_shown_as_it_was_given() -> None:
    results = MemoryResults()
    found = await shown(results, await kept(results, {"$noetl": "mine"}))
    assert found == Rendered(b'{"$noetl":"mine"}', "application/json")


async def test_text_is_shown_without_the_quotes_of_json() -> None:
    results = MemoryResults()
    found = await shown(results, await kept(results, 'a "b" é'))
    assert found == Rendered('a "b" é'.encode(), "text/plain; charset=utf-8")


async def test_what_is_stored_as_it_is_to_be_seen_is_not_held() -> None:
    results = MemoryResults()
    ours = await kept(results, ["a", 1])
    raw = Reference("blob", {"sha256": "r", "raw": True}, meta=ReferenceMeta(bytes=HELD_BYTES_MAX + 1))
    image = Reference("blob", {"sha256": "i"}, meta=ReferenceMeta("image/png"))
    assert [await shown(results, each) for each in (ours, raw, image)] == [None, None, None]


class Pieces(MemoryResults):
    """Gives its objects in the pieces that a function makes of them."""

    def __init__(self, cut: Callable[[bytes], list[bytes]]) -> None:
        super().__init__()
        self._cut = cut

    async def open(self, sha256: str) -> AsyncIterator[bytes]:
        return self._pieces(await self.get(sha256) or b"")

    async def _pieces(self, data: bytes) -> AsyncIterator[bytes]:
        for piece in self._cut(data):
            yield piece


def refuse(data: bytes) -> list[bytes]:
    raise Damaged(f"{len(data)} bytes")


async def test_a_mark_is_found_though_it_is_cut_in_two() -> None:
    results = Pieces(lambda data: [data[:5], data[5:]])
    assert await shown(results, await kept(results, {"$noetl": "mine"})) is not None


async def test_what_would_be_too_large_is_not_held() -> None:
    results = MemoryResults()
    part = Reference("blob", {"sha256": "p"}, meta=ReferenceMeta(bytes=HELD_BYTES_MAX + 1))
    with pytest.raises(TooLarge, match="take parts of it with `kind: resolve` and `range`"):
        await shown(results, await kept(results, [External(part)]))


async def test_data_that_is_gone_or_damaged_is_told() -> None:
    with pytest.raises(MissingData, match="is not in the result store"):
        await shown(MemoryResults(), Reference("blob", {"sha256": "gone"}))
    with pytest.raises(MissingData, match="is damaged in the result store"):
        await shown(Pieces(refuse), Reference("blob", {"sha256": "bad"}))
