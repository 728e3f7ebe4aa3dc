"""The http and resolve tools keep to what all tools do."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from noetl.engine.reference import Reference
from noetl.playbook.vocabulary import Vocabulary
from noetl.storage.memory import MemoryResults, MemoryStore
from noetl.system import RealSystem
from noetl.tools.contract import CHECKS, Check, Subject, name_of
from noetl.tools.http.addresses import EMBEDDED
from noetl.tools.http.tool import Http
from noetl.tools.resolve import Resolve
from tests.tools.calling import call_of

KINDS = Vocabulary().kinds


SERVER = """
import asyncio
from aiohttp import web
from tests.tools.serving import site

async def fine(_):
    return web.json_response({"a": [1]})

async def broken(_):
    return web.Response(status=503)

async def waits(_):
    await asyncio.Event().wait()

async def serve():
    async with site({"/": fine, "/broken": broken, "/waits": waits}) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server in a process of its own, so that what it holds open is not taken for the tool's."""
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def http_at(url: str) -> Subject:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    return Subject(
        KINDS["http"],
        lambda: Http(MemoryResults(), MemoryStore(RealSystem()), EMBEDDED),
        works=call_of("http", {"url": url}),
        breaks=(
            call_of("http", {}),
            call_of("http", {"url": nobody}),
            call_of("http", {"url": f"{url}/broken"}),
            call_of("http", {"url": url}, response_bytes_max=1),
            call_of("http", {"url": "http://169.254.169.254/"}),
        ),
        lasts=call_of("http", {"url": f"{url}/waits"}),
        block="http",
    )


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
async def test_http_keeps_the_contract(url: str, check: Check) -> None:
    assert check in CHECKS
    await check(http_at(url))


def resolving() -> Resolve:
    results = MemoryResults()
    data = b"[1, 2]"
    results._blobs[sha256(data).hexdigest()] = data
    return Resolve(results, MemoryStore(RealSystem()))


RESOLVE = Subject(
    KINDS["resolve"],
    resolving,
    works=call_of("resolve", {"ref": Reference("blob", {"sha256": sha256(b"[1, 2]").hexdigest()}), "range": [0, 1]}),
    breaks=(call_of("resolve", {}), call_of("resolve", {"ref": Reference("blob", {"sha256": "gone"})})),
)


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
async def test_resolve_keeps_the_contract(check: Check) -> None:
    assert check in CHECKS
    await check(RESOLVE)
