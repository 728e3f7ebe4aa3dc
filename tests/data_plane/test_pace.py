"""How much a worker takes on beforehand."""

from noetl.data_plane.pace import Pace


def test_where_nothing_is_known_it_is_one() -> None:
    assert Pace().ahead(0.2, 8) == 1


def test_quick_ones_are_taken_on_up_to_the_bound() -> None:
    pace = Pace()
    pace.took(0.0)
    assert pace.ahead(0.2, 8) == 8
    pace.took(0.001)
    assert pace.ahead(0.2, 8) == 8


def test_so_many_are_taken_on_as_end_in_time() -> None:
    pace = Pace()
    pace.took(0.05)
    assert pace.ahead(0.2, 8) == 4
    assert pace.ahead(0.01, 8) == 1


def test_one_slow_one_counts_at_once_and_is_forgotten_in_time() -> None:
    pace = Pace()
    for _ in range(100):
        pace.took(0.001)
    pace.took(60.0)
    assert pace.ahead(0.2, 8) == 1
    for _ in range(100):
        pace.took(0.001)
    assert pace.ahead(0.2, 8) == 8
