"""Histories of earlier versions fold to the state they came to then."""

import pytest

from tests.engine.histories import ended, expected, folded, names
from tests.engine.scenarios import scenarios


@pytest.mark.parametrize("name", names())
def test_a_history_folds_to_the_state_it_came_to(name: str) -> None:
    *_, last = folded(name)
    assert last.has_ended
    assert ended(last) == expected(name)


def test_every_acceptance_test_has_a_history() -> None:
    assert set(scenarios()) <= set(names())
