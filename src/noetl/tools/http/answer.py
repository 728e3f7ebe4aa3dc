"""The body of an answer: read as JSON, as text, or kept in the result store piece by piece."""

from base64 import b64encode
from collections.abc import AsyncIterator

import aiohttp
import msgspec

from noetl.engine.reference import Reference, ReferenceMeta
from noetl.engine.secrets import MASK, Redactor, hideable, masked
from noetl.engine.size import inline_bytes_max, ttl_of
from noetl.ports import ResultStore, ToolCall
from noetl.supply.texts import BadJson, json_of, part_of_text, text_of
from noetl.tools.http.exchange import as_text
from noetl.tools.http.inflating import PIECE_BYTES, TooLarge, Unreadable, inflating
from noetl.tools.http.knobs import Knobs

BYTES_INLINE_MAX = 32 * 1024
"""So large may bytes be that are given as base64 too."""

ERROR_BYTES_MAX = 1024 * 1024
"""How much of the body of an error is read."""

BEGINNING_CHARS_MAX = 2_000
"""How much of a body an error shows."""

_TEXTS = frozenset(
    f"application/{name}"
    for name in (
        "xml", "javascript", "x-javascript", "ecmascript", "yaml", "x-yaml", "csv", "sql", "graphql", "toml",
        "x-ndjson", "jsonl", "json-seq", "x-www-form-urlencoded", "xhtml+xml",
    )
)  # fmt: skip


class NotJson(Exception):
    """The body should be JSON and is not; `beginning` shows what it is."""

    def __init__(self, message: str, beginning: str) -> None:
        super().__init__(message)
        self.beginning = beginning


class Body(msgspec.Struct, frozen=True):
    data: object = None
    ref: Reference | None = None


async def body_of(response: aiohttp.ClientResponse, call: ToolCall, knobs: Knobs, results: ResultStore) -> Body:
    """By the field `response`, or by the content type."""
    wanted = str(call.fields.get("response") or "auto")
    content_type = as_text(response.headers.get("Content-Type", ""))
    form = _form_of(content_type) if wanted == "auto" else wanted
    is_stored = form in ("bytes", "stored")
    bytes_max = knobs.bytes_max(is_stored=is_stored)
    if response.method == "HEAD":
        return Body()
    _check_size(response, bytes_max)
    pieces = _pieces(response, bytes_max)
    if is_stored:
        return await _stored(pieces, call, content_type, results, is_shown=form == "bytes")
    data = b"".join([piece async for piece in pieces])
    if form == "json":
        return Body(_json(data, content_type, wanted, call.secrets))
    if form == "unknown" and not _is_utf8(data):
        return await _stored(_again(data), call, content_type, results, is_shown=True)
    return Body(text_of(data, content_type) if data or wanted == "text" else None)


def _check_size(response: aiohttp.ClientResponse, bytes_max: int) -> None:
    """By what the server says, before anything is read."""
    if (response.content_length or 0) > bytes_max:
        message = f"the answer has {response.content_length} bytes, and {bytes_max} are allowed"
        raise TooLarge(f"{message}; `spec.response_bytes_max` sets the limit")


async def beginning_of(response: aiohttp.ClientResponse, secrets: frozenset[str]) -> tuple[object, str]:
    """Of an error: its body as data where it is JSON or text, and its beginning. It is cut where it is large."""
    content_type = as_text(response.headers.get("Content-Type", ""))
    data, is_cut = bytearray(), False
    try:
        async for piece in _pieces(response, ERROR_BYTES_MAX):
            data += piece
    except (TooLarge, Unreadable, aiohttp.ClientPayloadError):
        is_cut = True
        response.close()
    form = _form_of(content_type)
    if form == "bytes" or (form == "unknown" and not _is_utf8(bytes(data))):
        return None, ""
    text = part_of_text(bytes(data), content_type) if is_cut else text_of(bytes(data), content_type)
    shown = _beginning(text, secrets)
    return _lenient(text) if form == "json" and not is_cut else _whole(text, secrets, is_cut=is_cut) or None, shown


async def _pieces(response: aiohttp.ClientResponse, bytes_max: int) -> AsyncIterator[bytes]:
    coming = inflating(response.headers.get("Content-Encoding", ""), bytes_max)
    async for chunk in response.content.iter_chunked(PIECE_BYTES):
        for piece in coming.feed(chunk):
            yield piece
    coming.end()


async def _stored(
    pieces: AsyncIterator[bytes], call: ToolCall, content_type: str, results: ResultStore, *, is_shown: bool
) -> Body:
    """Bytes always go to the store, so that a download is used in one way whatever its size.

    `raw` tells them from values that the engine stored, in which marks have a meaning.
    """
    shown = bytearray()
    shown_max = min(BYTES_INLINE_MAX, inline_bytes_max(call.spec) // 2) if is_shown else -1

    async def passing() -> AsyncIterator[bytes]:
        async for piece in _redacted(pieces, call.secrets):
            if len(shown) <= shown_max:
                shown.extend(piece)
            yield piece

    deposit = await results.put_stream(passing())
    kind = content_type or "application/octet-stream"
    meta = ReferenceMeta(kind, deposit.bytes, deposit.sha256, ttl_of(call.spec))
    data = b64encode(shown).decode() if deposit.bytes <= shown_max else None
    return Body(data, Reference("blob", {"sha256": deposit.sha256, "raw": True}, meta=meta))


async def _redacted(pieces: AsyncIterator[bytes], secrets: frozenset[str]) -> AsyncIterator[bytes]:
    redactor = Redactor(tuple(text.encode("utf-8", "surrogatepass") for text in hideable(secrets)), MASK.encode())
    async for piece in pieces:
        yield redactor.feed(piece)
    yield redactor.end()


async def _again(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _form_of(content_type: str) -> str:
    kind = content_type.partition(";")[0].strip().lower()
    if not kind:
        return "unknown"
    if kind.endswith(("/json", "+json")):
        return "json"
    return "text" if kind.startswith("text/") or kind.endswith("+xml") or kind in _TEXTS else "bytes"


def _json(data: bytes, content_type: str, wanted: str, secrets: frozenset[str]) -> object:
    try:
        return json_of(data, content_type)
    except BadJson as error:
        why = "which `response: json` asks for" if wanted == "json" else "as its content type says"
        beginning = _beginning(data.decode("utf-8", "replace"), secrets)
        message = f"the answer is not JSON, {why}: {error}; `response: text` takes it as it is"
        raise NotJson(message, beginning) from error


def _lenient(text: str) -> object:
    try:
        return msgspec.json.decode(text) if text.strip() else None
    except (msgspec.DecodeError, RecursionError):
        return text


def _beginning(text: str, secrets: frozenset[str]) -> str:
    """Masked before it is cut: what is left of a secret at the cut would be known to nobody as a part of it."""
    return str(masked(text, secrets))[:BEGINNING_CHARS_MAX]


def _whole(text: str, secrets: frozenset[str], *, is_cut: bool) -> str:
    """What came; where it was cut off, without an end that may be the beginning of a secret."""
    return Redactor(hideable(secrets), MASK).feed(str(masked(text, secrets))) if is_cut else text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
