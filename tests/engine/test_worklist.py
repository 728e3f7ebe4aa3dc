"""The rows of work that a store keeps: who may have of them."""

import pytest

from noetl.engine import leases
from noetl.engine.leases import Work
from noetl.engine.worklist import Row, may_claim


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
