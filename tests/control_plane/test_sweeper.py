"""What nobody tells a server: leases that ran out, work that kills its workers, executions that stand still."""

import asyncio
from collections.abc import Callable

from noetl.control_plane.limits import Limits
from noetl.data_plane.limits import Limits as WorkerLimits
from noetl.engine import events as e
from noetl.engine.incidents import Kind
from noetl.engine.leases import DELIVERIES_MAX
from noetl.engine.output import Output
from noetl.engine.worklist import EVERY
from noetl.ports import Ask
from tests.data_plane.lines import Gate
from tests.runtime import Rig, answering, chain, head, played

LOOP = f"""{head("loop")}
workflow:
  - step: a
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop: {{ in: [0, 1, 2], iterator: i, spec: {{ mode: parallel, max_in_flight: 3 }} }}
    tool: {{ name: a, kind: python, code: x, input: {{ n: "{{{{ iter.i }}}}" }} }}
"""
ASK = Ask("silent", 1, 5.0)


@played
async def test_work_of_a_silent_worker_goes_to_another_once_its_lease_is_over(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    (claim,) = (await plane.poll(ASK, 0.0)).claims
    rig.work(plane)
    await asyncio.sleep(4.0)
    assert rig.bench.runs == []
    assert await rig.end(name, within_s=10.0) == "completed"
    assert await plane.heartbeat([claim.granted], 5.0) == {claim.epoch}


@played
async def test_a_step_that_kills_every_worker_fails_as_poison(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    for _ in range(DELIVERIES_MAX):
        assert len((await plane.poll(ASK, 60.0)).claims) == 1
    assert await rig.end(name, within_s=20.0) == "failed"
    (failed,) = [fact for fact in await rig.facts(name) if isinstance(fact, e.StepFailed)]
    assert failed.output.error is not None
    assert failed.output.error.kind == "poison"


@played
async def test_an_iteration_that_kills_every_worker_fails_alone(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, LOOP)
    for _ in range(DELIVERIES_MAX):
        (claim,) = (await plane.poll(ASK, 0.0)).claims
        assert claim.granted.lease.next == 0
        await asyncio.sleep(10.0)
    rig.work(plane)
    assert await rig.end(name, within_s=30.0) == "completed"
    ends = [fact for fact in await rig.facts(name) if isinstance(fact, e.IterationFailed)]
    assert [fact.path for fact in ends] == [(0,)]
    assert sorted(int(str(call.input["n"])) for call in rig.bench.runs) == [1, 2]


@played
async def test_what_nothing_will_ever_move_is_told_and_resumed(rig: Rig) -> None:
    """The row of its work was lost, as only a damaged database loses it."""
    plane = rig.serve(Limits(inspect_s=10.0))
    name = await rig.begin(plane, chain("a"))
    rig.store._work.write(name, {})
    await rig.until(lambda: bool(rig.store._incidents), within_s=12.0)
    (incident,) = await rig.store.incidents(name, 10)
    assert incident.kind is Kind.STRANDED
    rig.work(plane)
    await plane.resume(name)
    assert await rig.end(name) == "completed"
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_one_execution_that_cannot_be_read_hides_no_other_that_stands_still(rig: Rig) -> None:
    first = rig.serve()
    await rig.begin(first, chain("a"), name="x1")
    await rig.begin(first, chain("a"), name="x2")
    rig.store.damage("x1", 2, b"no event")
    rig.store._work.write("x2", {})
    await first.stop()
    rig.serve(Limits(inspect_s=10.0))
    await asyncio.sleep(15.0)
    kinds = {each.execution_id: each.kind for each in await rig.store.incidents_within(EVERY, 10)}
    assert kinds == {"x1": Kind.UNREADABLE, "x2": Kind.STRANDED}


@played
async def test_what_moves_by_itself_is_no_incident(rig: Rig) -> None:
    plane = rig.serve(Limits(inspect_s=1.0))
    rig.work(plane, limits=WorkerLimits(slots=1))
    rig.bench.does["a"] = answering(Output(), after_s=100.0)
    name = await rig.begin(plane, LOOP)
    assert await rig.end(name) == "completed"
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_a_sweep_that_fails_is_made_again(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    for _ in range(DELIVERIES_MAX):
        assert len((await plane.poll(ASK, 60.0)).claims) == 1
    rig.store.is_down = True
    await asyncio.sleep(60.0)
    rig.store.is_down = False
    assert await rig.end(name, within_s=60.0) == "failed"


async def runs_of_a_tool_while(rig: Rig, happen: Callable[[float], None]) -> int:
    """How often a tool is run that works on while an hour passes at once, twice."""
    plane, gate = rig.serve(), Gate()
    rig.bench.does["a"] = gate
    rig.work(plane)
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(5.0)
    for _ in range(2):
        happen(3_600.0)
        await asyncio.sleep(100.0)
    gate.event.set()
    assert await rig.end(name, within_s=10.0) == "completed"
    return rig.bench.count("a")


@played
async def test_what_runs_while_the_clock_leaps_goes_on(rig: Rig) -> None:
    assert await runs_of_a_tool_while(rig, rig.clock.jump) == 1


@played
async def test_what_runs_while_the_machine_sleeps_goes_on(rig: Rig) -> None:
    assert await runs_of_a_tool_while(rig, rig.loop.skip) == 1


@played
async def test_a_lease_that_nobody_renews_after_a_leap_is_ended_all_the_same(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    (claim,) = (await plane.poll(ASK, 0.0)).claims
    rig.clock.jump(3_600.0)
    rig.work(plane)
    assert await rig.end(name, within_s=60.0) == "completed"
    assert await plane.heartbeat([claim.granted], 5.0) == {claim.epoch}


@played
async def test_a_worker_that_polls_hears_at_once_that_its_lease_was_ended(rig: Rig) -> None:
    plane = rig.serve()
    await rig.begin(plane, chain("a"))
    (claim,) = (await plane.poll(ASK, 0.0)).claims
    poll = await plane.poll(Ask(ASK.worker, 0, ASK.lease_s), 60.0)
    assert poll.revoked == {claim.epoch}
