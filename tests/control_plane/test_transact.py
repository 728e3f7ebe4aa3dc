"""One queue an execution, many executions in a commit, and what becomes of trouble with the store."""

import asyncio

import pytest

from noetl.control_plane.letters import Letter, Taken
from noetl.control_plane.limits import Limits
from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, Rejection
from noetl.ports import Busy, Unavailable
from tests.runtime import Rig, chain, played


@played
async def test_a_step_of_a_chain_costs_one_commit(rig: Rig) -> None:
    name = await rig.ran(chain("a", "b", "c", "d", "e"))
    assert rig.status(name) == "completed"
    assert len(rig.store.commits) == 1 + 5  # the request, and a report a step: it brings the claim of the next


@played
async def test_executions_that_wait_together_are_committed_together(rig: Rig) -> None:
    plane = rig.serve(Limits(commits_max=1))
    text = chain("a")
    names = [f"x{number}" for number in range(20)]
    for name in names:
        await rig.begin(plane, text, name=name)
    rig.store.commits.clear()
    rig.store.latency_s = 0.01
    await asyncio.gather(*(plane.cancel(name) for name in names))
    assert sum(len(commit) for commit in rig.store.commits) == 20
    assert len(rig.store.commits) <= 3
    for commit in rig.store.commits:
        ids = [append.execution_id for append in commit]
        assert ids == sorted(ids)


@played
async def test_a_commit_holds_no_more_executions_than_it_may(rig: Rig) -> None:
    plane = rig.serve(Limits(group_max=3, commits_max=1))
    for number in range(10):
        await rig.begin(plane, chain("a"), name=f"x{number}")
    rig.store.commits.clear()
    await asyncio.gather(*(plane.cancel(f"x{number}") for number in range(10)))
    assert max(len(commit) for commit in rig.store.commits) == 3


@played
async def test_commands_of_an_execution_are_decided_in_order_and_appended_together(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.store.commits.clear()
    letters = [Letter(CancelExecution(reason)) for reason in ("first", "second")]
    plane._executions.post(name, *letters)
    first, second = [await letter.answer for letter in letters]
    assert isinstance(first, Taken)
    assert isinstance(second, Rejection)
    assert second.kind == "ended"
    (commit,) = rig.store.commits
    assert len(commit) == 1
    finished = [fact for fact in await rig.facts(name) if isinstance(fact, e.WorkflowFinished)]
    assert len(finished) == 1


@played
async def test_no_more_commands_are_decided_together_than_may_be(rig: Rig) -> None:
    plane = rig.serve(Limits(letters_max=2))
    playbook = await rig.register(chain("a"))
    answers = await asyncio.gather(*(plane.request(playbook, {}, "x1") for _ in range(7)))
    assert answers == ["x1"] * 7
    assert (await rig.names("x1")).count("ExecutionRequested") == 1


@played
async def test_a_server_that_was_overtaken_folds_again(rig: Rig) -> None:
    first, second = rig.serve(), rig.serve()
    name = await rig.begin(first, chain("a"))
    assert await second.cancel(name) is None
    refused = await first.cancel(name)
    assert isinstance(refused, Rejection)
    assert refused.kind == "ended"
    assert (await rig.names(name)).count("WorkflowFinished") == 1


@played
async def test_who_is_overtaken_again_and_again_is_told_so(rig: Rig) -> None:
    plane, other = rig.serve(Limits(tries_max=1)), rig.serve()
    name = await rig.begin(plane, chain("a"))

    async def overtake() -> None:
        await other.cancel(name)

    rig.store.before_commit = overtake
    with pytest.raises(Unavailable, match="others keep changing execution"):
        await plane.cancel(name)


@played
async def test_one_loser_aborts_nobody_else(rig: Rig) -> None:
    plane, other = rig.serve(Limits(commits_max=1)), rig.serve()
    for name in ("x1", "x2"):
        await rig.begin(plane, chain("a"), name=name)
    assert await other.cancel("x1") is None
    lost, won = await asyncio.gather(plane.cancel("x1"), plane.cancel("x2"))
    assert isinstance(lost, Rejection)
    assert won is None


@played
async def test_a_state_that_was_not_committed_is_thrown_away(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.store.troubles = ["before"]
    assert await plane.cancel(name, "now") is None
    assert rig.status(name) == "cancelled"
    assert (await rig.names(name)).count("WorkflowFinished") == 1


@played
async def test_a_commit_whose_answer_was_lost_is_not_done_twice(rig: Rig) -> None:
    plane = rig.serve()
    playbook = await rig.register(chain("a"))
    rig.store.troubles = ["after"]
    assert await plane.request(playbook, {}, "x1") == "x1"
    assert (await rig.names("x1")).count("ExecutionRequested") == 1


@played
async def test_a_store_that_never_answers_is_told_in_the_end(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.store.is_down = True
    with pytest.raises(Unavailable, match="did not answer"):
        await plane.cancel(name)
    rig.store.is_down = False
    assert await plane.cancel(name) is None


@played
async def test_a_group_rests_once_and_not_once_for_each_execution(rig: Rig) -> None:
    plane = rig.serve(Limits(commits_max=1, backoff_s=1.0))
    names = [f"x{number}" for number in range(50)]
    for name in names:
        await rig.begin(plane, chain("a"), name=name)
    rig.store.troubles = ["before"]
    began_at = rig.loop.time()
    await asyncio.gather(*(plane.cancel(name) for name in names))
    assert rig.loop.time() - began_at < 3.0


@played
async def test_an_execution_that_rests_holds_up_no_other(rig: Rig) -> None:
    plane = rig.serve(Limits(commits_max=1, backoff_s=100.0))
    await rig.begin(plane, chain("a"), name="x1")
    await rig.begin(plane, chain("a"), name="x2")
    rig.store.troubles = ["before"]
    resting = asyncio.create_task(plane.cancel("x1"))
    await rig.free()
    assert await plane.cancel("x2") is None
    assert not resting.done()
    assert await resting is None


@played
async def test_too_many_commands_are_turned_away_and_nothing_is_taken(rig: Rig) -> None:
    plane = rig.serve(Limits(waiting_max=3, retry_after_s=7.0))
    names = [f"x{number}" for number in range(5)]
    for name in names:
        await rig.begin(plane, chain("a"), name=name)
    rig.store.latency_s = 1.0
    waiting = [asyncio.create_task(plane.cancel(name)) for name in names[:3]]
    await rig.free()
    with pytest.raises(Busy, match="ask again in 7 s") as busy:
        await plane.cancel(names[3])
    assert busy.value.retry_after_s == 7.0
    assert await asyncio.gather(*waiting) == [None] * 3
    assert rig.status(names[3]) == "running"


@played
async def test_more_executions_than_are_kept_warm_still_have_one_queue_each(rig: Rig) -> None:
    plane = rig.serve(Limits(warm_max=2))
    playbook = await rig.register(chain("a"))
    names = [f"x{number}" for number in range(10)] * 3
    assert await asyncio.gather(*(plane.request(playbook, {}, name) for name in names)) == names
    for name in set(names):
        assert (await rig.names(name)).count("ExecutionRequested") == 1


@played
async def test_a_refused_request_does_not_choose_the_playbook_of_the_next_one(rig: Rig) -> None:
    plane = rig.serve()
    first, second = await rig.register(chain("a", path="p1")), await rig.register(chain("b", path="p2"))
    assert isinstance(await plane.cancel("x1"), Rejection)
    rig.store.troubles = [None]
    assert await plane.request(second, {}, "x1") == "x1"
    assert await plane.request(first, {}, "x1") == "x1"
    summary = await rig.store.summary("x1")
    assert summary is not None
    assert summary.path == "p2"


@played
async def test_a_stop_answers_what_waits_and_takes_nothing_more(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))
    rig.store.latency_s = 1.0
    waiting = asyncio.create_task(plane.cancel(name))
    await rig.free()
    stopping = asyncio.create_task(plane.stop())
    await rig.free()
    with pytest.raises(Unavailable, match="the server is stopping"):
        await plane.cancel(name)
    await stopping
    assert waiting.done()
    assert await waiting is None


@played
async def test_a_stop_does_not_wait_for_ever_for_a_store_that_does_not_answer(rig: Rig) -> None:
    limits = Limits(drain_s=3.0)
    plane = rig.serve(limits)
    name = await rig.begin(plane, chain("a"))
    rig.store.latency_s = 1_000_000.0
    waiting = asyncio.create_task(plane.cancel(name))
    await rig.free()
    began_at = rig.loop.time()
    await plane.stop()
    assert rig.loop.time() - began_at == pytest.approx(limits.drain_s)
    waiting.cancel()


@played
async def test_nothing_runs_on_after_a_stop(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    await rig.end(await rig.begin(plane, chain("a")))
    await worker.stop(1.0)
    await plane.stop()
    assert len(rig.loop.waiting()) == 1  # this test


@played
async def test_a_snapshot_is_saved_now_and_then_and_another_server_goes_on_from_it(rig: Rig) -> None:
    limits = Limits(snapshot_every=5)
    plane = rig.serve(limits)
    rig.work(plane)
    name = await rig.begin(plane, chain("a", "b", "c"))
    await rig.end(name)
    saved = await rig.store.snapshot(name)
    assert saved is not None
    assert 5 <= saved[0] <= await rig.store.head(name)
    other = rig.serve(limits)
    refused = await other.cancel(name)
    assert isinstance(refused, Rejection)
    assert refused.kind == "ended"


@played
async def test_a_log_longer_than_one_read_is_read_whole(rig: Rig) -> None:
    name = await rig.ran(chain("a", "b", "c"))
    other = rig.serve(Limits(read_max=2))
    refused = await other.cancel(name)
    assert isinstance(refused, Rejection)
    assert refused.kind == "ended"
