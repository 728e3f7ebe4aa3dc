"""A worker claims, runs, reports, keeps its leases, and stops itself in time."""

import asyncio
from collections.abc import Sequence

import pytest

from noetl.data_plane.limits import Limits
from noetl.engine import events as e
from noetl.engine.leases import DELIVERIES_MAX
from noetl.engine.output import Output
from noetl.ports import Console, Granted, ToolCall
from tests.data_plane.lines import Gate, Line, loop_of
from tests.runtime import Rig, chain, head, played

TWO_TASKS = f"""{head("two")}
workflow:
  - step: one
    tool:
      - a: {{ kind: python, code: x }}
      - b: {{ kind: python, code: x }}
"""

# ------------------------------------------------------------------------------ leases


@played
async def test_a_tool_longer_than_its_lease_keeps_it(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(300.0)
    assert rig.bench.running == ["a"]
    gate.event.set()
    assert await rig.end(name) == "completed"
    assert rig.bench.count("a") == 1


@played
async def test_a_worker_that_is_cut_off_stops_before_another_can_have_its_work(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    limits = Limits()
    rig.work(line, "cut", limits)
    gate = Gate()
    rig.bench.does["a"] = gate
    name = await rig.begin_until(plane, chain("a"), "a")
    line.is_cut = True
    rig.work(plane, "other", limits)
    await rig.until(lambda: rig.bench.count("a") == 2, within_s=100.0)
    assert rig.bench.running_max == 1
    assert gate.stopped == 1
    gate.event.set()
    assert await rig.end(name) == "completed"


class Slow(Line):
    """A heartbeat takes its time."""

    async def heartbeat(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        await asyncio.sleep(0.2)
        return await super().heartbeat(leases, lease_s)


@played
async def test_a_worker_that_stood_still_asks_before_it_stops_what_runs(rig: Rig) -> None:
    plane, gate = rig.serve(), Gate()
    line = Slow(plane)
    rig.bench.does["a"] = gate
    rig.work(line)
    name = await rig.begin_until(plane, chain("a"), "a")
    rig.loop.skip(3_600.0)
    await asyncio.sleep(20.0)
    assert gate.stopped == 0
    line.is_cut = True
    rig.loop.skip(3_600.0)
    await asyncio.sleep(3.0)
    assert gate.stopped == 1
    line.is_cut = False
    gate.event.set()
    assert await rig.end(name) == "completed"


@played
async def test_a_lease_counts_from_its_grant_and_not_from_the_question(rig: Rig) -> None:
    """The work comes when the poll has been open for almost as long as a lease lasts."""
    plane = rig.serve()
    line = Line(plane)
    rig.work(line)
    await asyncio.sleep(28.0)
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(20.0)
    assert gate.stopped == 0
    gate.event.set()
    assert await rig.end(name) == "completed"
    assert rig.bench.count("a") == 1


@played
async def test_work_that_is_cancelled_is_stopped_and_its_late_report_refused(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin_until(plane, chain("a"), "a")
    await plane.cancel(name)
    await rig.until(lambda: gate.stopped == 1, within_s=0.5)
    assert not worker.holdings
    ended_at = await rig.store.head(name)
    await asyncio.sleep(60.0)
    assert await rig.store.head(name) == ended_at


@played
async def test_a_bug_in_a_worker_ends_the_task_run_at_once(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, chain("a"))

    async def does(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return Output(meta=None)  # type: ignore[arg-type]

    rig.bench.does["a"] = does
    assert await rig.end(name, within_s=5.0) == "failed"
    assert rig.bench.count("a") == 1


@played
async def test_a_bug_outside_of_any_task_run_costs_the_lease_and_is_poison_in_the_end(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    draws: list[int] = []

    def draw() -> float:
        draws.append(1)
        raise ZeroDivisionError

    rig.system.draw = draw
    rig.work(plane)
    assert await rig.end(name, within_s=600.0) == "failed"
    assert len(draws) == DELIVERIES_MAX
    assert rig.bench.runs == []


@pytest.mark.parametrize("text", [loop_of(3, "sequential"), loop_of(3, max_in_flight=1), chain("a", "b")])
def test_a_worker_on_hold_ends_what_runs_and_begins_nothing_more(text: str) -> None:
    @played
    async def holds(rig: Rig) -> None:
        plane, gate = rig.serve(), Gate()
        worker = rig.work(plane)
        rig.bench.does["a"] = gate
        name = await rig.begin_until(plane, text, "a")
        worker.hold()
        gate.event.set()
        await asyncio.sleep(60.0)
        assert [call.task for call in rig.bench.runs] == ["a"]
        assert not rig.bench.running
        await plane.cancel(name)
        assert await rig.end(name) == "cancelled"
        assert len(rig.bench.runs) == 1

    holds()


@played
async def test_a_pipeline_on_hold_does_not_come_to_its_next_task(rig: Rig) -> None:
    plane, gate = rig.serve(), Gate()
    worker = rig.work(plane)
    rig.bench.does["a"] = gate
    name = await rig.begin_until(plane, TWO_TASKS, "a")
    worker.hold()
    gate.event.set()
    await asyncio.sleep(60.0)
    assert [call.task for call in rig.bench.runs] == ["a"]
    await worker.stop(0.0)
    rig.work(plane, "other")
    assert await rig.end(name) == "completed"
    assert [call.task for call in rig.bench.runs] == ["a", "b"]


# ------------------------------------------------------------------------------ reports


@played
async def test_what_happens_while_a_report_is_under_way_travels_together(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    rig.store.latency_s = 1.0
    rig.work(line, limits=Limits(slots=20))
    name = await rig.begin(plane, loop_of(20))
    assert await rig.end(name) == "completed"
    assert len(line.reports) <= 4


@played
async def test_a_start_is_told_alone_when_its_work_takes_long(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin_until(plane, chain("a"), "a")
    assert "TaskStarted" not in await rig.names(name)
    await asyncio.sleep(0.3)
    assert (await rig.names(name))[-2:] == ["StepStarted", "TaskStarted"]
    gate.event.set()
    assert await rig.end(name) == "completed"
    assert (await rig.names(name)).count("TaskStarted") == 1


@played
async def test_a_busy_server_is_asked_again_when_it_says(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    line.is_busy = True
    rig.work(line)
    name = await rig.begin(plane, chain("a"))
    await rig.until(lambda: rig.bench.count("a") == 1)
    await asyncio.sleep(2.9)
    line.is_busy = False
    assert line.reports == []
    assert await rig.end(name, within_s=1.0) == "completed"
    assert rig.bench.count("a") == 1


@played
async def test_a_report_whose_answer_was_lost_is_not_recorded_twice(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    line.loses_answers = True
    rig.work(line)
    name = await rig.begin(plane, chain("a", "b"))
    assert await rig.end(name, within_s=100.0) == "completed"
    assert [call.task for call in rig.bench.runs] == ["a", "b"]
    assert (await rig.names(name)).count("TaskDone") == 2


@played
async def test_a_full_report_buffer_stops_beginning_and_claiming(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    line.is_busy = True
    worker = rig.work(line, limits=Limits(slots=2, prefetch=100, untold_max=6))
    name = await rig.begin(plane, loop_of(100))
    await asyncio.sleep(20.0)
    assert len(rig.bench.runs) < 10
    assert worker.free_slots == 0
    line.is_busy = False
    assert await rig.end(name) == "completed"
    assert len(rig.bench.runs) == 100


@played
async def test_no_report_is_longer_than_it_may_be(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    rig.work(line, limits=Limits(report_max=3))
    name = await rig.begin(plane, loop_of(10))
    assert await rig.end(name) == "completed"
    sizes = [sum(len(each.facts) for report in reports for each in report.reports) for reports in line.reports]
    assert max(sizes) <= 2 * 3


@played
async def test_a_loop_that_stops_refuses_what_comes_after_and_the_lease_is_given_back(rig: Rig) -> None:
    plane = rig.serve()
    for number in range(2):
        rig.work(plane, f"w{number}", Limits(slots=3, prefetch=4))

    async def fails(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        await asyncio.sleep(0.1 * int(str(call.input["n"])))
        if call.input["n"] == 2:
            raise ValueError("no")
        return Output(data=1)

    rig.bench.does["a"] = fails
    name = await rig.begin(plane, loop_of(50, max_in_flight=6))
    assert await rig.end(name) == "failed"
    assert len(rig.bench.runs) < 50


# ------------------------------------------------------------------------------ its end


@played
async def test_a_stop_lets_what_runs_end_and_begins_nothing_more(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    worker = rig.work(line, limits=Limits(slots=1, prefetch=8))
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin_until(plane, loop_of(5), "a")
    stopping = asyncio.create_task(worker.stop(100.0))
    await rig.free()
    gate.event.set()
    await stopping
    assert rig.bench.count("a") == 1
    assert gate.stopped == 0
    rig.work(plane, "w2")
    assert await rig.end(name, within_s=2.0) == "completed"
    assert rig.bench.count("a") == 5


@played
async def test_what_does_not_end_in_time_is_stopped_and_given_back_without_blame(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    gate = rig.bench.does["a"] = Gate()
    name = await rig.begin_until(plane, chain("a"), "a")
    began_at = rig.loop.time()
    await worker.stop(5.0)
    assert rig.loop.time() - began_at < 6.0
    assert rig.bench.running == []
    assert gate.stopped == 1
    gate.event.set()
    rig.work(plane, "w2")
    assert await rig.end(name, within_s=2.0) == "completed"
    assert rig.bench.runs[-1].attempt == 1
    (done,) = [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone)]
    assert done.output.meta.delivery == 1


@played
async def test_a_tool_that_takes_its_time_to_stop_is_waited_for(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    cleaned: list[str] = []

    async def does(call: ToolCall, console: Console) -> Output:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(2.0)
            console.write("cleaned up")
            cleaned.append(call.task)
        return Output()

    rig.bench.does["a"] = does
    name = await rig.begin_until(plane, chain("a"), "a")
    await worker.stop(0.0)
    assert cleaned == ["a"]
    assert [chunk.text for chunk in await rig.store.logs(name, 0, 10)] == ["cleaned up"]


@played
async def test_what_is_given_back_runs_elsewhere_only_once_it_has_ended_here(rig: Rig) -> None:
    plane = rig.serve()
    first = rig.work(plane, "w1")
    seen: list[str] = []

    async def does(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        seen.append("begins")
        if seen != ["begins"]:
            return Output()
        try:
            await asyncio.sleep(100.0)
        finally:
            await asyncio.sleep(2.0)
            seen.append("has cleaned up")
        return Output()

    rig.bench.does["a"] = does
    name = await rig.begin_until(plane, chain("a"), "a")
    rig.work(plane, "w2")
    await first.stop(0.0)
    assert await rig.end(name) == "completed"
    assert seen == ["begins", "has cleaned up", "begins"]


@played
async def test_a_worker_stops_though_its_server_does_not_answer(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    worker = rig.work(line)
    rig.bench.does["a"] = Gate()
    await rig.begin_until(plane, chain("a"), "a")
    line.is_cut = True
    await worker.stop(1.0)
    assert rig.bench.running == []


# ------------------------------------------------------------------------------ what cannot be had


@played
async def test_a_worker_cut_off_from_the_start_goes_on_when_it_can(rig: Rig) -> None:
    plane = rig.serve()
    line = Line(plane)
    line.is_cut = True
    rig.work(line)
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(100.0)
    line.is_cut = False
    assert await rig.end(name, within_s=5.0) == "completed"


@played
async def test_data_that_cannot_be_had_now_is_given_back_and_had_later(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(
        plane, chain("a").replace("n: 1", 'n: "{{ workload.big | length }}"'), {"big": "x" * 200_000}
    )
    line = Line(plane)
    rig.results.is_mute = True
    rig.work(line)
    await asyncio.sleep(10.0)
    assert 10 < len(line.released) < 200
    rig.results.is_mute = False
    assert await rig.end(name, within_s=5.0) == "completed"
    assert rig.bench.runs[0].input == {"n": 200_000}


@played
async def test_a_playbook_that_no_worker_can_have_is_poison_in_the_end(
    rig: Rig,
) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.catalog._by_digest.clear()
    rig.work(plane)
    assert await rig.end(name, within_s=600.0) == "failed"
    assert rig.bench.runs == []


@played
async def test_a_worker_without_the_tool_says_so(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, kinds=["noop"])
    name = await rig.begin(plane, chain("a"))
    assert await rig.end(name) == "failed"
    (done,) = [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone)]
    assert done.output.error is not None
    assert done.output.error.message == "this worker has no tool of kind `python`"


@pytest.mark.parametrize("tries", [1, 5, 100])
def test_a_rest_grows_up_to_its_bound(tries: int) -> None:
    limits = Limits(backoff_s=0.1, backoff_max_s=5.0)
    assert limits.backoff_after(tries) == min(0.1 * 2**tries, 5.0)
