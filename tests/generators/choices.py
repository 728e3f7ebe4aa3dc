"""Where a generator's decisions come from: Hypothesis, which can shrink them, or a seed, which is fast.

The first option is always the simplest one, so that shrinking leads to small playbooks.
"""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

Option = TypeVar("Option")
Made = TypeVar("Made")


class Choices(Protocol):
    def number(self, low: int, high: int) -> int:
        """A number in [low, high]."""
        ...


class Seeded:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class Drawn:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        return self._draw(_integers(low, high))


class Simplest:
    """Always the first option."""

    def number(self, low: int, high: int) -> int:
        return min(low, high)


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def pick(choices: Choices, options: Sequence[Option]) -> Option:
    return options[choices.number(0, len(options) - 1)]


def happens(choices: Choices, one_in: int = 2) -> bool:
    """True once in so many times; the simplest choice is no."""
    return choices.number(0, one_in - 1) == one_in - 1


def maybe(choices: Choices, make: Callable[[], Made], one_in: int = 2) -> Made | None:
    return make() if happens(choices, one_in) else None


def several(choices: Choices, make: Callable[[], Made], least: int, most: int) -> list[Made]:
    return [make() for _ in range(choices.number(least, most))]


def some_of(choices: Choices, makers: dict[str, Callable[[], object]], one_in: int = 3) -> dict[str, object]:
    """Each key with its value, or not."""
    return {key: make() for key, make in makers.items() if happens(choices, one_in)}


def shuffled(choices: Choices, items: Sequence[Option]) -> list[Option]:
    left, order = list(items), []
    while left:
        order.append(left.pop(choices.number(0, len(left) - 1)))
    return order
