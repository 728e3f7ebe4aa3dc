"""Executions as a list: which are in it, and how far it is read."""

from collections.abc import Sequence

from noetl.cli.executions import Arguments
from noetl.cli.inspecting.listing import listed
from noetl.cli.presence import NOBODY, Present
from noetl.engine.output import Output, failed
from noetl.ports import Console, Summary, ToolCall
from tests.cli.inspecting.calling import CALLED, caller
from tests.runtime import Rig, WatchedStore, chain, forever, played

CALLER = caller(3)


class CountedStore(WatchedStore):
    """Counts the summaries that are read below others."""

    read_below = 0

    async def below(self, execution_id: str, after: str, limit: int) -> Sequence[Summary]:
        found = await super().below(execution_id, after, limit)
        self.read_below += len(found)
        return found


async def fails_at_one(call: ToolCall, _console: Console) -> Output:
    return failed("exception", "no") if call.input["i"] == 1 else Output()


async def called(rig: Rig) -> None:
    """Two executions, one of which called three."""
    plane = rig.serve()
    await rig.register(CALLED)
    rig.bench.does["only"] = fails_at_one
    rig.work(plane)
    for name, text in (("r1", CALLER), ("r2", chain("a"))):
        await rig.begin(plane, text, name=name)
        await rig.end(name)


async def names(rig: Rig, wanted: Arguments) -> list[str]:
    return [each.summary.execution_id for each in await listed(rig.store, wanted, NOBODY)]


BELOW = ["r1.ask#1[0].ask/1", "r1.ask#1[1].ask/1", "r1.ask#1[2].ask/1"]


@played
async def test_what_others_started_is_listed_where_it_is_asked_for(rig: Rig) -> None:
    await called(rig)
    assert await names(rig, Arguments()) == ["r2", "r1"]
    assert await names(rig, Arguments(children=True)) == ["r2", "r1", *BELOW]
    assert await names(rig, Arguments(children=True, limit="2")) == ["r2", "r1", BELOW[0]], "one more"
    assert await names(rig, Arguments(of="r1")) == [BELOW[1], BELOW[0], BELOW[2]], "what failed comes first"
    assert await names(rig, Arguments(of="@latest")) == []
    assert await names(rig, Arguments(of="r1", status="failed")) == [BELOW[1]]
    assert await names(rig, Arguments(children=True, status="failed")) == [BELOW[1]]


@played
async def test_what_is_not_asked_for_is_not_read(rig: Rig) -> None:
    store = rig.store = CountedStore(rig.clock)
    await called(rig)
    await names(rig, Arguments())
    assert store.read_below == 0


@played
async def test_an_execution_that_nobody_works_on_is_told_as_interrupted(rig: Rig) -> None:
    plane = rig.serve()
    rig.bench.does["a"] = forever
    worker = rig.work(plane)
    name = await rig.begin_until(plane, chain("a"), "a")
    await rig.free()
    assert [each.status for each in await listed(rig.store, Arguments(), NOBODY)] == ["running"]
    await worker.stop(0.0)
    assert [each.status for each in await listed(rig.store, Arguments(), NOBODY)] == ["interrupted"]
    assert [each.status for each in await listed(rig.store, Arguments(), Present(frozenset({name})))] == ["running"]
    for status, expected in (("interrupted", [name]), ("running", [name]), ("failed", [])):
        assert await names(rig, Arguments(status=status)) == expected
