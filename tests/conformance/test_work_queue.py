"""Work and the leases on it: who gets what, for how long, and what happens to what comes back."""

from collections.abc import Sequence

import pytest

from noetl.engine.effects import EndAll, EndWork, OfferWork, StopWork
from noetl.engine.incidents import Incident, Kind
from noetl.engine.leases import DELIVERIES_MAX, RAMP
from noetl.ports import Granted, Revoked
from tests.conformance.given import LEASE_S, E, append, ask, claimed, loop, poison, progress, task
from tests.conformance.homes import Home


def runs(granted: Sequence[Granted]) -> list[str]:
    return [each.row[0] for each in granted]


# ------------------------------------------------------------------------------ claims


async def test_a_claim_tells_all_of_the_lease(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=10, slots=3), events=[b"1", b"2"])
        granted = await claimed(store, slots=2, indexes_max=4)
        lease = granted.lease
        assert (granted.execution_id, granted.row, granted.delivery, granted.head) == (E, ("a#1", ()), 1, 2)
        assert (lease.worker, lease.slots, lease.next, lease.stop) == ("w1", 2, 0, 2)
        assert lease.expires_at == home.clock.now() + LEASE_S
        assert lease.running == frozenset()


async def test_a_slot_is_given_one_index_at_first_and_more_when_many_have_ended(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=100, slots=20))
        first = await claimed(store, slots=RAMP, indexes_max=100)
        assert (first.lease.next, first.lease.stop) == (0, RAMP)
        all_of_it = tuple(range(RAMP))
        await append(store, progress=[progress(first, begun=all_of_it, ended=all_of_it)])
        second = await claimed(store, slots=3, indexes_max=100)
        assert (second.lease.next, second.lease.stop) == (RAMP, RAMP + 6)


async def test_nothing_is_handed_out_twice(home: Home) -> None:
    async with home.store() as store:
        await append(store, task("a#1"), task("b#1"))
        assert runs(await store.claim(ask(slots=1), 10)) == ["a#1"]
        assert runs(await store.claim(ask("w2"), 10)) == ["b#1"]
        assert runs(await store.claim(ask("w3"), 10)) == []


async def test_a_claim_has_at_most_so_many_rows(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(task(f"{step}#1") for step in "abc"))
        assert runs(await store.claim(ask(), 2)) == ["a#1", "b#1"]
        assert runs(await store.claim(ask(), 2)) == ["c#1"]


async def test_a_claim_has_at_most_so_many_slots(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop("a#1", slots=3), loop("b#1", slots=3))
        granted = await store.claim(ask(slots=4, indexes_max=5), 10)
        assert [(each.row[0], each.lease.slots) for each in granted] == [("a#1", 3), ("b#1", 1)]
        assert list(await store.claim(ask(slots=0), 10)) == []


async def test_a_loop_has_no_more_in_flight_than_its_slots(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=100, slots=3))
        granted = [each for worker in ("w1", "w2", "w3", "w4") for each in await store.claim(ask(worker, slots=1), 10)]
        assert [each.lease.worker for each in granted] == ["w1", "w2", "w3"]
        assert [each.lease.next for each in granted] == [0, 1, 2]


async def test_the_oldest_work_goes_first_over_all_executions(home: Home) -> None:
    async with home.store() as store:
        for name in ("e2", "e3", "e1"):
            await append(store, task(), name=name)
        assert [each.execution_id for each in await store.claim(ask(), 10)] == ["e2", "e3", "e1"]


async def test_a_long_loop_takes_turns_with_what_came_later(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=100, slots=50), name="long")
        await append(store, loop(count=2, slots=2), name="short")
        turns = [each.execution_id for _ in range(5) for each in await store.claim(ask(slots=1), 1)]
        assert turns == ["long", "short", "long", "short", "long"]


async def test_work_of_a_pool_is_for_its_workers_only(home: Home) -> None:
    async with home.store() as store:
        await append(store, task("a#1", pool="gpu"), task("b#1"))
        assert runs(await store.claim(ask("w1", pools=("cpu",)), 10)) == ["b#1"]
        assert runs(await store.claim(ask("w2", pools=("cpu", "gpu")), 10)) == ["a#1"]


async def test_work_of_a_pool_that_waits_does_not_hide_what_came_later(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(task(f"p#{number}", pool="gpu") for number in range(1, 31)))
        await append(store, task("a#1"), name="e2")
        assert runs(await store.claim(ask(), 5)) == ["a#1"]


async def test_who_keeps_to_one_execution_gets_only_of_it_and_of_those_below_it(home: Home) -> None:
    async with home.store() as store:
        for name in ("e0", "e1", "e1.1.2", "e10"):
            await append(store, task(), name=name)
        assert [each.execution_id for each in await store.claim(ask(within="e1"), 10)] == ["e1", "e1.1.2"]
        answer = await append(store, task("b#1"), name="e0", asks=[ask(within="e1")])
        assert (list(answer.granted), answer.has_work) == ([], True)


async def test_a_loop_that_stays_on_one_worker_is_not_shared(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop("a#1", (0,), local=()), loop("a#1", (1,), local=()))
        first = await store.claim(ask("w1", slots=1), 1)
        assert [each.row for each in first] == [("a#1", (0,))]
        assert runs(await store.claim(ask("w2"), 10)) == []
        assert len(await store.claim(ask("w1", slots=2), 10)) == 2


async def test_a_loop_that_another_holds_does_not_hide_what_came_later(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(loop("a#1", (number,), local=()) for number in range(30)))
        await store.claim(ask("w1", slots=1), 1)
        await append(store, task(), name="e2")
        assert [each.execution_id for each in await store.claim(ask("w2"), 5)] == ["e2"]


async def test_a_loop_that_nobody_holds_any_more_goes_to_any_worker(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(local=()))
        granted = await claimed(store, worker="w1", slots=1)
        await store.release([granted])
        assert (await claimed(store, worker="w2", slots=1)).lease.worker == "w2"


async def test_epochs_never_come_again_not_even_after_reopening(home: Home) -> None:
    epochs: list[int] = []
    for number in range(3):
        async with home.store() as store:
            await append(store, task(f"a#{number}"))
            granted = await claimed(store)
            epochs.append(granted.lease.epoch)
            await append(store, EndAll())
    assert epochs == sorted(set(epochs))


# ------------------------------------------------------------------------------ in an append


async def test_an_append_may_grant_what_it_offers(home: Home) -> None:
    async with home.store() as store:
        answer = await append(store, task("a#1"), task("b#1"), events=[b"1", b"2"], asks=[ask("w1", slots=1)])
        assert [(each.row[0], each.lease.worker, each.head) for each in answer.granted] == [("a#1", "w1", 2)]
        assert answer.has_work
        assert runs(await store.claim(ask("w2"), 10)) == ["b#1"]


async def test_an_append_grants_nothing_of_other_executions_and_tells_whether_work_is_left(home: Home) -> None:
    async with home.store() as store:
        await append(store, task(), name="e2")
        answer = await append(store, task(), asks=[ask(), ask("w2")])
        assert [each.execution_id for each in answer.granted] == [E]
        assert not answer.has_work


async def test_asks_of_an_append_keep_to_pools_and_slots(home: Home) -> None:
    async with home.store() as store:
        answer = await append(store, task("a#1", pool="gpu"), loop("b#1", slots=5), asks=[ask(slots=2, indexes_max=9)])
        assert [(each.row[0], each.lease.slots) for each in answer.granted] == [("b#1", 2)]
        assert answer.has_work


async def test_an_end_is_recorded_and_the_next_index_goes_out(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=2, slots=1))
        first = await claimed(store)
        answer = await append(store, progress=[progress(first, begun=(0,), ended=(0,))], asks=[ask()])
        assert [each.lease.next for each in answer.granted] == [1]
        last = await append(store, progress=[progress(answer.granted[0], begun=(1,), ended=(1,))], asks=[ask()])
        assert (list(last.granted), last.has_work) == ([], False)


async def test_an_index_that_waits_keeps_its_slot_and_goes_on_first(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=9, slots=1))
        granted = await claimed(store)
        answer = await append(store, progress=[progress(granted, begun=(0,), parked=(0,))], asks=[ask()])
        assert (list(answer.granted), answer.has_work) == ([], False)
        woken = await append(store, OfferWork("a#1", (0,)), asks=[ask()])
        assert [each.lease.next for each in woken.granted] == [0]


async def test_a_pipeline_that_waited_goes_on(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        await append(store, progress=[progress(granted, begun=(0,), parked=(0,))])
        assert runs(await store.claim(ask(), 10)) == []
        await append(store, task())
        assert (await claimed(store)).row == ("a#1", ())


async def test_a_rerun_offers_only_the_indexes_that_are_left(home: Home) -> None:
    async with home.store() as store:
        await append(store, OfferWork("a#1", (), 10, 5, (2, 3, 7)))
        ranges = [await claimed(store, slots=2, indexes_max=9) for _ in range(2)]
        assert [(each.lease.next, each.lease.stop) for each in ranges] == [(2, 4), (7, 8)]


@pytest.mark.parametrize("end", [EndWork("a#1"), EndAll()])
async def test_work_that_is_over_is_gone_and_its_leases_are_told(home: Home, end: EndWork | EndAll) -> None:
    async with home.store() as store:
        await append(store, loop(slots=2))
        first = await claimed(store, worker="w1", slots=1)
        second = await claimed(store, worker="w2", slots=1)
        answer = await append(store, end)
        epochs = [first.lease.epoch, second.lease.epoch]
        assert list(answer.revoked) == [Revoked("w1", epochs[0]), Revoked("w2", epochs[1])]
        assert not answer.has_work
        assert await store.renew([first, second], LEASE_S) == frozenset(epochs)
        assert dict((await store.rows(E))[1].work) == {}


async def test_the_end_of_an_iteration_ends_what_is_inside_it_and_nothing_else(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop("a#1", (0,)), loop("a#1", (1,)), loop("a#1", (1, 2)), loop("b#1", (1,)))
        await append(store, EndWork("a#1", (1,)))
        assert set((await store.rows(E))[1].work) == {("a#1", (0,)), ("b#1", (1,))}


async def test_a_loop_that_stops_brings_only_what_has_started_to_its_end(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=10, slots=4))
        running = await claimed(store, worker="w1", slots=1)
        waiting = await claimed(store, worker="w2", slots=1)
        await append(store, progress=[progress(running, begun=(0,))])
        answer = await append(store, StopWork("a#1", (), (0,)))
        assert list(answer.revoked) == [Revoked("w2", waiting.lease.epoch)]
        assert not answer.has_work
        await append(store, progress=[progress(running, ended=(0,))])


async def test_the_work_of_one_execution_ends_without_another_s(home: Home) -> None:
    async with home.store() as store:
        await append(store, task(), name="e1")
        await append(store, task(), name="e2")
        await append(store, EndAll(), name="e1")
        assert [each.execution_id for each in await store.claim(ask(), 10)] == ["e2"]


# ------------------------------------------------------------------------------ heartbeats and gifts


async def test_a_heartbeat_moves_the_end_of_a_lease(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        home.clock.pass_s(9.0)
        assert await store.renew([granted], LEASE_S) == frozenset()
        home.clock.pass_s(9.0)
        assert list(await store.expire(10)) == []
        await append(store, progress=[progress(granted, begun=(0,), ended=(0,))])


async def test_a_heartbeat_tells_which_leases_are_over_and_renews_the_others(home: Home) -> None:
    async with home.store() as store:
        await append(store, task("a#1"), task("b#1"))
        given, kept = await store.claim(ask(), 10)
        await store.release([given])
        assert await store.renew([given, kept], LEASE_S) == {given.lease.epoch}
        home.clock.pass_s(LEASE_S)
        await store.expire(10)
        assert await store.renew([kept], LEASE_S) == {kept.lease.epoch}


async def test_a_lease_whose_time_has_passed_is_its_holders_until_it_is_ended(home: Home) -> None:
    async with home.store() as store:
        await append(store, task("a#1"), task("b#1"))
        late, slow = await store.claim(ask(), 10)
        home.clock.pass_s(2 * LEASE_S)
        assert await store.renew([late], LEASE_S) == frozenset()
        await append(store, progress=[progress(slow, begun=(0,), ended=(0,))])
        assert list(await store.expire(10)) == []
        home.clock.pass_s(LEASE_S)
        (expired,) = await store.expire(10)
        assert list(expired.over) == [Revoked(late.lease.worker, late.lease.epoch)]


async def test_what_is_given_back_goes_out_again_without_blame(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        for _ in range(DELIVERIES_MAX + 2):
            granted = await claimed(store)
            assert granted.delivery == 1
            await store.release([granted])
        assert list(await store.expire(10)) == []


async def test_what_was_ended_before_a_gift_does_not_go_out_again(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(count=4, slots=1))
        granted = await claimed(store)
        await append(store, progress=[progress(granted, begun=(0,), ended=(0,))])
        await store.release([granted])
        assert (await claimed(store)).lease.next == 1


async def test_giving_back_what_one_does_not_hold_is_no_matter(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        await store.release([granted])
        again = await claimed(store, worker="w2")
        await store.release([granted])
        assert await store.renew([again], LEASE_S) == frozenset()


async def test_scattered_indexes_are_granted_at_once_up_to_the_slots(home: Home) -> None:
    async with home.store() as store:
        await append(store, OfferWork("a#1", (), 100, 6, indexes=tuple(range(0, 100, 10))))
        first = await store.claim(ask(slots=4, indexes_max=8), 10)
        rest = await store.claim(ask(slots=4, indexes_max=8), 10)
        assert [each.lease.next for each in first] == [0, 10, 20, 30]
        assert [each.lease.next for each in rest] == [40, 50]
        assert len({each.lease.epoch for each in (*first, *rest)}) == 6


# ------------------------------------------------------------------------------ what runs out


async def test_a_lease_that_ran_out_is_ended_told_once_and_its_work_goes_out_again(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        await claimed(store)
        assert list(await store.expire(10)) == []
        home.clock.pass_s(LEASE_S)
        (expired,) = await store.expire(10)
        assert (expired.execution_id, expired.row, tuple(expired.poison)) == (E, ("a#1", ()), ())
        assert list(await store.expire(10)) == []
        assert (await claimed(store)).delivery == 2


async def test_at_most_so_many_rows_run_out_at_once_and_the_others_follow(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(task(f"a#{number}") for number in range(5)))
        await store.claim(ask(slots=5), 10)
        home.clock.pass_s(LEASE_S)
        counts = [len(await store.expire(2)) for _ in range(4)]
        assert counts == [2, 2, 1, 0]


async def test_a_lease_that_was_renewed_does_not_run_out_with_its_neighbour(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop(slots=2))
        first = await claimed(store, slots=1)
        second = await claimed(store, slots=1)
        home.clock.pass_s(6.0)
        await store.renew([second], LEASE_S)
        home.clock.pass_s(6.0)
        assert len(await store.expire(10)) == 1
        assert await store.renew([first, second], LEASE_S) == {first.lease.epoch}


async def test_what_came_back_too_often_is_told_until_it_is_dropped_and_never_goes_out(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        told = await poison(store, home.clock)
        assert [tuple(each.poison) for each in told] == [(0,)]
        assert [tuple(each.poison) for each in await store.expire(10)] == [(0,)]
        assert runs(await store.claim(ask(), 10)) == []
        await append(store, EndWork("a#1"))
        assert list(await store.expire(10)) == []


async def test_poison_that_is_not_dropped_keeps_nothing_else_from_running_out(home: Home) -> None:
    async with home.store() as store:
        for name in ("e1", "e2", "e3"):
            await append(store, task(), name=name)
            await poison(store, home.clock)
        await append(store, task(), name="e4")
        await claimed(store)
        home.clock.pass_s(LEASE_S)
        assert "e4" in [each.execution_id for each in await store.expire(2)]


async def test_each_poison_gets_its_turn_to_be_told(home: Home) -> None:
    async with home.store() as store:
        for name in ("e1", "e2", "e3"):
            await append(store, task(), name=name)
            await poison(store, home.clock)
        told = {each.execution_id for _ in range(3) for each in await store.expire(1)}
        assert told == {"e1", "e2", "e3"}


async def test_poison_of_a_parked_execution_is_told_when_it_goes_on(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        await poison(store, home.clock)
        await store.open([Incident(E, Kind.BUG, "message", 1.0)])
        assert list(await store.expire(10)) == []
        await store.close(E)
        assert [tuple(each.poison) for each in await store.expire(10)] == [(0,)]
