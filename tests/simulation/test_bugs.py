"""The simulator is itself tested: every bug that is planted is found within the number of seeds that it states."""

import pytest

from tests.simulation.bugs import BUGS, Bug
from tests.simulation.settings import setting
from tests.simulation.world import World


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_planted_bug_is_found_within_its_seeds(bug: Bug) -> None:
    assert bug.seed_found() is not None, f"{bug.what}: not found within {bug.seeds} seeds"


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.under], ids=lambda bug: bug.name)
def test_the_circumstances_of_a_bug_show_nothing_without_it(bug: Bug) -> None:
    assert [World(bug.setting(seed)).run().failures for seed in range(5)] == [[]] * 5


def test_what_was_planted_is_taken_out_again() -> None:
    before = [World(setting(seed)).run().loop.trace[-1] for seed in range(3)]
    for bug in BUGS:
        with bug.planted():
            pass
    assert [World(setting(seed)).run().loop.trace[-1] for seed in range(3)] == before
