"""The data behind a reference: stored data, checked, or what the iterations of a loop gave; whole or a range of it."""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256

import msgspec

from noetl.engine.output import Output, failed
from noetl.engine.reference import LOOP_REFERENCE, Reference, word_of
from noetl.ports import Console, Damaged, EventLog, ResultStore, ToolCall, Unavailable
from noetl.supply.items import Items, NotAList
from noetl.supply.manifest import Manifests, ManifestTooLarge, iterations_of, place_of
from noetl.supply.rendering import HELD_BYTES_MAX, TooLarge, check_size, is_json, rendered, whole
from noetl.supply.shelf import MissingData, Shelf, decoded, missing
from noetl.supply.texts import BadJson, is_utf8, json_of, part_of_text, text_of

SHELF_BYTES_MAX = 16 * 1024 * 1024

TEXT = "text/plain; charset=utf-8"

_BEGINNINGS: Mapping[bytes, object] = {b"{": {}, b'"': ""}
"""What begins so, and may be too large to be looked at whole only to say what it is."""


class BadInput(Exception):
    """A field is missing, or is not what it must be."""


class Mismatch(Exception):
    """The bytes are not those that the reference means."""


class NotJson(Exception):
    """Stored data that is called JSON and is not."""


class Range(msgspec.Struct, frozen=True):
    """From `start` up to `stop`, of items or of bytes. `unit` is None where the data says which."""

    start: int = 0
    stop: int | None = None
    unit: str | None = None


WHOLE = Range()


class Resolve:
    def __init__(self, results: ResultStore, log: EventLog) -> None:
        self._results = results
        self._log = log

    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        try:
            reference, wanted = reference_of(call), range_of(call.fields.get("range"))
            return Output(data=await self._data(reference, wanted))
        except BadInput as error:
            return failed("input", str(error))
        except Mismatch as error:
            return failed("checksum_mismatch", str(error))
        except NotJson as error:
            return failed("response", str(error))
        except (TooLarge, ManifestTooLarge) as error:
            return failed("budget_exceeded", str(error))
        except MissingData as lost:
            return failed(lost.error.kind, lost.error.message, retryable=lost.error.retryable)
        except Unavailable as error:
            return failed("reference_not_available", str(error), retryable=True)

    async def close(self) -> None:
        return

    async def _data(self, reference: Reference, wanted: Range) -> object:
        shelf = Shelf(self._results, SHELF_BYTES_MAX, iterations_of(self._log))
        if reference.type == LOOP_REFERENCE:
            return await self._of_loop(reference, wanted, shelf)
        if reference.type != "blob":
            raise BadInput(f"`ref` is of type {reference.type!r}; this runtime has blob and relational references")
        if is_json(reference) and wanted.unit != "bytes":
            return await whole(await self._value(reference, wanted), shelf)
        if wanted.unit == "items":
            raise BadInput(f"`range` is of bytes here: the data is {reference.meta.content_type}, not JSON")
        return await self._part(reference, wanted, shelf)

    async def _of_loop(self, reference: Reference, wanted: Range, shelf: Shelf) -> object:
        manifests, place = Manifests(self._log, shelf), place_of(reference)
        if wanted.unit != "bytes":
            return await manifests.items(place, wanted.start, wanted.stop)
        data = msgspec.json.encode(await manifests.items(place))
        return _shown(data[wanted.start : wanted.stop], reference.meta.content_type, wanted)

    async def _value(self, reference: Reference, wanted: Range) -> object:
        is_cut = (wanted.start, wanted.stop) != (0, None)
        if is_cut and is_utf8(reference.meta.content_type):
            return await self._items(reference, wanted)
        value = _value(reference, await self._bytes(reference, WHOLE))
        return _cut(value, wanted) if is_cut else value

    async def _items(self, reference: Reference, wanted: Range) -> object:
        """Of a list, however long it is, only what is wanted is held."""
        items = Items(wanted.start, wanted.stop)
        try:
            async for piece in self._pieces(reference):
                items.feed(piece)
                check_size(items.size)
            found = _value(reference, items.json())
        except NotAList as other:
            is_text = other.first == b'"' and wanted.unit is None
            value = None if is_text else _BEGINNINGS.get(other.first)
            return _cut(_value(reference, await self._bytes(reference, WHOLE)) if value is None else value, wanted)
        assert isinstance(found, list)
        return items.of(found)

    async def _part(self, reference: Reference, wanted: Range, shelf: Shelf) -> str:
        own = await rendered(reference, self._results, shelf)
        if own is not None:
            return _shown(own.data[wanted.start : wanted.stop], own.content_type, wanted)
        _check_base64(reference, wanted)
        return _shown(await self._bytes(reference, wanted), reference.meta.content_type, wanted)

    async def _bytes(self, reference: Reference, wanted: Range) -> bytes:
        check_size(_known_size(reference, wanted))
        kept, at = bytearray(), 0
        async for piece in self._pieces(reference):
            kept += piece[max(0, wanted.start - at) : _until(wanted.stop, at)]
            at += len(piece)
            check_size(len(kept))
        return bytes(kept)

    async def _pieces(self, reference: Reference) -> AsyncIterator[bytes]:
        """All of the bytes, whatever is wanted of them, since only all of them can be checked."""
        name, digest = str(reference.locator.get("sha256", "")), sha256()
        try:
            pieces = await self._results.open(name)
            if pieces is None:
                raise missing(reference)
            async for piece in pieces:
                digest.update(piece)
                yield piece
        except Damaged as trouble:
            raise Mismatch(str(trouble)) from trouble
        if digest.hexdigest() != (reference.meta.sha256 or name):
            raise Mismatch(f"the stored data is damaged: its sha256 is {digest.hexdigest()}, and should be {name}")


def reference_of(call: ToolCall) -> Reference:
    found = call.fields.get("ref")
    if not isinstance(found, Reference):
        raise BadInput(f"`ref` must be a reference, such as `output.ref` of a task or step, and is {word_of(found)}")
    return found


def range_of(value: object) -> Range:
    """`[start, stop]`, or a mapping with `start`, `stop` and `unit`, each of which may be left out."""
    if value is None:
        return WHOLE
    given = dict(zip(("start", "stop"), value, strict=False)) if isinstance(value, list) and len(value) == 2 else value
    try:
        found = msgspec.convert(given, Range)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"`range` must be [start, stop] or a mapping with `start`, `stop` and `unit`: {error}"
        ) from error
    is_ordered = found.stop is None or found.start <= found.stop
    if found.start < 0 or not is_ordered or found.unit not in (None, "items", "bytes"):
        raise BadInput("`range` needs 0 <= start <= stop, and `unit` is items or bytes")
    return found


def _value(reference: Reference, data: bytes) -> object:
    """A value of ours, or what came from outside as it was, which may be called JSON without being so."""
    if not reference.locator.get("raw"):
        return decoded(reference, data)
    try:
        return json_of(data, reference.meta.content_type)
    except BadJson as error:
        message = f"the stored data is called {reference.meta.content_type} and is not JSON: {error}"
        raise NotJson(f"{message}; `range` with `unit: bytes` takes it as it is") from error


def _cut(value: object, wanted: Range) -> object:
    if isinstance(value, str) and wanted.unit is None:
        return part_of_text(value.encode("utf-8", "surrogatepass")[wanted.start : wanted.stop], TEXT)
    if not isinstance(value, list):
        raise BadInput(
            f"`range` is of the items of a list, and the data is {word_of(value)}; `unit: bytes` takes bytes"
        )
    return value[wanted.start : wanted.stop]


def _shown(data: bytes, content_type: str, wanted: Range) -> str:
    """Text as it is, anything else in base64. A range may cut a character in two."""
    if not _is_text(content_type):
        return b64encode(data).decode()
    return text_of(data, content_type) if wanted == WHOLE else part_of_text(data, content_type)


def _is_text(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "csv", "javascript"))


def _check_base64(reference: Reference, wanted: Range) -> None:
    """What would be too large only in the form in which it is given is refused before a byte is read."""
    size = _known_size(reference, wanted)
    given = 4 * -(-size // 3) + len('""')
    if not _is_text(reference.meta.content_type) and given > HELD_BYTES_MAX:
        found = f"{size} bytes of {reference.meta.content_type} are {given} bytes as base64"
        raise TooLarge(f"{found}, and {HELD_BYTES_MAX} may be held at once; take parts of it with `range`")


def _known_size(reference: Reference, wanted: Range) -> int:
    """How many bytes are asked for, as far as the reference says how many there are."""
    size = reference.meta.bytes
    return max(0, min(size, size if wanted.stop is None else wanted.stop) - wanted.start)


def _until(stop: int | None, at: int) -> int | None:
    return None if stop is None else max(0, stop - at)
