"""Several processes on one store: whose files and secrets a called playbook is started with."""

import asyncio
import os
from pathlib import Path

from noetl.cli.embedded import Runtime, opened, serving, working
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.worker import Worker
from noetl.storage.keychain import LocalKeychain
from tests.runtime import head, registered

CALLER = f"""{head("caller")}
workflow:
  - step: ask
    tool: {{ kind: playbook, path: called }}
"""
CALLED = f"""{head("called")}
workflow:
  - step: only
    tool: {{ kind: noop }}
"""
ENVIRONMENT = dict(os.environ)
LOOK_S, PATIENCE_S = 0.02, 30.0


async def requested(runtime: Runtime) -> str:
    for text in (CALLER, CALLED):
        await runtime.local.catalog.register(registered(text))
    name = await runtime.plane.request(registered(CALLER), {})
    assert isinstance(name, str)
    return name


async def call_posted(runtime: Runtime, name: str) -> None:
    """Until the execution has asked for its child. Its worker is that of another process."""
    local = runtime.local
    keychain = LocalKeychain(ENVIRONMENT, local.catalog.locate)
    equipment = Equipment({}, local.results, local.store, keychain, local.system, runtime.ready)
    worker = Worker("another", runtime.plane, equipment, within=name)
    worker.start()
    async with asyncio.timeout(PATIENCE_S):
        while name not in await callers(runtime):
            await asyncio.sleep(LOOK_S)
    await worker.stop(0.0)


async def callers(runtime: Runtime) -> set[str]:
    return {message.sender for message in await runtime.local.store.messages(0, 10)}


async def ended(runtime: Runtime, name: str) -> None:
    async for _ in runtime.plane.feed.events(name):
        pass


def test_a_process_starts_no_child_of_a_run_that_it_does_not_work_on(tmp_path: Path) -> None:
    async def seen() -> tuple[set[str], set[str]]:
        async with opened(tmp_path / ".noetl", tmp_path) as local, serving(local, ENVIRONMENT) as runtime:
            others, mine = await requested(runtime), await requested(runtime)
            await call_posted(runtime, others)
            async with working(runtime, mine, ENVIRONMENT, 1):
                await ended(runtime, mine)
            return await callers(runtime), {others}

    left, expected = asyncio.run(seen())
    assert left == expected
