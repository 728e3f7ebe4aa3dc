"""What a worker that was killed leaves behind, in an execution and in those below it."""

import asyncio
import os

from noetl.cli.embedded import abandoned
from noetl.cli.finding import live_within
from noetl.cli.presence import NOBODY, worker_name
from noetl.engine.output import Output
from noetl.ports import Ask, Console, ToolCall
from tests.runtime import Rig, chain, head, played

CALLER = f"""{head("caller")}
workflow:
  - step: ask
    tool: {{ name: ask, kind: playbook, path: called }}
"""
CALLED = chain("only", path="called")
DEAD = f"{worker_name().partition(':')[0]}:{os.getpid()}:0"
"""A worker of this machine whose process had a number that another one has now."""


async def forever(_call: ToolCall, _console: Console) -> Output:
    await asyncio.Event().wait()
    return Output()


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
