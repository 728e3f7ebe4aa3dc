"""The net inside one pipeline: for each task an entry, where `before` decides, and a run, where the rules decide."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import assert_never

import msgspec

from noetl.playbook.model import Directive, OnUnmatched, Policy, Rule, Task
from noetl.playbook.net.choices import Choices, entering_choices, task_choices
from noetl.playbook.net.cycles import Spot, Way, reachable
from noetl.playbook.net.truth import Truth


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One way on from a point, with the rule that makes it; None where no rule does."""

    way: Way
    rule: Rule | None
    directive: Directive


class Point(msgspec.Struct, frozen=True, gc=False):
    """The entry (even number) or the run (odd number) of the task at number // 2. `errors` are the rows
    in which the tool gave an error."""

    choices: Choices
    turns: tuple[Turn, ...]
    spot: Spot
    errors: int


class Pipeline(msgspec.Struct, frozen=True, gc=False):
    """`reached` are the points that a run may come to. `end` and `failed` are the two targets outside."""

    tasks: tuple[Task, ...]
    points: tuple[Point, ...]
    reached: frozenset[int]

    @property
    def end(self) -> int:
        return len(self.points)

    @property
    def failed(self) -> int:
        return len(self.points) + 1

    @property
    def turns_back(self) -> bool:
        """Whether a run may come to a task again by a jump."""
        return any(turn.directive is Directive.JUMP and turn.way.target <= number for number, turn in self.turns())

    def turns(self) -> Iterator[tuple[int, Turn]]:
        """Every turn that a run may take, with the point it starts from."""
        for number in sorted(self.reached):
            for turn in self.points[number].turns:
                if turn.way.taken.may:
                    yield number, turn


def build_pipeline(tasks: tuple[Task, ...]) -> Pipeline:
    if all(task.policy is None for task in tasks):
        points, reached = _plain_points(len(tasks))
    else:
        points, reached = _points(tuple((task.name, task.policy) for task in tasks))
    return Pipeline(tasks, points, reached)


@lru_cache(maxsize=64)
def _plain_points(count: int) -> tuple[tuple[Point, ...], frozenset[int]]:
    """Most tasks have no policy, and then only their number counts."""
    return _points((("", None),) * count)


def _points(tasks: Sequence[tuple[str, Policy | None]]) -> tuple[tuple[Point, ...], frozenset[int]]:
    numbers = {name: 2 * index for index, (name, _) in reversed(list(enumerate(tasks)))}
    builder = _Builder(numbers, end=2 * len(tasks))
    points = tuple(point for index, (_, policy) in enumerate(tasks) for point in builder.points(index, policy))

    def onward(number: int) -> list[int]:
        turns = points[number].turns
        return [turn.way.target for turn in turns if turn.way.taken.may and turn.way.target < len(points)]

    return points, frozenset(reachable([0] if tasks else [], onward))


class _Builder:
    """Turns rules into ways. `numbers` are the entries by task name; `end` is the number of points."""

    def __init__(self, numbers: dict[str, int], end: int) -> None:
        self._numbers = numbers
        self._end = end
        self._failed = end + 1

    def points(self, index: int, policy: Policy | None) -> tuple[Point, Point]:
        return self._entry(2 * index, policy), self._run(2 * index + 1, policy)

    def _entry(self, number: int, policy: Policy | None) -> Point:
        rules = () if policy is None else policy.before
        choices = entering_choices(tuple(rule.when for rule in rules))
        turns = self._by_rules(number, rules, choices)
        turns.append(Turn(Way(number + 1, choices.none), None, Directive.CONTINUE))
        return Point(choices, tuple(turns), Spot(tuple(turn.way for turn in turns), choices.table.rows), 0)

    def _run(self, number: int, policy: Policy | None) -> Point:
        rules = () if policy is None else policy.rules
        choices = task_choices(tuple(rule.when for rule in rules))
        turns = self._by_rules(number, rules, choices)
        turns.extend(self._unmatched(number + 1, policy, choices))
        ok, errors = choices.table.cases
        return Point(choices, tuple(turns), Spot(tuple(turn.way for turn in turns), ok), errors)

    def _by_rules(self, number: int, rules: Sequence[Rule], choices: Choices) -> list[Turn]:
        turns = []
        for rule, taken in zip(rules, choices.taken, strict=True):
            turns.append(Turn(Way(self._target(number, rule), taken), rule, rule.then.do))
            if rule.then.do is Directive.RETRY:
                used_up = Way(self._failed, Truth(taken.may, 0))
                turns.append(Turn(used_up, rule, Directive.FAIL))
        return turns

    def _target(self, number: int, rule: Rule) -> int:
        match rule.then.do:
            case Directive.CONTINUE:
                return number + 1
            case Directive.SKIP:
                return number + 2 - number % 2
            case Directive.RETRY:
                return number
            case Directive.JUMP:
                return self._numbers.get(rule.then.to or "", self._failed)
            case Directive.BREAK:
                return self._end
            case Directive.FAIL:
                return self._failed
            case other:
                assert_never(other)

    def _unmatched(self, onward: int, policy: Policy | None, choices: Choices) -> list[Turn]:
        ok, errors = choices.table.cases
        none = choices.none
        if policy is None:
            return self._split(onward, Truth(ok, ok), Truth(errors, errors))
        if policy.on_unmatched is OnUnmatched.FAIL:
            return [Turn(Way(self._failed, none), None, Directive.FAIL)]
        if policy.rules:
            return [Turn(Way(onward, none), None, Directive.CONTINUE)]
        # After an error a policy with nothing but `before` may read either way, so neither is certain.
        return self._split(onward, Truth(ok | errors, ok), Truth(errors, 0))

    def _split(self, onward: int, goes_on: Truth, fails: Truth) -> list[Turn]:
        return [
            Turn(Way(onward, goes_on), None, Directive.CONTINUE),
            Turn(Way(self._failed, fails), None, Directive.FAIL),
        ]
