"""What workers and clients may ask of a server, and how it answers."""

import asyncio

import pytest

from noetl.control_plane.limits import Limits
from noetl.control_plane.plane import Plane
from noetl.engine import events as e
from noetl.engine.commands import Rejection, Report
from noetl.engine.output import NOTHING
from noetl.engine.rerun import Cut
from noetl.ports import Ask, Busy, Claim, LeaseReport, LogChunk, Unavailable
from noetl.supply.shelf import Shelf
from tests.runtime import Rig, chain, head, played, raising, registered

ASK = Ask("w", 1, 30.0)
NONE = Ask("w", 0, 30.0)

LOOP = f"""{head("loop")}
workflow:
  - step: a
    loop: {{ in: [0, 1, 2, 3], iterator: i, spec: {{ mode: parallel, max_in_flight: 4 }} }}
    tool: {{ name: a, kind: python, code: x, input: {{ n: "{{{{ iter.i }}}}" }} }}
"""


async def claimed(plane: Plane, ask: Ask = ASK) -> Claim:
    (claim,) = (await plane.poll(ask, 0.0)).claims
    return claim


def began(claim: Claim) -> LeaseReport:
    run = claim.granted.row[0]
    return LeaseReport(claim.granted, [Report(run, [e.StepStarted(run, "w")])])


@played
async def test_a_claim_carries_only_the_outputs_that_are_read(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, "first")
    text = f"""{head("reading")}
workflow:
  - {{ step: a, tool: {{ kind: noop }}, next: {{ arcs: [{{ step: b }}] }} }}
  - {{ step: b, tool: {{ kind: noop }}, next: {{ arcs: [{{ step: c }}] }} }}
  - {{ step: c, spec: {{ pool: other }}, tool: {{ kind: python, code: x, input: {{ x: "{{{{ b.status }}}}" }} }} }}
"""
    await rig.begin(plane, text)
    await rig.free()
    claim = await claimed(plane, Ask("w", 1, 30.0, pools=["other"]))
    assert list(claim.outputs) == ["b"]


# ------------------------------------------------------------------------------ clients


@played
async def test_a_request_made_twice_is_one_execution(rig: Rig) -> None:
    plane = rig.serve()
    playbook = await rig.register(chain("a"))
    assert await plane.request(playbook, {}, "x1") == "x1"
    assert await plane.request(playbook, {}, "x1") == "x1"
    assert (await rig.names("x1")).count("ExecutionRequested") == 1
    assert await plane.request(playbook, {}) != await plane.request(playbook, {})


@played
async def test_a_playbook_that_is_not_registered_is_refused(rig: Rig) -> None:
    refused = await rig.serve().request(registered(chain("a")), {})
    assert isinstance(refused, Rejection)
    assert refused.message == "the playbook 'chain' is not registered"


@played
async def test_an_execution_that_is_not_there_cannot_be_cancelled(rig: Rig) -> None:
    refused = await rig.serve().cancel("nobody")
    assert isinstance(refused, Rejection)
    assert refused.kind == "unknown"


@played
async def test_a_rerun_takes_over_what_was_reached(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.bench.does["b"] = raising(ValueError("no"))
    name = await rig.begin(plane, chain("a", "b"))
    assert await rig.end(name) == "failed"
    origin = await rig.store.summary(name)
    assert origin is not None
    del rig.bench.does["b"]
    again = await plane.rerun(origin, Cut(), {}, "x2")
    assert again == "x2"
    assert await rig.end("x2") == "completed"
    assert [call.task for call in rig.bench.runs] == ["a", "b", "b"]
    nowhere = await plane.rerun(origin, Cut(from_step="nowhere"), {})
    assert isinstance(nowhere, Rejection)
    rig.catalog._by_digest.clear()
    gone = await rig.serve().rerun(origin, Cut(), {})
    assert isinstance(gone, Rejection)
    assert "is not in the catalog" in gone.message


@played
async def test_a_rerun_may_run_another_text_that_is_registered(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, chain("a", "b"))
    assert await rig.end(name) == "completed"
    origin = await rig.store.summary(name)
    assert origin is not None
    text = registered(chain("a", "b", "c"))
    unknown = await plane.rerun(origin, Cut("b"), {}, text=text)
    assert unknown == Rejection("unknown", f"the text of the playbook of {name} is not in the catalog")
    await rig.catalog.register(text)
    again = await plane.rerun(origin, Cut("b"), {}, "x2", text)
    assert again == "x2"
    assert await rig.end("x2") == "completed"
    assert [call.task for call in rig.bench.runs] == ["a", "b", "b", "c"]
    summary = await rig.store.summary("x2")
    assert summary is not None
    assert (summary.digest, summary.path) == (text.digest, origin.path)


@played
async def test_a_value_inside_a_large_one_that_is_stored_elsewhere_can_be_changed(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    playbook = registered(chain("a"))
    await rig.catalog.register(playbook)
    assert await plane.request(playbook, {"big": {"rows": ["x" * 1000] * 100, "n": 1}}, "x1") == "x1"
    assert await rig.end("x1") == "completed"
    origin = await rig.store.summary("x1")
    assert origin is not None
    assert await plane.rerun(origin, Cut("a"), {"big": {"n": 2}}, "x2") == "x2"
    assert await rig.end("x2") == "completed"
    first = (await rig.facts("x2"))[0]
    assert isinstance(first, e.ExecutionRequested)
    workload = await Shelf(rig.results, 10_000_000).hydrated(first.workload)
    assert workload == {"big": {"rows": ["x" * 1000] * 100, "n": 2}}


@played
async def test_what_needs_no_mending_is_resumed_without_a_trace(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    commits = len(rig.store.commits)
    await plane.resume(name)
    assert len(rig.store.commits) == commits
    await plane.resume("nobody")


# ------------------------------------------------------------------------------ polls


@played
async def test_a_poll_is_answered_the_moment_there_is_work_and_says_how_long_it_waited(rig: Rig) -> None:
    plane = rig.serve(Limits(poll_s=1_000.0))
    polling = asyncio.create_task(plane.poll(ASK, 60.0))
    await asyncio.sleep(20.0)
    await rig.begin(plane, chain("a"))
    await rig.until(polling.done, within_s=0.1)
    poll = await polling
    assert len(poll.claims) == 1
    assert poll.waited_s == pytest.approx(20.0, abs=0.1)


@played
async def test_a_poll_without_work_ends_in_time(rig: Rig) -> None:
    plane = rig.serve()
    poll = await plane.poll(ASK, 5.0)
    assert poll.claims == []
    assert rig.loop.time() == pytest.approx(5.0)


@played
async def test_who_asks_for_no_slots_gets_none_and_keeps_nobody_from_work(rig: Rig) -> None:
    plane = rig.serve(Limits(poll_s=1_000.0))
    listening = asyncio.create_task(plane.poll(NONE, 60.0))
    await rig.free()
    polling = asyncio.create_task(plane.poll(Ask("other", 1, 30.0), 60.0))
    await rig.free()
    await rig.begin(plane, chain("a"))
    await rig.until(polling.done, within_s=0.1)
    assert len((await polling).claims) == 1
    assert not listening.done()
    assert (await listening).claims == []


@played
async def test_work_offered_at_another_server_is_found_in_time(rig: Rig) -> None:
    first, second = rig.serve(), rig.serve(Limits(poll_s=2.0))
    polling = asyncio.create_task(second.poll(ASK, 60.0))
    await rig.free()
    await rig.begin(first, chain("a"))
    await rig.until(polling.done, within_s=2.5)
    assert len((await polling).claims) == 1


@played
async def test_a_poll_at_a_server_that_stops_is_turned_away(rig: Rig) -> None:
    plane = rig.serve()
    polling = asyncio.create_task(plane.poll(ASK, 60.0))
    await rig.free()
    await plane.stop()
    with pytest.raises(Unavailable, match="the server is stopping"):
        await polling


@played
async def test_one_claim_that_cannot_be_filled_spoils_no_other(rig: Rig) -> None:
    first = rig.serve()
    await rig.begin(first, chain("a"), name="x1")
    await rig.begin(first, chain("a"), name="x2")
    rig.store.damage("x1", 2, b"no event")
    plane = rig.serve()
    claims = (await plane.poll(Ask("w", 5, 30.0), 0.0)).claims
    assert [claim.granted.execution_id for claim in claims] == ["x2"]
    _, rows = await rig.store.rows("x1")
    assert [work.leases for work in rows.work.values()] == [()]


# ------------------------------------------------------------------------------ reports


@played
async def test_only_the_current_epoch_may_report(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    old = await claimed(plane)
    await plane.release([old.granted])
    new = await claimed(plane)
    assert new.epoch > old.epoch
    told = await plane.report([began(old), began(new)], NONE)
    assert set(told.refused) == {0}
    assert told.refused[0][0].kind == "stale"
    assert (await rig.names(name)).count("StepStarted") == 1


@played
async def test_a_report_that_was_made_before_is_refused(rig: Rig) -> None:
    plane = rig.serve()
    await rig.begin(plane, chain("a"))
    claim = await claimed(plane)
    run = claim.granted.row[0]
    report = LeaseReport(claim.granted, [Report(run, [e.StepStarted(run, "w"), e.StepDone(run, NOTHING)])])
    assert (await plane.report([report], NONE)).refused != {}


@played
async def test_a_report_with_a_question_brings_the_next_step(rig: Rig) -> None:
    name = await rig.ran(chain("a", "b"))
    leases = [fact for fact in await rig.facts(name) if isinstance(fact, e.StepStarted)]
    assert [fact.worker for fact in leases] == ["w1", "w1"]


@played
async def test_a_full_server_takes_no_report_and_nothing_of_it(rig: Rig) -> None:
    plane = rig.serve(Limits(waiting_max=1))
    await rig.begin(plane, chain("a"), name="x1")
    await rig.free()
    claim = await claimed(plane)
    await rig.free()
    rig.store.latency_s = 1.0
    waiting = asyncio.create_task(plane.cancel("x1"))
    await rig.free()
    with pytest.raises(Busy):
        await plane.report([began(claim)], NONE)
    assert await waiting is None
    assert "StepStarted" not in await rig.names("x1")


@played
async def test_a_lease_that_is_kept_alive_does_not_end(rig: Rig) -> None:
    plane = rig.serve()
    await rig.begin(plane, chain("a"))
    claim = await claimed(plane)
    for _ in range(10):
        await asyncio.sleep(20.0)
        assert await plane.heartbeat([claim.granted], 30.0) == frozenset()
    assert (await plane.poll(Ask("other", 1, 30.0), 0.0)).claims == []


@played
async def test_what_tools_print_is_kept_for_people(rig: Rig) -> None:
    plane = rig.serve()
    chunk = LogChunk("x1", "run", 1, 0.0, "stdout", "hello")
    await plane.log([chunk])
    assert list(await rig.store.logs("x1", 0, 10)) == [chunk]


# ------------------------------------------------------------------------------ claims


@played
async def test_a_claim_brings_the_elements_of_its_iterations_and_no_others(rig: Rig) -> None:
    plane = rig.serve()
    await rig.begin(plane, LOOP)
    claim = await claimed(plane, Ask("w", 3, 30.0, 3))
    assert claim.loop is not None
    assert (claim.loop.first, claim.loop.stop, claim.loop.items) == (0, 3, [0, 1, 2])
    rest = await claimed(plane, Ask("w", 1, 30.0, 3))
    assert rest.loop is not None
    assert (rest.loop.first, rest.loop.stop, rest.loop.items) == (3, 4, [3])


@played
async def test_work_that_is_over_when_it_is_looked_at_is_not_handed_out(rig: Rig) -> None:
    """Another server ends the execution between the grant and the look."""
    plane, other = rig.serve(), rig.serve()
    name = await rig.begin(plane, chain("a"))
    (granted,) = await rig.store.claim(ASK, 10)
    await other.cancel(name)
    assert await plane._filled(granted) is not None
    later = granted.__class__(granted.execution_id, granted.row, granted.lease, 1, await rig.store.head(name))
    assert await plane._filled(later) is None
