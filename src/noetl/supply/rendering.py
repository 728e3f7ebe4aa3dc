"""The data behind a reference as others read it: never in the form in which a value of ours is stored.

What came from outside is stored as it came. A value of ours may be stored in parts, with marks that are ours alone.
"""

from collections.abc import AsyncIterator

import msgspec

from noetl.engine.reference import Reference, decode_value, has_mark
from noetl.engine.size import stored_in
from noetl.ports import Damaged, ResultStore
from noetl.supply.shelf import Shelf, damaged, missing

HELD_BYTES_MAX = 256 * 1024 * 1024
"""The most of stored data that is held in memory at once."""

_TAIL_BYTES = 16
"""At least as long as a mark, which may stand at the end of one piece and the beginning of the next."""


class TooLarge(Exception):
    """More was asked for than fits in memory."""


class Rendered(msgspec.Struct, frozen=True):
    data: bytes
    content_type: str


def is_json(reference: Reference) -> bool:
    return reference.meta.content_type.partition(";")[0].strip().lower().endswith(("/json", "+json"))


async def rendered(reference: Reference, results: ResultStore, shelf: Shelf) -> Rendered | None:
    """Text as it is, any other value as JSON; None where others may read the stored bytes as they are."""
    if reference.locator.get("raw") or not is_json(reference) or await _is_plain(reference, results):
        return None
    value = await whole(decode_value(await _held(reference, results)), shelf)
    if isinstance(value, str):
        return Rendered(value.encode("utf-8", "surrogatepass"), "text/plain; charset=utf-8")
    return Rendered(msgspec.json.encode(value), reference.meta.content_type)


async def whole(value: object, shelf: Shelf) -> object:
    """A value with all parts that are stored elsewhere, if that is not too much."""
    check_size(sum(part.meta.bytes for part in stored_in(value)))
    return await shelf.hydrated(value)


def check_size(size: int) -> None:
    if size > HELD_BYTES_MAX:
        raise TooLarge(
            f"the data is larger than {HELD_BYTES_MAX} bytes; take parts of it with `kind: resolve` and `range`"
        )


async def _is_plain(reference: Reference, results: ResultStore) -> bool:
    """Whether a stored value is neither text nor in parts, so that it need not be held to be passed on."""
    tail = b""
    async for piece in _pieces(reference, results):
        if (not tail and piece.startswith(b'"')) or has_mark(tail + piece):
            return False
        tail = piece[-_TAIL_BYTES:]
    return True


async def _held(reference: Reference, results: ResultStore) -> bytes:
    check_size(reference.meta.bytes)
    return b"".join([piece async for piece in _pieces(reference, results)])


async def _pieces(reference: Reference, results: ResultStore) -> AsyncIterator[bytes]:
    try:
        pieces = await results.open(str(reference.locator.get("sha256", "")))
        if pieces is None:
            raise missing(reference)
        async for piece in pieces:
            yield piece
    except Damaged:
        raise damaged(reference) from None
