"""Connections that are kept between runs, and one request over them, redirects followed."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from multidict import CIMultiDict

from noetl.engine.reference import Reference
from noetl.ports import ResultStore, Unavailable
from noetl.tools.http.addresses import AddressPolicy, socket_maker
from noetl.tools.http.knobs import Knobs
from noetl.tools.http.redirects import REDIRECTS, redirected
from noetl.tools.http.request import BadInput, Content, Multipart, Part, Request

IDLE_S = 15.0
"""How long an unused connection is kept; less than common servers do, so that they seldom close one we begin to use."""

_ENDING = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}

CONTEXTS_MAX = 64
"""Different certificate files that are kept ready."""


FIELD_BYTES_MAX = 64 * 1024
"""The longest header of an answer; policies and cookies get longer than the 8 KiB that are usual."""


class BadRedirect(Exception):
    """The server sends us on and on, or where we do not go. `response` is what it said at last."""

    def __init__(self, message: str, response: aiohttp.ClientResponse) -> None:
        super().__init__(message)
        self.response = response


class TooManyRedirects(BadRedirect):
    """The server sends us on and on."""


class Connections:
    """One pool for all runs. Proxies and logins of the environment are not used, cookies are not kept."""

    def __init__(self, policy: AddressPolicy, results: ResultStore) -> None:
        self._policy = policy
        self._results = results
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    @asynccontextmanager
    async def answer(self, request: Request, knobs: Knobs) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to the request, or to the last one that redirects lead to. Its body is still to be read."""
        trust = self._trust(knobs)
        for rest in range(knobs.redirects_max or 0, -1, -1):
            async with await self._send(request, knobs, trust) as response:
                location = response.headers.get("Location")
                if knobs.redirects_max is None or response.status not in REDIRECTS or location is None:
                    yield response
                    return
                request = _followed(request, response, as_text(location))
                if rest == 0:
                    message = f"the server redirected more than {knobs.redirects_max} times, at last to {request.url}"
                    raise TooManyRedirects(message, response)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send(self, request: Request, knobs: Knobs, trust: ssl.SSLContext | bool) -> aiohttp.ClientResponse:
        headers = CIMultiDict(request.headers)
        data = await _payload(request.body, headers, self._results)
        return await self._opened().request(
            request.method,
            request.url,
            headers=headers,
            data=data,
            allow_redirects=False,
            ssl=trust,
            skip_auto_headers=("Content-Type",),
            timeout=aiohttp.ClientTimeout(connect=knobs.connect_s, sock_read=knobs.read_s),
        )

    def _opened(self) -> aiohttp.ClientSession:
        """How many connections there are at once is bounded by the runs that a worker takes on."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=IDLE_S, socket_factory=socket_maker(self._policy), ttl_dns_cache=10
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                max_line_size=FIELD_BYTES_MAX,
                max_field_size=FIELD_BYTES_MAX,
            )
        return self._session

    def _trust(self, knobs: Knobs) -> ssl.SSLContext | bool:
        if not knobs.verify_tls:
            return False
        if knobs.ca_file is None:
            return True
        if knobs.ca_file not in self._contexts:
            if len(self._contexts) >= CONTEXTS_MAX:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[knobs.ca_file] = _context(knobs.ca_file)
        return self._contexts[knobs.ca_file]


def _context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(
            f"`spec.ca_file` must name a file with certificates, and {ca_file!r} is none: {error}"
        ) from error


def _followed(request: Request, response: aiohttp.ClientResponse, location: str) -> Request:
    try:
        return redirected(request, response.status, location)
    except BadInput as error:
        raise BadRedirect(str(error), response) from error


Payload = bytes | aiohttp.payload.Payload | None


async def _payload(body: Content | Multipart | None, headers: CIMultiDict[str], results: ResultStore) -> Payload:
    """What is sent; made anew for each request, since a stream can be read once."""
    if body is None:
        return None
    if isinstance(body, Multipart):
        form = await _form(body, results)
        headers["Content-Type"] = form.content_type
        return form
    if body.content_type is not None:
        headers.setdefault("Content-Type", body.content_type)
    return body.data if isinstance(body.data, bytes) else await _stream(body.data, results)


async def _form(body: Multipart, results: ResultStore) -> aiohttp.MultipartWriter:
    form = aiohttp.MultipartWriter("form-data")
    for part in body.parts:
        payload = await _part(part.content, results)
        payload.headers["Content-Disposition"] = _disposition(part)
        form.append_payload(payload)
    return form


def _disposition(part: Part) -> str:
    """Names as browsers write them: in UTF-8, and with the three signs escaped that would end them."""
    named = f'form-data; name="{part.name.translate(_ENDING)}"'
    return named if part.filename is None else f'{named}; filename="{part.filename.translate(_ENDING)}"'


async def _part(content: Content, results: ResultStore) -> aiohttp.payload.Payload:
    if isinstance(content.data, bytes):
        return aiohttp.BytesPayload(content.data, content_type=content.content_type or "text/plain; charset=utf-8")
    payload = await _stream(content.data, results)
    payload.headers["Content-Type"] = content.content_type or "application/octet-stream"
    return payload


async def _stream(data: Reference | Path, results: ResultStore) -> aiohttp.payload.Payload:
    if isinstance(data, Path):
        return aiohttp.payload.BufferedReaderPayload(data.open("rb"))
    pieces = await results.open(str(data.locator.get("sha256", "")))
    if pieces is None:
        raise Unavailable(f"the stored data {dict(data.locator)} that the request is to send is gone")
    return _Stored(pieces, data.meta.bytes)


class _Stored(aiohttp.payload.AsyncIterablePayload):
    """A stream whose size is known, so that the server is told."""

    def __init__(self, pieces: AsyncIterator[bytes], size: int) -> None:
        super().__init__(pieces)
        self._size = size


def headers_of(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    """By lower-case name; what came several times is joined."""
    found: dict[str, str] = {}
    for name, value in response.headers.items():
        key, text = name.lower(), as_text(value)
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def as_text(value: str) -> str:
    """A part of an answer's head, which servers send as UTF-8, or as Latin-1: those bytes came as half characters."""
    data = value.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
