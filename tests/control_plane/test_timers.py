"""Waits that no worker is held for: they outlive servers, and end when the store says so."""

import asyncio

from noetl.control_plane.limits import Limits
from noetl.control_plane.plane import Plane
from noetl.data_plane.worker import Worker
from noetl.engine.output import Output, failed
from noetl.ports import Console, ToolCall
from tests.runtime import Does, Rig, chain, forever, head, played

HOUR_S = 3_600.0

RETRY = f"""{head("retry")}
workflow:
  - step: a
    tool:
      name: a
      kind: python
      code: x
      spec: {{ policy: {{ rules: [ {{ when: "{{{{ output.status == 'error' }}}}", then: {{ do: retry, attempts: 3, delay: 3600 }} }}, {{ else: {{ then: {{ do: continue }} }} }} ] }} }}
"""  # noqa: E501


def fails_once() -> Does:
    calls: list[str] = []

    async def does(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        calls.append(call.task_run_id)
        return failed("http", "no") if len(calls) == 1 else Output(data=call.attempt)

    return does


async def waiting(rig: Rig) -> tuple[Plane, Worker, str]:
    """An execution that waits for an hour, and that no worker is held for."""
    plane = rig.serve()
    worker = rig.work(plane)
    rig.bench.does["a"] = fails_once()
    name = await rig.begin(plane, RETRY)
    await rig.until(lambda: rig.bench.count("a") == 1 and not worker.holdings, within_s=10.0)
    return plane, worker, name


@played
async def test_a_retry_in_an_hour_holds_no_worker_and_outlives_its_server(rig: Rig) -> None:
    plane, worker, name = await waiting(rig)
    assert worker.free_slots + worker._asked_slots == 10
    await worker.stop(1.0)
    await plane.stop()
    await asyncio.sleep(HOUR_S / 2)
    other = rig.serve()
    rig.work(other, "w2")
    assert await rig.end(name) == "completed"
    summary = await rig.store.summary(name)
    assert summary is not None
    assert HOUR_S <= summary.changed_at - summary.started_at < HOUR_S + 2
    assert [call.attempt for call in rig.bench.runs] == [1, 2]
    assert len({call.key for call in rig.bench.runs}) == 1


@played
async def test_a_timer_revives_nothing_that_was_cancelled(rig: Rig) -> None:
    plane, _, name = await waiting(rig)
    await plane.cancel(name)
    head_ = await rig.store.head(name)
    await asyncio.sleep(2 * HOUR_S)
    assert rig.bench.count("a") == 1
    assert await rig.store.head(name) == head_


@played
async def test_a_store_that_does_not_answer_only_delays_a_timer(rig: Rig) -> None:
    _, _, name = await waiting(rig)
    await asyncio.sleep(HOUR_S - 60)
    rig.store.is_down = True
    await asyncio.sleep(120)
    rig.store.is_down = False
    assert await rig.end(name, within_s=60.0) == "completed"


@played
async def test_timers_of_parked_executions_leave_room_for_others(rig: Rig) -> None:
    first = rig.serve()
    worker = rig.work(first)

    async def fails(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return failed("http", "no") if call.attempt == 1 else Output()

    rig.bench.does["a"] = fails
    parked = [await rig.begin(first, RETRY, name=f"parked{number}") for number in range(5)]
    await rig.until(lambda: rig.bench.count("a") == 5 and not worker.holdings)
    other = await rig.begin(first, RETRY.replace("3600", "3700"), name="other")
    await rig.until(lambda: rig.bench.count("a") == 6 and not worker.holdings)
    await worker.stop(1.0)
    await first.stop()
    for name in parked:
        rig.store.damage(name, 2, b"no event")
    plane = rig.serve(Limits(read_max=2))
    rig.work(plane, "w2")
    assert await rig.end(other, within_s=HOUR_S + 200) == "completed"
    assert {rig.status(name) for name in parked} == {"running"}


@played
async def test_a_step_that_used_up_its_time_fails_and_its_tool_is_stopped(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.bench.does["a"] = forever
    name = await rig.begin(
        plane, chain("a").replace("- step: a\n", "- step: a\n    spec: { policy: { lifecycle: { timeout_s: 5 } } }\n")
    )
    assert await rig.end(name, within_s=10.0) == "failed"
    await rig.until(lambda: not rig.bench.running, within_s=1.0)
