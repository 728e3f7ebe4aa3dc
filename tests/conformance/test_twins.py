"""Stores that answer as the one in memory does, command by command, whatever the commands are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.commands import Pass, Together, commands_of
from tests.conformance.twins import difference, shortest


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_sqlite_answers_as_memory_does(seed: int) -> None:
    sequence = commands_of(seed)
    found = difference(sequence)
    if found is not None:
        pytest.fail(f"seed {seed}\n{shortest(sequence)}")
    assert sequence


def test_a_difference_is_told_by_the_fewest_commands_that_show_it() -> None:
    sequence = commands_of(1)
    found = shortest(sequence, is_wrong=lambda left: any(isinstance(each, Pass) for each in left))
    assert found.count("Pass(") == 1
    assert "Together(" in repr([each for each in sequence if isinstance(each, Together)])
    assert "Together(" not in found
