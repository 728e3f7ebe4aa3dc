"""Executions by what people call them."""

import os
from collections.abc import Sequence

import pytest

from noetl.cli.console import Stopped
from noetl.cli.finding import SHOWN_MAX, find_execution, interrupted, is_interrupted
from noetl.cli.presence import Present, worker_name
from noetl.engine.events import Parent
from noetl.ports import Append, Ask, Summary
from tests.runtime import Rig, WatchedStore, chain, forever, head, played

CALLER = f"""{head("caller")}
workflow:
  - step: ask
    tool: {{ name: ask, kind: playbook, path: called }}
"""
CALLED = chain("only", path="called")


class CountedStore(WatchedStore):
    """Counts the summaries that are read."""

    summaries_read = 0

    async def recent(self, before: str, limit: int) -> Sequence[Summary]:
        found = await super().recent(before, limit)
        self.summaries_read += len(found)
        return found


@played
async def test_a_beginning_finds_its_execution_without_a_look_at_all_of_them(rig: Rig) -> None:
    store = rig.store = CountedStore(rig.clock)
    plane = rig.serve()
    names = [f"{number:03x}-run" for number in range(300)]
    for name in names:
        await rig.begin(plane, chain("a"), name=name)
    for given in (names[0], "0a7", "0a7-", "12b-r", names[-1]):
        assert (await find_execution(store, given)).execution_id.startswith(given)
    assert store.summaries_read <= 4 * (SHOWN_MAX + 1)


@played
async def test_a_beginning_of_several_lists_some_of_them(rig: Rig) -> None:
    plane = rig.serve()
    for name in ("a1", "a2", "b1", *(f"c{number}" for number in range(9))):
        await rig.begin(plane, chain("a"), name=name)
    with pytest.raises(Stopped, match='2 executions begin with "a": a2, a1\n  = write more of the id'):
        await find_execution(rig.store, "a")
    with pytest.raises(Stopped, match='more than 5 executions begin with "c": c8, c7, c6, c5, c4\n'):
        await find_execution(rig.store, "c")
    with pytest.raises(Stopped, match='no execution begins with "d"\n'):
        await find_execution(rig.store, "d")
    assert (await find_execution(rig.store, "b")).execution_id == "b1"
    assert (await find_execution(rig.store, "@latest")).execution_id == "c8"


@played
async def test_one_that_another_started_is_named_by_the_beginning_of_the_other(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(CALLED)
    rig.work(plane)
    root = await rig.begin(plane, CALLER, name="01a1e241-82a7-7a87")
    await rig.end(root)
    for given in ("01a1e241-82a7.ask#1.ask/1", "@latest.ask#1.ask/1", f"{root}.ask#1.ask/1"):
        assert (await find_execution(rig.store, given)).execution_id == f"{root}.ask#1.ask/1"
    with pytest.raises(
        Stopped, match=r'no execution "01a1e241-82a7-7a87\.other"\n  = see: noetl executions --of 01a1$'
    ):
        await find_execution(rig.store, "01a1.other")


@played
async def test_one_whose_parent_is_not_there_is_judged_by_itself(rig: Rig) -> None:
    parent = Parent("gone", "a#1", (), "t", 1)
    lost = Summary("gone.a#1.t/1", "p", "d", "running", 1.0, 1.0, 1, parent)
    await rig.store.commit([Append(lost.execution_id, 0, [b"{}"], summary=lost)])
    assert await is_interrupted(rig.store, lost)
    assert not await is_interrupted(rig.store, lost, Present(frozenset({lost.execution_id})))


@played
async def test_a_word_like_latest_is_answered_with_it(rig: Rig) -> None:
    for given in ("latest", "@last", "@lastest", "last", "LATEST"):
        with pytest.raises(Stopped, match=f'no execution begins with "{given}"; did you mean @latest\\?'):
            await find_execution(rig.store, given)


@played
async def test_where_nothing_ran_there_is_no_latest(rig: Rig) -> None:
    with pytest.raises(Stopped, match="there is no execution"):
        await find_execution(rig.store, "@latest")


@played
async def test_a_run_that_has_not_ended_was_interrupted_unless_a_living_process_holds_it(rig: Rig) -> None:
    plane = rig.serve()
    assert await interrupted(rig.store, "chain") is None
    name = await rig.begin(plane, chain("a"))
    found = await interrupted(rig.store, "chain")
    assert found is not None
    assert found.execution_id == name
    assert await interrupted(rig.store, "other") is None
    granted = await rig.store.claim(Ask(worker_name(), 1, 60.0), 1)
    assert await interrupted(rig.store, "chain") is None
    await rig.store.release(granted)
    await rig.store.claim(Ask(f"{worker_name().partition(':')[0]}:{os.getpid()}:0", 1, 60.0), 1)
    assert await interrupted(rig.store, "chain") is not None


@played
async def test_a_run_that_waits_for_a_child_is_held_by_who_holds_the_child(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(CALLED)
    rig.bench.does["only"] = forever
    worker = rig.work(plane)
    await rig.begin_until(plane, CALLER, "only")
    await rig.free()
    assert await interrupted(rig.store, "caller") is None
    await worker.stop(0.0)
    assert await interrupted(rig.store, "caller") is not None
