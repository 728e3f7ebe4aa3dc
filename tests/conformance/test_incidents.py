"""What cannot go on is shown until people resume it, and nothing of it is handed out meanwhile."""

from noetl.engine.incidents import Incident, Kind
from noetl.engine.worklist import EVERY
from tests.conformance.given import LEASE_S, E, append, ask, claimed, progress, task
from tests.conformance.homes import Home

BUG = Incident(E, Kind.BUG, "it raised", 5.0, "a#1", "report it")
STRANDED = Incident(E, Kind.STRANDED, "it stands", 4.0, "b#1", "resume it")


async def test_an_incident_comes_back_as_it_was(home: Home) -> None:
    async with home.store() as store:
        await store.open([BUG])
        assert list(await store.incidents_within(EVERY, 10)) == list(await store.incidents(E, 10)) == [BUG]
        assert await store.parking(E) == BUG


async def test_one_that_stands_already_stays_as_it_is(home: Home) -> None:
    async with home.store() as store:
        await store.open([BUG])
        await store.open(
            [Incident(E, Kind.BUG, "another text", 9.0, "a#1"), Incident(E, Kind.BUG, "other", 9.0, "c#1")]
        )
        assert [each.message for each in await store.incidents(E, 10)] == ["it raised", "other"]


async def test_only_what_parks_parks(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        await store.open([STRANDED])
        assert await store.parking(E) is None
        assert len(await store.claim(ask(), 10)) == 1


async def test_incidents_are_listed_oldest_first_of_one_or_of_all(home: Home) -> None:
    async with home.store() as store:
        other = Incident("e2", Kind.UNREADABLE, "text", 4.5)
        await store.open([BUG, STRANDED, other])
        assert list(await store.incidents_within(EVERY, 2)) == [STRANDED, other]
        assert list(await store.incidents(E, 10)) == [STRANDED, BUG]
        assert list(await store.incidents("e3", 10)) == []


async def test_incidents_of_an_execution_and_of_those_below_it_are_told_from_others_like_them(home: Home) -> None:
    async with home.store() as store:
        names = ["e2", "e1-x", "e1.a#1.t/1", "e1", "e10", "e1.b#1.t/1.c#1.t/1", "e1/"]
        await store.open([Incident(name, Kind.BUG, "text", float(at)) for at, name in enumerate(names)])
        found = [each.execution_id for each in await store.incidents_within("e1", 10)]
        assert found == ["e1.a#1.t/1", "e1", "e1.b#1.t/1.c#1.t/1"]


async def test_nothing_of_a_parked_execution_is_handed_out_until_it_is_closed(home: Home) -> None:
    async with home.store() as store:
        await append(store, task(), name="e1")
        await append(store, task(), name="e2")
        await store.open([BUG])
        assert [each.execution_id for each in await store.claim(ask(), 10)] == ["e2"]
        await store.close(E)
        assert [each.execution_id for each in await store.claim(ask(), 10)] == [E]


async def test_an_append_to_a_parked_execution_grants_nothing_and_has_no_work_for_anyone(home: Home) -> None:
    async with home.store() as store:
        await store.open([BUG])
        answer = await append(store, task(), asks=[ask()])
        assert (list(answer.granted), answer.has_work) == ([], False)
        await store.close(E)
        assert (await append(store, asks=[ask()])).granted


async def test_who_holds_a_lease_on_a_parked_execution_may_still_renew_and_report(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        await store.open([BUG])
        assert await store.renew([granted], LEASE_S) == frozenset()
        await append(store, progress=[progress(granted, begun=(0,), ended=(0,))])


async def test_parked_work_does_not_hide_what_came_later(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(task(f"a#{number}") for number in range(30)))
        await store.open([BUG])
        await append(store, task(), name="e2")
        assert [each.execution_id for each in await store.claim(ask(), 5)] == ["e2"]


async def test_closing_ends_all_incidents_of_an_execution_and_of_no_other(home: Home) -> None:
    async with home.store() as store:
        other = Incident("e2", Kind.BUG, "text", 1.0)
        await store.open([BUG, STRANDED, other])
        await store.close(E)
        assert list(await store.incidents_within(EVERY, 10)) == [other]
        await store.close(E)
        assert await store.parking(E) is None


async def test_incidents_are_there_when_the_store_is_opened_again(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        await store.open([BUG])
    async with home.store() as store:
        assert await store.parking(E) == BUG
        assert list(await store.claim(ask(), 10)) == []
