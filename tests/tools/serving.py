"""Real servers on free ports, and http tasks run against them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from noetl.engine.output import Output
from noetl.ports import ToolCall
from noetl.storage.memory import MemoryResults, MemoryStore
from noetl.system import RealSystem
from noetl.tools.http.addresses import EMBEDDED, AddressPolicy
from noetl.tools.http.tool import Http

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Quiet:
    """A console that nobody reads."""

    def write(self, text: str, *, stream: str = "stdout") -> None: ...


class Site:
    """A server. `seen` are the requests that it got, `peers` the ports that they came from."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.peers: set[object] = set()


@asynccontextmanager
async def site(
    routes: Mapping[str, Handler], *, context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Site]:
    """Serves handlers by path, whatever the method."""
    found = Site("")

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        found.seen.append(request)
        if request.content_type != "multipart/form-data":
            found.bodies.append(await request.read())
        found.peers.add(request.transport.get_extra_info("peername") if request.transport else None)
        return await handler(request)

    app = web.Application(middlewares=[note], client_max_size=2**30)
    for path, handler in routes.items():
        app.router.add_route("*", path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    listening = web.TCPSite(runner, host, 0, ssl_context=context)
    await listening.start()
    port = runner.addresses[0][1]
    found.url = f"{'https' if context else 'http'}://{host if ':' not in host else f'[{host}]'}:{port}"
    try:
        yield found
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_site(answer: bytes) -> AsyncIterator[str]:
    """A server that answers each request with these bytes and hangs up, be it HTTP or not."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


class Client:
    """An http tool with a store of its own."""

    def __init__(self, policy: AddressPolicy = EMBEDDED) -> None:
        self.results = MemoryResults()
        self.tool = Http(self.results, MemoryStore(RealSystem()), policy)

    async def get(self, url: str, **given: object) -> Output:
        """`spec`, `credential` and `secrets` are the call's; the rest are fields."""
        return await self.tool.run(call_of({"url": url} | given), Quiet())


@asynccontextmanager
async def client(policy: AddressPolicy = EMBEDDED) -> AsyncIterator[Client]:
    made = Client(policy)
    try:
        yield made
    finally:
        await made.tool.close()


def call_of(given: Mapping[str, object], kind: str = "http") -> ToolCall:
    parts = {name: given[name] for name in ("spec", "credential", "secrets", "auth") if name in given}
    fields = {name: value for name, value in given.items() if name not in parts}
    call = ToolCall(kind, fields, {}, {}, "x1", "load", "post", "load#1.post/2", 2, "load#1.post/1")
    return msgspec.structs.replace(call, **parts)


def said(output: Output) -> tuple[str, bool, str]:
    """The kind, whether trying again may help, and the message of an error."""
    assert output.error is not None
    return output.error.kind, output.error.retryable, output.error.message


def block(output: Output) -> dict[str, object]:
    found = output.blocks["http"]
    assert isinstance(found, dict)
    return found
