"""A runtime in one process beside others: what a killed worker leaves behind, and what another process cancels."""

import asyncio
import os
from pathlib import Path

from noetl.cli.embedded import Runtime, abandoned, opened, serving, working
from noetl.cli.finding import live_within
from noetl.cli.presence import NOBODY, worker_name
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.events import TaskStarted
from noetl.ports import Ask
from tests.runtime import Rig, chain, forever, head, played, registered

CALLER = f"""{head("caller")}
workflow:
  - step: ask
    tool: {{ name: ask, kind: playbook, path: called }}
"""
CALLED = chain("only", path="called")
DEAD = f"{worker_name().partition(':')[0]}:{os.getpid()}:0"
"""A worker of this machine whose process had a number that another one has now."""


async def calling(rig: Rig, *names: str) -> None:
    """Executions that wait for a child whose work nobody holds."""
    plane = rig.serve()
    await rig.register(CALLED)
    rig.bench.does["only"] = forever
    worker = rig.work(plane)
    for name in names:
        await rig.begin(plane, CALLER, name=name)
    await rig.until(lambda: rig.bench.running == ["only"] * len(names))
    await worker.stop(0.0)


@played
async def test_leases_of_a_killed_worker_are_found_below_the_execution_too(rig: Rig) -> None:
    await calling(rig, "x1", "x10", "x2")
    assert await abandoned(rig.store, "x1", NOBODY) == []
    await rig.store.claim(Ask(DEAD, 9, 60.0), 9)
    (left,) = await abandoned(rig.store, "x1", NOBODY)
    assert left.execution_id == "x1.ask#1.ask/1"
    assert left.lease.worker == DEAD
    await rig.store.release([left])
    assert await abandoned(rig.store, "x1", NOBODY) == []
    assert [each.execution_id for each in await abandoned(rig.store, "x10", NOBODY)] == ["x10.ask#1.ask/1"]


@played
async def test_leases_of_a_living_worker_are_left_to_it(rig: Rig) -> None:
    await calling(rig, "x1")
    await rig.store.claim(Ask(worker_name(), 9, 60.0), 9)
    assert await abandoned(rig.store, "x1", NOBODY) == []


@played
async def test_an_execution_and_those_below_it_are_told_from_others_of_the_same_beginning(rig: Rig) -> None:
    await calling(rig, "x1", "x1-other", "x10", "x2")
    assert [each.execution_id async for each in live_within(rig.store, "x1")] == ["x1", "x1.ask#1.ask/1"]
    assert [each.execution_id async for each in live_within(rig.store, "x2")] == ["x2", "x2.ask#1.ask/1"]
    assert [each.execution_id async for each in live_within(rig.store, "nobody")] == []


SLEEPS = f"""{head("sleeps")}
workflow:
  - step: only
    tool:
      kind: script
      script: |
        trap 'touch "$folder/stopped"; exit' TERM
        sleep 60 & wait
      input: {{ folder: "{{{{ workload.folder }}}}" }}
"""
HEARD_S = 7.0
"""Less than workers on other machines take to hear of it."""


async def started(runtime: Runtime, folder: Path) -> str:
    playbook = registered(SLEEPS)
    await runtime.local.catalog.register(playbook)
    name = await runtime.plane.request(playbook, {"folder": str(folder)})
    assert isinstance(name, str)
    return name


async def until_told(runtime: Runtime, name: str) -> None:
    """Until it is in the log that the task started: whoever reports hears of a cancel by that."""
    async for data in runtime.plane.feed.events(name):
        event = decode(data)
        if isinstance(event, Event) and isinstance(event.fact, TaskStarted):
            return


async def until_there(file: Path) -> None:
    while not file.exists():
        await asyncio.sleep(0.02)


def test_what_another_process_cancels_is_stopped_soon(tmp_path: Path) -> None:
    home, environment = tmp_path / ".noetl", dict(os.environ)

    async def cancelled() -> None:
        async with opened(home, tmp_path) as local, serving(local, environment) as runtime:
            name = await started(runtime, tmp_path)
            async with working(runtime, name, environment, 1):
                await until_told(runtime, name)
                async with opened(home, tmp_path) as other, serving(other, environment) as elsewhere:
                    assert await elsewhere.plane.cancel(name) is None
                async with asyncio.timeout(HEARD_S):
                    await until_there(tmp_path / "stopped")

    asyncio.run(cancelled())
    assert (tmp_path / "stopped").exists()
