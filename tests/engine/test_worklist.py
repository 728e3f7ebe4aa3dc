"""The rows of work that a store keeps: who may have of them, how reports move them and effects change them."""

import pytest

from noetl.engine import leases
from noetl.engine.commands import Continue, EndWait, ExpireStep
from noetl.engine.effects import ClearTimers, EndAll, EndWork, OfferWork, SetTimer, StopWork
from noetl.engine.events import Path
from noetl.engine.leases import Work
from noetl.engine.worklist import Progress, Row, advance, carry_out, is_cleared, is_within, may_claim


def held(work: Work, worker: str) -> Work:
    found = leases.claim(work, worker=worker, epoch=1, now=0.0, lease_s=60.0, slots=1, indexes_max=1)
    assert found is not None
    return found[0]


def test_only_a_worker_of_the_pool_may_have_work_that_names_one() -> None:
    rows: dict[Row, Work] = {("s#1", ()): leases.offered(1, 1, pool="gpu"), ("t#1", ()): leases.offered(1, 1)}
    assert may_claim(rows, ("s#1", ()), "w", {"gpu", "big"})
    assert not may_claim(rows, ("s#1", ()), "w", {"big"})
    assert not may_claim(rows, ("s#1", ()), "w", ())
    assert may_claim(rows, ("t#1", ()), "w", ())
    assert may_claim(rows, ("t#1", ()), "w", {"gpu"})


@pytest.mark.parametrize(
    ("row", "local", "worker", "may"),
    [
        (("s#1", (1,)), (), "v", False),
        (("s#1", (1,)), (), "w", True),
        (("s#1", (1,)), None, "v", True),
        (("s#1", (1,)), (1,), "v", True),
        (("t#1", (1,)), (), "v", True),
    ],
)
def test_all_work_inside_a_local_loop_stays_with_the_worker_that_holds_some(
    row: Row, local: tuple[int, ...] | None, worker: str, may: bool
) -> None:
    rows = {("s#1", (0,)): held(leases.offered(9, 5, local=()), "w"), row: leases.offered(9, 5, local=local)}
    assert may_claim(rows, row, worker, ()) is may


def test_workers_share_a_loop_that_may_be_spread() -> None:
    rows: dict[Row, Work] = {("s#1", (0,)): held(leases.offered(9, 5), "w"), ("s#1", (1,)): leases.offered(9, 5)}
    assert may_claim(rows, ("s#1", (0,)), "v", ())
    assert may_claim(rows, ("s#1", (1,)), "v", ())


# ------------------------------------------------------------------------------ reports

ROW: Row = ("s#1", ())


def leased(count: int = 5, slots: int = 2, indexes: int = 4) -> dict[Row, Work]:
    """A loop of which epoch 1 holds the first indexes."""
    found = leases.claim(
        leases.offered(count, slots), worker="w", epoch=1, now=0.0, lease_s=60.0, slots=slots, indexes_max=indexes
    )
    assert found is not None
    return {ROW: found[0]}


def test_a_report_moves_its_lease_on() -> None:
    rows = leased()
    assert advance(rows, Progress(ROW, 1, begun=(0, 1), ended=(0,)))
    (lease,) = rows[ROW].leases
    assert (lease.running, lease.next) == (frozenset({1}), 2)
    assert advance(rows, Progress(ROW, 1, begun=(1,), parked=(1,)))
    assert rows[ROW].parked == {1}


@pytest.mark.parametrize(
    "progress",
    [
        Progress(ROW, 2, begun=(0,)),
        Progress(("t#1", ()), 1, begun=(0,)),
        Progress(ROW, 1, begun=(4,)),
        Progress(ROW, 1, begun=(0, 1, 2)),
        Progress(ROW, 1, begun=(0,), ended=(1,)),
        Progress(ROW, 1, begun=(0,), ended=(0, 0)),
        Progress(ROW, 1, begun=(0,), parked=(1,)),
        Progress(ROW, 1, begun=(4,), ended=(4,), parked=(0,)),
    ],
    ids=["epoch", "row", "not its own", "too many", "not begun", "twice", "not begun, waits", "all wrong"],
)
def test_what_is_said_without_a_right_to_it_changes_nothing(progress: Progress) -> None:
    rows = leased()
    before = dict(rows)
    assert not advance(rows, progress)
    assert rows == before


# ------------------------------------------------------------------------------ effects


def test_work_is_offered_as_a_pipeline_or_as_a_loop() -> None:
    rows: dict[Row, Work] = {}
    assert carry_out(rows, OfferWork("s#1", pool="gpu")) == ()
    assert carry_out(rows, OfferWork("t#1", (2,), 10, 3, local=())) == ()
    assert carry_out(rows, OfferWork("u#1", (), 10, 3, (4, 5))) == ()
    assert (rows["s#1", ()].count, rows["s#1", ()].slots, rows["s#1", ()].pool) == (1, 1, "gpu")
    assert (rows["t#1", (2,)].count, rows["t#1", (2,)].slots, rows["t#1", (2,)].local) == (10, 3, ())
    assert (rows["u#1", ()].next, rows["u#1", ()].returned) == (10, ((4, 6),))


@pytest.mark.parametrize(("around", "path", "index"), [((), (), 0), ((), (1,), 1), ((3,), (3, 1), 1)])
def test_what_waited_goes_out_again(around: Path, path: Path, index: int) -> None:
    rows: dict[Row, Work] = {("s#1", around): Work(5, 2, 5, parked=frozenset({index}))}
    carry_out(rows, OfferWork("s#1", path))
    assert rows["s#1", around].parked == frozenset()
    assert rows["s#1", around].returned == ((index, index + 1),)


def test_a_step_run_that_ends_takes_all_its_work_with_it_and_tells_who_held_it() -> None:
    rows = {**leased(), ("s#1", (0,)): leases.offered(3, 1), ("t#1", ()): leases.offered(1, 1)}
    assert [lease.epoch for lease in carry_out(rows, EndWork("s#1"))] == [1]
    assert list(rows) == [("t#1", ())]


def test_an_iteration_that_the_server_ends_goes_out_no_more_nor_does_what_is_inside() -> None:
    rows: dict[Row, Work] = {
        ("s#1", ()): Work(5, 5, 5, returned=((1, 3),), parked=frozenset({3})),
        ("s#1", (1,)): held(leases.offered(3, 1), "w"),
        ("s#1", (2,)): leases.offered(3, 1),
    }
    assert [lease.worker for lease in carry_out(rows, EndWork("s#1", (1,)))] == ["w"]
    assert carry_out(rows, EndWork("s#1", (3,))) == ()
    assert carry_out(rows, EndWork("gone", (3,))) == ()
    assert rows["s#1", ()].returned == ((2, 3),)
    assert rows["s#1", ()].parked == frozenset()
    assert list(rows) == [("s#1", ()), ("s#1", (2,))]


def test_an_iteration_of_an_inner_loop_that_the_server_ends_goes_out_no_more() -> None:
    rows: dict[Row, Work] = {("s#1", (2,)): Work(5, 5, 5, returned=((1, 3),))}
    assert carry_out(rows, EndWork("s#1", (2, 1))) == ()
    assert rows["s#1", (2,)].returned == ((2, 3),)


def test_a_loop_that_stops_revokes_leases_under_which_nothing_has_begun() -> None:
    rows = leased()
    assert [lease.epoch for lease in carry_out(rows, StopWork("s#1", (), ()))] == [1]
    assert not leases.is_open(rows[ROW])
    rows = leased()
    advance(rows, Progress(ROW, 1, begun=(0,)))
    assert carry_out(rows, StopWork("s#1", (), (0,))) == ()
    assert carry_out(rows, StopWork("gone", (), ())) == ()


def test_the_end_of_an_execution_leaves_no_work() -> None:
    rows = leased()
    assert [lease.epoch for lease in carry_out(rows, EndAll())] == [1]
    assert rows == {}


@pytest.mark.parametrize(
    ("timer", "is_so"),
    [
        (SetTimer("1", 1.0, EndWait("s#1", (1,), "t")), True),
        (SetTimer("2", 1.0, EndWait("s#1", (1, 4), "t")), True),
        (SetTimer("3", 1.0, EndWait("s#1", (2,), "t")), False),
        (SetTimer("4", 1.0, EndWait("s#2", (1,), "t")), False),
        (SetTimer("5", 1.0, ExpireStep("s#1", "deadline")), False),
        (SetTimer("6", 1.0, Continue()), False),
    ],
    ids=["own", "inside", "beside", "other run", "of the step", "of the execution"],
)
def test_timers_of_what_is_over_are_cleared(timer: SetTimer, is_so: bool) -> None:
    assert is_cleared(timer, ClearTimers("s#1", (1,))) is is_so


def test_a_worker_may_keep_to_one_execution_and_those_below_it() -> None:
    assert is_within("x", "")
    assert is_within("x", "x")
    assert is_within("x.a.1", "x")
    assert not is_within("xy", "x")
