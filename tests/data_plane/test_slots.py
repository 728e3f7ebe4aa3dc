"""What a worker takes on: as much as it has slots for, in ranges, and side by side."""

import asyncio

from noetl.data_plane.limits import Limits
from noetl.engine.output import Output
from noetl.ports import (
    Console,
    ToolCall,
)
from tests.data_plane.lines import Line, loop_of
from tests.runtime import Rig, answering, chain, head, played


async def _sleep(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
    await asyncio.sleep(100.0)
    return Output()


@played
async def test_no_more_pipelines_run_at_once_than_there_are_slots(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, limits=Limits(slots=3))
    names = [await rig.begin(plane, loop_of(10), name=f"x{number}") for number in range(5)]
    for name in names:
        assert await rig.end(name) == "completed"
    assert rig.bench.running_max == 3
    assert len(rig.bench.runs) == 50


@played
async def test_slots_that_are_asked_for_with_a_report_are_not_asked_for_again(rig: Rig) -> None:
    """The store is slow, so that polls and reports are under way at the same time."""
    plane = rig.serve()
    rig.store.latency_s = 0.3
    worker = rig.work(plane, limits=Limits(slots=2))

    rig.bench.does = dict.fromkeys("abcd", answering(Output(), after_s=0.5))
    names = [await rig.begin(plane, chain("a", "b", "c", "d"), name=f"x{number}") for number in range(6)]
    for name in names:
        assert await rig.end(name) == "completed"
        assert sum(len(holding.pipes) for holding in worker.holdings) <= 2
    assert rig.bench.running_max == 2


@played
async def test_a_loop_is_handed_out_in_ranges_and_not_one_by_one(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    rig.work(line, limits=Limits(slots=4, prefetch=5))
    name = await rig.begin(plane, loop_of(100))
    assert await rig.end(name) == "completed"
    epochs = {report.lease.lease.epoch for reports in line.reports for report in reports}
    assert len(epochs) <= 100 / 4
    assert [call.input["n"] for call in sorted(rig.bench.runs, key=lambda call: call.key)] != []
    assert len({call.key for call in rig.bench.runs}) == len(rig.bench.runs) == 100


@played
async def test_long_iterations_run_side_by_side_though_what_came_before_was_quick(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, limits=Limits(slots=16))
    text = f"""{head("quick")}
workflow:
  - step: quick
    loop: {{ in: "{{{{ range(40) | list }}}}", iterator: i, spec: {{ mode: parallel, max_in_flight: 2 }} }}
    tool: {{ kind: noop }}
    next: {{ arcs: [{{ step: long }}] }}
  - step: long
    loop: {{ in: [1, 2, 3, 4], iterator: i, spec: {{ mode: parallel, max_in_flight: 2 }} }}
    tool: {{ name: long, kind: python, code: x }}
"""
    rig.bench.does["long"] = _sleep
    name = await rig.begin(plane, text)
    began_at = rig.loop.time()
    assert await rig.end(name) == "completed"
    assert rig.loop.time() - began_at < 250.0


@played
async def test_no_slot_stands_idle_at_the_end_of_a_loop(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, limits=Limits(slots=16))
    rig.bench.does["a"] = _sleep
    name = await rig.begin(plane, loop_of(20, max_in_flight=8))
    began_at = rig.loop.time()
    assert await rig.end(name) == "completed"
    assert rig.loop.time() - began_at < 350.0


@played
async def test_max_in_flight_holds_over_several_workers(rig: Rig) -> None:
    plane = rig.serve()
    for number in range(3):
        rig.work(plane, f"w{number}")
    name = await rig.begin(plane, loop_of(40, max_in_flight=4))
    assert await rig.end(name) == "completed"
    assert rig.bench.running_max <= 4


@played
async def test_a_sequential_loop_never_runs_ahead(rig: Rig) -> None:
    plane = rig.serve()
    for number in range(3):
        rig.work(plane, f"w{number}")
    name = await rig.begin(plane, loop_of(12, "sequential"))
    assert await rig.end(name) == "completed"
    assert rig.bench.running_max == 1
    assert [call.input["n"] for call in rig.bench.runs] == list(range(12))
    seen = [each for each in await rig.names(name) if each in {"IterationStarted", "IterationDone"}]
    assert seen == ["IterationStarted", "IterationDone"] * 12
