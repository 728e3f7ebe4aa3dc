"""Shares of children: what bounds a tree of executions without a counter."""

from collections import Counter

import pytest

from noetl.engine import events as e
from noetl.engine.decide import DEPTH_MAX
from noetl.engine.descendants import CHILDREN_MAX, child_share, children_max
from noetl.engine.effects import StartChild, effects
from noetl.engine.state import State, empty
from tests.engine.driver import Driver
from tests.engine.texts import pipeline

CALL = pipeline("- { name: call, kind: playbook, path: child }")


def below(share: int | None) -> State:
    state = empty("x")
    state.parent = e.Parent("p", "s#1", (), "s#1.call/1", 1, share=share) if share is not None else None
    return state


@pytest.mark.parametrize(("share", "most"), [(None, CHILDREN_MAX), (0, CHILDREN_MAX), (1, 1), (25, 25)])
def test_an_execution_may_start_its_share_of_children(share: int | None, most: int) -> None:
    assert children_max(below(share)) == most


@pytest.mark.parametrize(
    ("share", "number", "given"),
    [(None, 1, 25_000), (None, 2, 12_500), (None, 1_000, 25), (25, 1, 6), (25, 3, 2), (25, 4, 1), (25, 25, 1)],
)
def test_a_later_child_gets_a_smaller_share_but_always_one(share: int | None, number: int, given: int) -> None:
    assert child_share(below(share), number) == given


def test_a_child_is_told_its_share_and_its_depth_when_it_starts() -> None:
    driver = Driver(CALL)
    waiting = e.TaskWaiting("s#1", (), "s#1.call/1", child=e.Child("x.c", "child", return_step="r", number=2))
    (first,) = effects(driver.program, driver.state, waiting, 0.0)
    assert first == StartChild("x.c", "child", None, {}, e.Parent("x", "s#1", (), "s#1.call/1", 1, "r", share=12_500))
    (deeper,) = effects(driver.program, below(8), waiting, 0.0)
    assert isinstance(deeper, StartChild)
    assert (deeper.parent.depth, deeper.parent.share) == (2, 1)


@pytest.mark.parametrize(("calls", "total"), [(1, 32), (2, 3_082), (10, 696_227), (CHILDREN_MAX, 21_854_096)])
def test_a_playbook_that_calls_itself_again_and_again_comes_to_an_end(calls: int, total: int) -> None:
    """Counted by shares without running anything, down to the greatest depth."""
    standing, started = Counter({CHILDREN_MAX: 1}), 0
    for _ in range(DEPTH_MAX):
        following: Counter[int] = Counter()
        for share, executions in standing.items():
            for number in range(1, 1 + min(calls, share)):
                following[child_share(below(share), number)] += executions
        standing = following
        started += standing.total()
    assert started == total
