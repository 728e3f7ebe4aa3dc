"""The data behind a reference: stored data, checked, or what the iterations of a loop gave; whole or a range of it."""

from base64 import b64encode
from hashlib import sha256

import msgspec

from noetl.engine.output import Output, failed
from noetl.engine.reference import LOOP_REFERENCE, Reference, word_of
from noetl.ports import Console, Damaged, EventLog, ResultStore, ToolCall, Unavailable
from noetl.supply.manifest import Manifests, ManifestTooLarge, place_of
from noetl.supply.shelf import MissingData, Shelf, decoded, missing
from noetl.supply.texts import BadJson, json_of, part_of_text, text_of

HELD_BYTES_MAX = 256 * 1024 * 1024
"""The most that is given as data at once."""

SHELF_BYTES_MAX = 16 * 1024 * 1024


class BadInput(Exception):
    """A field is missing, or is not what it must be."""


class Mismatch(Exception):
    """The bytes are not those that the reference means."""


class NotJson(Exception):
    """Stored data that is called JSON and is not."""


class TooLarge(Exception):
    """More was asked for than fits in memory."""


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
        shelf = Shelf(self._results, SHELF_BYTES_MAX)
        if reference.type == LOOP_REFERENCE:
            if wanted.unit == "bytes":
                raise BadInput("`range` is of items here: the reference means what the iterations of a loop gave")
            return await Manifests(self._log, shelf).items(place_of(reference), wanted.start, wanted.stop)
        if reference.type != "blob":
            raise BadInput(f"`ref` is of type {reference.type!r}; this runtime has blob and relational references")
        is_json = _is_json(reference)
        if is_json and wanted.unit != "bytes":
            value = _value(reference, await self._bytes(reference, WHOLE))
            return _items(await shelf.hydrated(value), wanted)
        if wanted.unit == "items":
            raise BadInput(f"`range` is of bytes here: the data is {reference.meta.content_type}, not JSON")
        return _shown(await self._bytes(reference, wanted), reference, wanted)

    async def _bytes(self, reference: Reference, wanted: Range) -> bytes:
        """The range of the bytes; all of them are read, since only all of them can be checked."""
        name = str(reference.locator.get("sha256", ""))
        kept, digest, at = bytearray(), sha256(), 0
        try:
            pieces = await self._results.open(name)
            if pieces is None:
                raise missing(reference)
            async for piece in pieces:
                digest.update(piece)
                kept += piece[max(0, wanted.start - at) : _until(wanted.stop, at)]
                at += len(piece)
                _check_size(len(kept))
        except Damaged as trouble:
            raise Mismatch(str(trouble)) from trouble
        if digest.hexdigest() != (reference.meta.sha256 or name):
            raise Mismatch(f"the stored data is damaged: its sha256 is {digest.hexdigest()}, and should be {name}")
        return bytes(kept)


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


def _items(value: object, wanted: Range) -> object:
    if wanted == WHOLE:
        return value
    if not isinstance(value, list):
        raise BadInput(
            f"`range` is of the items of a list, and the data is {word_of(value)}; `unit: bytes` takes bytes"
        )
    return value[wanted.start : wanted.stop]


def _shown(data: bytes, reference: Reference, wanted: Range) -> str:
    """Text as it is, anything else in base64. A range may cut a character in two."""
    content_type = reference.meta.content_type
    kind = content_type.partition(";")[0].strip().lower()
    is_text = kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "csv", "javascript"))
    if not is_text:
        return b64encode(data).decode()
    return text_of(data, content_type) if wanted == WHOLE else part_of_text(data, content_type)


def _is_json(reference: Reference) -> bool:
    return reference.meta.content_type.partition(";")[0].strip().lower().endswith(("/json", "+json"))


def _until(stop: int | None, at: int) -> int | None:
    return None if stop is None else max(0, stop - at)


def _check_size(size: int) -> None:
    if size > HELD_BYTES_MAX:
        raise TooLarge(f"the data is larger than {HELD_BYTES_MAX} bytes; ask for parts of it with `range`")
