"""A whole execution in one process: server, worker, stores in memory, and the tools that ship."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.limits import Limits
from noetl.data_plane.worker import Worker
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.events import Fact
from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import encode
from noetl.ports import LogChunk, Registered, Tool
from noetl.storage.keychain import LocalKeychain
from noetl.storage.memory import MemoryCatalog, MemoryResults, MemoryStore
from noetl.system import RealSystem
from noetl.tools import make_tools

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: p, path: p }\n"
WAIT_S = 30.0


class Ended(msgspec.Struct, frozen=True):
    """What an execution left behind: its log, what was printed, and what was stored."""

    execution_id: str
    status: str
    log: Sequence[bytes]
    printed: Sequence[LogChunk]
    results: MemoryResults
    store: MemoryStore

    @property
    def facts(self) -> list[Fact]:
        events = [decode(data) for data in self.log]
        return [event.fact for event in events if isinstance(event, Event)]

    def everything(self) -> bytes:
        """All bytes that anyone could read later."""
        printed = [chunk.text.encode() for chunk in self.printed]
        return b"\n".join([*self.log, *printed, *self.results._blobs.values()])


def registered(text: str) -> Registered:
    found = compile_playbook(HEAD + text, "p.yaml")
    assert found.playbook is not None, [each.message for each in found.diagnostics]
    model = encode(found.playbook)
    return Registered("p", "1", found.playbook.digest, model, "p.yaml", msgspec.json.encode(found.source_map()))


async def execute(
    text: str, environment: Mapping[str, str] | None = None, tools: Mapping[str, Tool] | None = None
) -> Ended:
    """Runs a playbook, without its head, to its end. `tools` come on top of those that ship."""
    system = RealSystem()
    store, catalog, results = MemoryStore(system), MemoryCatalog(), MemoryResults()
    keychain, playbook = LocalKeychain(environment or {}), registered(text)
    await catalog.register(playbook)
    plane = Plane(store, catalog, results, keychain, system)
    box = make_tools(results, store, environment or {})
    every = dict(tools or {}) | {kind: box[kind] for kind in ("http", "noop", "resolve")}
    worker = Worker("w", plane, Equipment(every, results, store, keychain, system), limits=Limits(slots=8))
    plane.start()
    worker.start()
    execution_id = await plane.request(playbook, {})
    assert isinstance(execution_id, str)
    async with asyncio.timeout(WAIT_S):
        while (found := await store.summary(execution_id)) is None or not found.has_ended:
            await asyncio.sleep(0.01)
    await worker.stop(1)
    await plane.stop()
    await box.close()
    log, printed = await store.read(execution_id, 0, 10**9), await store.logs(execution_id, 0, 10**6)
    return Ended(execution_id, found.status, log, printed, results, store)
