"""Children: their start, their end, and a cancel that goes down the tree."""

import asyncio

from noetl.control_plane.limits import Limits
from noetl.data_plane.limits import Limits as WorkerLimits
from noetl.engine import events as e
from noetl.engine.output import Output
from tests.runtime import Rig, chain, forever, head, played

PARENT = f"""{head("parent")}
workflow:
  - step: call
    tool: {{ name: call, kind: playbook, path: kid, input: {{ n: 7 }} }}
    next: {{ arcs: [ {{ step: after, when: "{{{{ event.name in ['step.done', 'step.failed'] }}}}" }} ] }}
  - step: after
    tool: {{ name: after, kind: python, code: x, input: {{ got: "{{{{ workload }}}}" }} }}
"""

KID = f"""{head("kid")}
workflow:
  - step: work
    tool: {{ name: work, kind: python, code: x, input: {{ n: "{{{{ workload.n }}}}" }} }}
"""

MANY = f"""{head("many")}
workflow:
  - step: call
    loop: {{ in: [1, 2, 3, 4], iterator: i, spec: {{ mode: parallel, max_in_flight: 4 }} }}
    tool: {{ name: call, kind: playbook, path: kid, input: {{ n: "{{{{ iter.i }}}}" }} }}
"""


def outcome(facts: list[e.Fact]) -> Output:
    (end,) = [fact for fact in facts if isinstance(fact, e.WorkflowFinished)]
    return end.output


def senders(rig: Rig) -> set[str]:
    return {message.sender for message in rig.store._agenda._messages.values()}


@played
async def test_a_child_starts_ends_and_its_parent_goes_on(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    await rig.register(KID)
    name = await rig.begin(plane, PARENT)
    assert await rig.end(name, within_s=5.0) == "completed"
    assert [call.task for call in rig.bench.runs] == ["work", "after"]
    assert rig.bench.runs[0].input == {"n": 7}
    kids = [each for each in rig.store._summaries.values() if each.parent is not None]
    assert [kid.status for kid in kids] == ["completed"]
    assert await rig.store.messages(0, 10) == ()
    assert not worker.holdings


@played
async def test_a_parent_holds_no_worker_while_it_waits_for_its_child(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    rig.bench.does["work"] = forever
    await rig.register(KID)
    name = await rig.begin(plane, PARENT)
    await rig.until(lambda: "work" in rig.bench.running)
    await asyncio.sleep(10.0)
    assert [holding.granted.execution_id != name for holding in worker.holdings] == [True]


@played
async def test_a_child_whose_playbook_is_not_in_the_catalog_fails_its_task(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, PARENT)
    assert await rig.end(name, within_s=5.0) == "completed"
    failed = [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone) and fact.task == "call"]
    assert failed[0].output.error is not None
    assert "there is no playbook 'kid'; one is found by its `metadata.path`" in failed[0].output.error.message
    assert await rig.store.messages(0, 10) == ()


@played
async def test_a_child_whose_secrets_are_missing_fails_before_it_works(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID + "keychain: [ { name: token, kind: env, var: TOKEN } ]\n")
    name = await rig.begin(plane, PARENT)
    assert await rig.end(name, within_s=5.0) == "completed"
    assert [call.task for call in rig.bench.runs] == ["after"]
    failed = [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone) and fact.task == "call"]
    assert failed[0].output.error is not None
    assert failed[0].output.error.kind == "playbook_failed"
    assert "keychain entries not found: token" in failed[0].output.error.message


@played
async def test_a_version_that_is_not_there_is_named(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID)
    name = await rig.begin(plane, PARENT.replace("path: kid,", 'path: kid, version: "9",'))
    await rig.end(name, within_s=5.0)
    failed = [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone) and fact.task == "call"]
    assert failed[0].output.error is not None
    assert "'kid' in version 9" in failed[0].output.error.message


@played
async def test_a_cancel_goes_down_to_the_children_and_stops_their_tools(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.bench.does["work"] = forever
    await rig.register(KID)
    name = await rig.begin(plane, MANY)
    await rig.until(lambda: rig.bench.running == ["work"] * 4)
    assert await plane.cancel(name) is None
    await rig.until(lambda: not rig.bench.running, within_s=2.0)
    assert {each.status for each in rig.store._summaries.values()} == {"cancelled"}
    assert await rig.store.messages(0, 10) == ()


@played
async def test_a_full_worker_hears_of_a_cancel_at_once(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane, limits=WorkerLimits(slots=1))
    rig.bench.does["a"] = forever
    name = await rig.begin(plane, chain("a"))
    await rig.until(lambda: bool(rig.bench.running))
    await plane.cancel(name)
    await rig.until(lambda: not rig.bench.running, within_s=0.5)
    assert not rig.bench.running


@played
async def test_a_cancel_never_overtakes_the_start_that_it_follows(rig: Rig) -> None:
    """The parent is cancelled while the start of its child is on its way, and the store fails meanwhile."""
    plane = rig.serve(Limits(tries_max=2))
    worker = rig.work(plane)
    await rig.register(KID)
    name = await rig.begin(plane, PARENT)
    rig.bench.does["work"] = forever
    await rig.until(lambda: bool(rig.store._agenda.waiting(0, 10)) or "work" in rig.bench.running)
    rig.store.troubles = ["before", None, "before", "before", "before"]
    await rig.until(lambda: rig.status(name) != "running" or bool(rig.bench.running) or not rig.store.troubles)
    await plane.cancel(name)
    await asyncio.sleep(30.0)
    assert {each.status for each in rig.store._summaries.values()} == {"cancelled"}
    assert not rig.bench.running
    assert not worker.holdings


@played
async def test_two_servers_that_deliver_the_same_messages_start_one_child(rig: Rig) -> None:
    first, second = rig.serve(), rig.serve()
    rig.work(first, "w1")
    rig.work(second, "w2")
    await rig.register(KID)
    name = await rig.begin(first, MANY)
    assert await rig.end(name) == "completed"
    assert rig.bench.count("work") == 4
    assert len(rig.store._summaries) == 5


@played
async def test_large_workloads_reach_a_child_whole(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID.replace("workload.n }}", "workload.n | length }}"))
    name = await rig.begin(plane, PARENT.replace("n: 7", "n: \"{{ 'x' * 200000 }}\""))
    assert await rig.end(name) == "completed"
    assert rig.bench.runs[0].input == {"n": 200_000}


@played
async def test_a_lost_workload_fails_the_call_and_holds_up_no_other_message(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    await rig.register(KID)
    rig.results.is_mute = True
    lost = await rig.begin(plane, PARENT.replace("n: 7", "n: \"{{ 'x' * 200000 }}\""), name="lost")
    await rig.until(lambda: bool(rig.store._agenda.waiting(0, 10)) and not worker.holdings)
    kept = await rig.begin(plane, PARENT.replace("path: parent", "path: kept"), name="kept")
    assert await rig.end(kept) == "completed"
    assert rig.status(lost) == "running"
    rig.results.lose_all()
    rig.results.is_mute = False
    assert await rig.end(lost) == "completed"  # by an arc from the failed step
    (error,) = [fact.output.error for fact in await rig.facts(lost) if isinstance(fact, e.StepFailed)]
    assert error is not None
    assert (error.kind, error.retryable) == ("reference_not_available", True)
    assert "the workload of playbook 'kid' is lost: the data of {'sha256': '" in error.message


@played
async def test_messages_wait_while_the_server_is_full(rig: Rig) -> None:
    plane = rig.serve(Limits(waiting_max=2, read_max=2))
    rig.work(plane)
    await rig.register(KID)
    name = await rig.begin(plane, MANY)
    assert await rig.end(name) == "completed"
    assert rig.bench.count("work") == 4


@played
async def test_a_server_with_files_of_its_own_starts_children_of_what_it_tends_to_alone(rig: Rig) -> None:
    plane = rig.serve(tends_all=False)
    rig.work(plane)
    await rig.register(KID)
    mine, others = await rig.begin(plane, PARENT), await rig.begin(plane, PARENT)
    await rig.until(lambda: senders(rig) == {mine, others})
    plane.tend(mine)
    assert await rig.end(mine, within_s=5.0) == "completed"
    (left,) = await rig.store.messages(0, 10)
    assert left.sender == others
    rig.bench.does["work"] = forever
    assert await plane.cancel(others) is None
    plane.tend(others)
    await rig.until(lambda: not senders(rig))
    assert [rig.status(name) for name in rig.store._summaries if name.startswith(others)] == ["cancelled"] * 2
