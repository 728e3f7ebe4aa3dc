"""Connections that are kept between runs, and one request over them, redirects followed."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from multidict import CIMultiDict

from noetl.ports import EventLog, ResultStore
from noetl.tools.http.addresses import AddressPolicy, socket_maker
from noetl.tools.http.knobs import Knobs
from noetl.tools.http.payload import Stored, payload_of
from noetl.tools.http.redirects import REDIRECTS, redirected
from noetl.tools.http.request import BadInput, Request

IDLE_S = 15.0
"""How long an unused connection is kept; less than common servers do, so that they seldom close one we begin to use."""

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

    def __init__(self, policy: AddressPolicy, results: ResultStore, log: EventLog) -> None:
        self._policy = policy
        self._stored = Stored(results, log)
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
        data = await payload_of(request.body, headers, self._stored)
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
