"""Histories of earlier versions fold to the state they came to then."""

import msgspec
import pytest

from noetl.engine.codec import Sealed
from noetl.engine.envelope import NAMES
from tests.engine.histories import FOLDER, ended, expected, folded, names
from tests.engine.scenarios import scenarios


@pytest.mark.parametrize("name", names())
def test_a_history_folds_to_the_state_it_came_to(name: str) -> None:
    *_, last = folded(name)
    assert last.has_ended
    assert ended(last) == expected(name)


def test_every_acceptance_test_has_a_history() -> None:
    assert set(scenarios()) <= set(names())


def test_every_event_has_a_history() -> None:
    lines = [line for name in names() for line in (FOLDER / f"{name}.jsonl").read_bytes().splitlines()]
    assert {msgspec.json.decode(line, type=Sealed).name for line in lines} == {name for name, _ in NAMES.values()}
