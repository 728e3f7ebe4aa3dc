"""Leases: who may run which iterations until when."""

from hypothesis import given
from hypothesis import strategies as st

from noetl.engine import leases
from noetl.engine.leases import DELIVERIES_MAX, RAMP, Lease, Work


def claimed(work: Work, epoch: int, *, slots: int = 1, indexes_max: int = 100, now: float = 0.0) -> tuple[Work, Lease]:
    found = leases.claim(work, worker="w", epoch=epoch, now=now, lease_s=60.0, slots=slots, indexes_max=indexes_max)
    assert found is not None
    return found


def started(work: Work | None, epoch: int, *indexes: int) -> Work:
    for index in indexes:
        assert work is not None
        work = leases.start(work, epoch, index)
    assert work is not None
    return work


def test_a_claim_takes_the_next_indexes_and_no_more_slots_than_are_free() -> None:
    work, first = claimed(Work(100, slots=5), 1, slots=3, indexes_max=10)
    work, second = claimed(work, 2, slots=9, indexes_max=10)
    assert (first.next, first.stop, first.slots) == (0, 10, 3)
    assert (second.next, second.stop, second.slots) == (10, 20, 2)
    assert work.free_slots == 0
    assert leases.claim(work, worker="w", epoch=3, now=0, lease_s=60, slots=1, indexes_max=1) is None


@given(st.sets(st.integers(0, 40)), st.integers(0, 40), st.integers(1, 5))
def test_scattered_indexes_go_out_once_each_and_what_is_dropped_never(
    wanted: set[int], dropped: int, indexes_max: int
) -> None:
    work = leases.drop(leases.offered(41, 50, wanted), dropped)
    out: list[int] = []
    epoch = 0
    while leases.is_open(work):
        epoch += 1
        work, lease = claimed(work, epoch, indexes_max=indexes_max)
        out.extend(range(lease.next, lease.stop))
    assert out == sorted(wanted - {dropped})


def test_a_claim_finds_nothing_once_all_is_handed_out() -> None:
    work, _ = claimed(Work(3, slots=5), 1, indexes_max=10)
    assert leases.claim(work, worker="w", epoch=2, now=0, lease_s=60, slots=1, indexes_max=10) is None


def test_indexes_start_in_order_within_the_slots_of_the_lease() -> None:
    work, _ = claimed(Work(10, slots=5), 1, slots=2, indexes_max=3)
    skipped = leases.start(work, 1, 1)
    assert skipped is not None
    assert skipped.leases[0].running == {0, 1}
    assert leases.start(skipped, 1, 0) is skipped
    work = started(work, 1, 0, 1)
    assert work == skipped
    assert leases.start(work, 1, 2) is None
    ended = leases.end(work, 1, 0)
    work = started(ended, 1, 2)
    assert leases.start(work, 1, 3) is None
    assert leases.start(work, 9, 3) is None


def test_a_lease_whose_last_index_has_ended_is_over_and_its_slots_are_free() -> None:
    work, _ = claimed(Work(2, slots=5), 1, slots=2)
    work = started(work, 1, 0, 1)
    assert work.free_slots == 3
    one = leases.end(work, 1, 0)
    assert one is not None
    assert one.free_slots == 4
    none = leases.end(one, 1, 1)
    assert none is not None
    assert none.leases == ()
    assert leases.end(none, 1, 1) is None


def test_only_the_holder_of_the_current_epoch_counts() -> None:
    work, _ = claimed(Work(1, slots=1), 1)
    assert work.lease(1) is not None
    assert work.lease(2) is None
    assert leases.end(work, 2, 0) is None


def test_a_heartbeat_renews_a_lease_until_somebody_ends_it() -> None:
    work, _ = claimed(Work(1, slots=1), 1)
    late = leases.renew(work, 1, now=100.0, lease_s=60.0)
    assert late is not None
    assert leases.expire(late, 159.0) == (late, ())
    ended, _ = leases.expire(work, 60.0)
    assert leases.renew(ended, 1, now=60.0, lease_s=60.0) is None
    assert leases.renew(work, 2, now=0.0, lease_s=60.0) is None


def test_what_an_expired_lease_had_not_ended_goes_out_again_before_anything_new() -> None:
    work, _ = claimed(Work(10, slots=9), 1, slots=2, indexes_max=4)
    work = started(work, 1, 0, 1)
    ended = leases.end(work, 1, 0)
    assert ended is not None
    work, over = leases.expire(ended, 60.0)
    assert [lease.epoch for lease in over] == [1]
    assert (work.returned, work.leases) == (((1, 4),), ())
    work, again = claimed(work, 2, slots=5)
    assert (again.next, again.stop, again.slots) == (1, 2, 1)
    assert work.lease(1) is None


def test_what_came_back_without_blame_goes_out_by_ranges() -> None:
    work, _ = claimed(Work(100, slots=9), 1, slots=3, indexes_max=50)
    work = leases.release(work, 1)
    work, first = claimed(work, 2, slots=4, indexes_max=20)
    assert (first.next, first.stop, first.slots) == (0, 20, 4)
    assert (work.returned, work.next) == (((20, 50),), 50)
    work, rest = claimed(work, 3, slots=4, indexes_max=100)
    assert (rest.next, rest.stop, rest.slots) == (20, 50, 4)
    assert (work.returned, work.next) == ((), 50)


def test_what_may_have_killed_a_worker_goes_out_alone_so_that_nothing_else_is_blamed_for_it() -> None:
    work = Work(9, slots=9, next=9, returned=((0, 9),), deliveries={3: 1, 4: 2})
    taken = []
    for epoch in range(4):
        work, lease = claimed(work, epoch, slots=2)
        taken.append((lease.next, lease.stop, lease.slots))
    assert taken == [(0, 3, 2), (3, 4, 1), (4, 5, 1), (5, 9, 2)]
    assert work.returned == ()


def test_only_the_given_indexes_of_new_work_go_out() -> None:
    assert leases.offered(9, 2) == Work(9, 2)
    assert leases.offered(9, 2, pool="gpu", local=(1,)) == Work(9, 2, pool="gpu", local=(1,))
    assert leases.offered(9, 2, [0], pool="gpu", local=(1,)) == Work(9, 2, 9, ((0, 1),), pool="gpu", local=(1,))
    work = leases.offered(9, 2, [7, 1, 3, 2])
    assert work == Work(9, 2, 9, ((1, 4), (7, 8)))
    assert leases.offered(9, 2, ()) == Work(9, 2, 9)


def test_work_that_stays_on_one_worker_goes_to_no_other_while_that_one_holds_a_lease() -> None:
    work, _ = claimed(leases.offered(9, 5, local=()), 1, indexes_max=2)
    assert leases.claim(work, worker="v", epoch=2, now=0, lease_s=60, slots=1, indexes_max=2) is None
    work, second = claimed(work, 2, indexes_max=2)
    assert (second.next, second.stop) == (2, 4)
    work, _ = leases.expire(work, 60.0)
    assert leases.claim(work, worker="v", epoch=3, now=60, lease_s=60, slots=1, indexes_max=2) is not None
    spread, _ = claimed(leases.offered(9, 5), 1, indexes_max=2)
    assert leases.claim(spread, worker="v", epoch=2, now=0, lease_s=60, slots=1, indexes_max=2) is not None


def test_a_lease_in_its_time_does_not_expire() -> None:
    work, _ = claimed(Work(10, slots=9), 1)
    assert leases.expire(work, 59.0) == (work, ())


def test_work_that_kills_its_workers_is_poison_after_a_bounded_number_of_deliveries() -> None:
    work = Work(3, slots=1)
    for epoch in range(DELIVERIES_MAX):
        assert leases.poison(work) == ()
        work, lease = claimed(work, epoch, indexes_max=1)
        work = started(work, epoch, lease.next)
        work, _ = leases.expire(work, 60.0)
    assert leases.poison(work) == (0,)
    work = leases.drop(work, 0)
    assert (work.returned, work.deliveries) == ((), {})


def test_work_whose_start_was_never_told_is_counted_too() -> None:
    work, _ = claimed(Work(9, slots=9), 1, slots=2, indexes_max=5)
    work, _ = leases.expire(work, 60.0)
    assert work.deliveries == {0: 1, 1: 1}


def test_an_end_clears_the_count_of_deliveries() -> None:
    work, _ = claimed(Work(1, slots=1), 1)
    work, _ = leases.expire(work, 60.0)
    work, _ = claimed(work, 2)
    ended = leases.end(started(work, 2, 0), 2, 0)
    assert ended is not None
    assert ended.deliveries == {}


def test_a_holder_that_gives_work_back_is_not_blamed() -> None:
    work, _ = claimed(Work(3, slots=3), 1, slots=2)
    work = leases.release(started(work, 1, 0), 1)
    assert (work.returned, work.deliveries) == (((0, 3),), {})
    assert leases.release(work, 1) is work


def test_a_holder_that_has_started_all_it_was_given_gives_back_only_what_runs() -> None:
    work, _ = claimed(Work(3, slots=3), 1, slots=3)
    ended = leases.end(started(work, 1, 0, 1, 2), 1, 1)
    assert ended is not None
    running = leases.end(ended, 1, 2)
    assert running is not None
    assert leases.release(running, 1).returned == ((0, 1),)


def test_what_has_not_started_can_be_taken_back_while_the_rest_runs_on() -> None:
    work, _ = claimed(Work(6, slots=3), 1, slots=3)
    work = leases.take_back(started(work, 1, 0), 1)
    lease = work.lease(1)
    assert lease is not None
    assert (lease.running, lease.next, lease.stop) == (frozenset({0}), 1, 1)
    assert (work.returned, work.free_slots) == (((1, 6),), 2)
    assert leases.take_back(work, 1) is work
    assert leases.take_back(work, 9) is work


def test_a_lease_with_nothing_started_is_gone_when_its_work_is_taken_back() -> None:
    work, _ = claimed(Work(6, slots=3), 1)
    work = leases.take_back(work, 1)
    assert (work.leases, work.returned) == ((), ((0, 6),))


def test_a_parked_index_takes_its_slot_along_and_goes_out_again_when_it_wakes() -> None:
    work, _ = claimed(Work(3, slots=2), 1, slots=2)
    parked = leases.park(started(work, 1, 0, 1), 1, 0)
    assert parked is not None
    lease = parked.lease(1)
    assert lease is not None
    assert (lease.slots, parked.parked, parked.free_slots) == (1, frozenset({0}), 0)
    awake = leases.wake(parked, 0)
    assert (awake.returned, awake.parked, awake.free_slots) == (((0, 1),), frozenset(), 1)
    assert leases.park(awake, 1, 0) is None


def test_a_lease_whose_only_slot_is_parked_gives_the_rest_back() -> None:
    work, _ = claimed(Work(3, slots=2), 1, slots=1, indexes_max=3)
    parked = leases.park(started(work, 1, 0), 1, 0)
    assert parked is not None
    assert (parked.leases, parked.returned, parked.free_slots) == ((), ((1, 3),), 1)
    assert parked.deliveries == {}


def test_where_one_runs_at_a_time_the_next_is_not_handed_out_before_it_has_ended() -> None:
    work, lease = claimed(Work(3, slots=1), 1, indexes_max=3)
    assert (lease.next, lease.stop) == (0, 1)
    assert not leases.is_open(work)
    ended = leases.end(started(work, 1, 0), 1, 0)
    assert ended is not None
    assert leases.is_open(ended)


def test_poison_is_not_handed_out_again() -> None:
    counts = {0: DELIVERIES_MAX, 1: DELIVERIES_MAX - 1}
    work = Work(4, slots=2, next=3, returned=((0, 2),), deliveries=counts)
    _, lease = claimed(work, 1, indexes_max=3)
    assert (lease.next, lease.stop) == (1, 2)
    _, fresh = claimed(Work(4, slots=2, next=3, returned=((0, 1),), deliveries=counts), 1, indexes_max=3)
    assert (fresh.next, fresh.stop) == (3, 4)


def test_the_last_index_of_a_lease_ends_it_when_it_is_parked() -> None:
    work, _ = claimed(Work(1, slots=1), 1)
    parked = leases.park(started(work, 1, 0), 1, 0)
    assert parked is not None
    assert (parked.leases, parked.parked) == ((), frozenset({0}))


def test_a_loop_that_stops_hands_out_only_what_has_started() -> None:
    work, _ = claimed(Work(10, slots=5), 1, slots=2, indexes_max=3)
    work, _ = claimed(started(work, 1, 0), 2, indexes_max=3)
    work = leases.release(started(work, 2, 3), 2)
    stopped = leases.stop(work, {0, 3})
    assert (stopped.next, stopped.returned) == (10, ((3, 4),))
    assert [lease.running for lease in stopped.leases] == [frozenset({0})]


def test_what_a_holder_goes_on_with_stays_with_it_when_the_loop_stops_though_it_has_not_spoken_yet() -> None:
    work, _ = claimed(Work(3, slots=2, next=3, returned=((0, 3),), begun=frozenset({1})), 1, indexes_max=3)
    work, lease = claimed(work, 2, indexes_max=3)
    stopped = leases.stop(work, {1})
    assert [(kept.epoch, kept.running) for kept in stopped.leases] == [(1, frozenset({1}))]
    assert stopped.returned == ()
    assert (lease.next, leases.start(stopped, 2, lease.next)) == (0, None)
    assert leases.start(stopped, 1, 1) is stopped


def test_what_came_back_in_pieces_is_kept_as_few_ranges_in_order() -> None:
    work = Work(20, slots=9, next=20, parked=frozenset({2, 4, 5, 9}))
    for index in (9, 5, 2, 4):
        work = leases.wake(work, index)
    assert work.returned == ((2, 3), (4, 6), (9, 10))
    assert leases.wake(work, 4).returned == work.returned
    assert leases.wake(work, 3).returned == ((2, 6), (9, 10))
    assert leases.drop(leases.wake(work, 3), 3).returned == work.returned
    assert leases.drop(work, 7).returned == work.returned


def test_only_what_is_back_is_poison() -> None:
    counts = dict.fromkeys((6, 1, 2, 4), DELIVERIES_MAX) | {5: DELIVERIES_MAX - 1}
    work = Work(9, slots=1, next=9, returned=((1, 3), (5, 7)), deliveries=counts)
    assert leases.poison(work) == (1, 2, 6)


def test_what_has_begun_goes_out_before_what_has_not_so_that_no_more_is_in_flight_than_allowed() -> None:
    work = Work(9, slots=2, next=6, returned=((3, 5),), parked=frozenset({5}))
    work = leases.wake(work, 5)
    assert (work.returned, work.begun) == (((3, 6),), frozenset({5}))
    work, lease = claimed(work, 1, slots=2, indexes_max=4)
    assert (lease.next, lease.stop, lease.slots) == (5, 6, 1)
    lost, _ = leases.expire(work, 1e9)
    assert (lost.returned, lost.begun) == (((3, 6),), frozenset({5}))
    work = started(work, 1, 5)
    assert work.begun == frozenset()
    assert leases.release(work, 1).begun == {5}
    assert leases.drop(leases.release(work, 1), 5).begun == frozenset()
    work, lease = claimed(work, 2, slots=2, indexes_max=4)
    assert (lease.next, lease.stop, lease.slots) == (3, 5, 1)


def test_what_has_begun_keeps_its_place_while_its_lease_has_no_slot_for_it() -> None:
    work, lease = claimed(Work(6, slots=3, next=6, returned=((0, 6),), begun=frozenset({0, 1, 2})), 1, slots=2)
    assert (lease.next, lease.stop, lease.slots) == (0, 3, 2)
    parked = leases.park(started(work, 1, 0, 1), 1, 1)
    assert parked is not None
    assert parked.free_slots == 0
    ended = leases.end(parked, 1, 0)
    assert ended is not None
    assert (ended.free_slots, claimed(ended, 2)[1].next) == (1, 3)


def test_a_claim_should_take_one_index_for_each_slot_until_many_have_ended() -> None:
    work = Work(100, slots=20)
    assert leases.at_once(work, 3, 100) == 3
    held, _ = claimed(Work(100, slots=20), 1, slots=9, indexes_max=RAMP + 1)
    assert leases.at_once(held, 3, 100) == 3
    for index in range(RAMP):
        ended = leases.end(started(held, 1, index), 1, index)
        assert ended is not None
        held = ended
    assert held.ended == RAMP
    assert leases.at_once(held, 3, 100) == 6
    assert leases.at_once(held, 3, 5) == 5
    parked = leases.park(started(held, 1, RAMP), 1, RAMP)
    assert parked is not None
    assert parked.ended == RAMP


def test_a_claim_should_not_take_indexes_for_slots_that_it_does_not_get() -> None:
    held, _ = claimed(Work(100, slots=5), 1, slots=4, indexes_max=4)
    assert leases.at_once(held, 9, 100) == 1


def test_of_what_came_back_a_claim_should_take_one_for_each_slot() -> None:
    assert leases.at_once(leases.offered(1_000, 20, [1, 2, 3]), 2, 100) == 2
