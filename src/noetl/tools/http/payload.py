"""What is sent: bytes, a file, or stored data, each as the server is to read it."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
from multidict import CIMultiDict

from noetl.engine.reference import Reference
from noetl.ports import EventLog, ResultStore, Unavailable
from noetl.supply.manifest import iterations_of
from noetl.supply.rendering import rendered
from noetl.supply.shelf import Shelf
from noetl.tools.http.request import Content, Multipart, Part

SHELF_BYTES_MAX = 16 * 1024 * 1024
"""How much of the parts of a value is kept at hand, beside what is needed at once."""

_ENDING = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}

Payload = bytes | aiohttp.payload.Payload | None


class Stored:
    """Stored data as a server may see it."""

    def __init__(self, results: ResultStore, log: EventLog) -> None:
        self._results = results
        self._log = log

    async def rendered(self, content: Content) -> Content:
        """A reference to a value whose stored form is ours alone becomes that value; any other content stays."""
        if not isinstance(content.data, Reference):
            return content
        shelf = Shelf(self._results, SHELF_BYTES_MAX, iterations_of(self._log))
        found = await rendered(content.data, self._results, shelf)
        if found is None:
            return Content(content.data, content.content_type or content.data.meta.content_type)
        return Content(found.data, content.content_type or found.content_type)

    async def opened(self, reference: Reference) -> AsyncIterator[bytes]:
        pieces = await self._results.open(str(reference.locator.get("sha256", "")))
        if pieces is None:
            raise Unavailable(f"the stored data {dict(reference.locator)} that the request is to send is gone")
        return pieces


async def payload_of(body: Content | Multipart | None, headers: CIMultiDict[str], stored: Stored) -> Payload:
    """What is sent; made anew for each request, since a stream can be read once."""
    if body is None:
        return None
    if isinstance(body, Multipart):
        form = await _form(body, stored)
        headers["Content-Type"] = form.content_type
        return form
    content = await stored.rendered(body)
    if content.content_type is not None:
        headers.setdefault("Content-Type", content.content_type)
    return content.data if isinstance(content.data, bytes) else await _stream(content.data, stored)


async def _form(body: Multipart, stored: Stored) -> aiohttp.MultipartWriter:
    form = aiohttp.MultipartWriter("form-data")
    for part in body.parts:
        payload = await _part(part.content, stored)
        payload.headers["Content-Disposition"] = _disposition(part)
        form.append_payload(payload)
    return form


def _disposition(part: Part) -> str:
    """Names as browsers write them: in UTF-8, and with the three signs escaped that would end them."""
    named = f'form-data; name="{part.name.translate(_ENDING)}"'
    return named if part.filename is None else f'{named}; filename="{part.filename.translate(_ENDING)}"'


async def _part(given: Content, stored: Stored) -> aiohttp.payload.Payload:
    content = await stored.rendered(given)
    if isinstance(content.data, bytes):
        return aiohttp.BytesPayload(content.data, content_type=content.content_type or "text/plain; charset=utf-8")
    payload = await _stream(content.data, stored)
    payload.headers["Content-Type"] = content.content_type or "application/octet-stream"
    return payload


async def _stream(data: Reference | Path, stored: Stored) -> aiohttp.payload.Payload:
    if isinstance(data, Path):
        return aiohttp.payload.BufferedReaderPayload(data.open("rb"))
    return _Sized(await stored.opened(data), data.meta.bytes)


class _Sized(aiohttp.payload.AsyncIterablePayload):
    """A stream whose size is known, so that the server is told."""

    def __init__(self, pieces: AsyncIterator[bytes], size: int) -> None:
        super().__init__(pieces)
        self._size = size
