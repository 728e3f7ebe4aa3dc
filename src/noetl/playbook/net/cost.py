"""The worst case of a pipeline, from its rules alone: runs of one task, runs in total, seconds spent waiting."""

from collections.abc import Mapping, Sequence
from math import inf, isinf
from typing import assert_never

import msgspec

from noetl.expressions.template import parse
from noetl.playbook.model import Backoff, Block, Directive, Step, Then
from noetl.playbook.net.cycles import components
from noetl.playbook.net.findings import Bound, BoundKind, WorstCase
from noetl.playbook.net.pipeline import Pipeline
from noetl.playbook.sugar import repetition

EXACT_ATTEMPTS_MAX = 1_000
"""Beyond so many attempts each further wait counts as long as the longest."""

_EXPONENT_MAX = 1_023
"""Two to a higher power is no floating-point number."""

Onward = Mapping[int, Sequence[int]]
"""The points that each point of a pipeline may lead to."""

Weights = Mapping[int, float]

_UNBOUNDED = Bound(BoundKind.UNBOUNDED)
_UNKNOWN = Bound(BoundKind.UNKNOWN)


def worst_case(owner: Step | Block, pipeline: Pipeline) -> WorstCase | None:
    """None where nothing is said: no task runs again."""
    retries = _retries(pipeline)
    if not retries and not pipeline.turns_back:
        return None
    onward = _onward(pipeline)
    order = components(onward, onward.__getitem__) if pipeline.turns_back else [[each] for each in reversed(onward)]
    repeated = {number for group in order for number in group if _is_circle(group, onward)}
    if not retries and not repeated:
        return None
    attempts = {number: max(then.attempts for then in thens) for number, thens in retries.items()}
    busiest = max(attempts, key=lambda number: (attempts[number], -number)) if attempts else min(repeated)
    net = _Net(onward, _before(onward) if repeated else {}, _counters(pipeline) if repeated else {})
    return WorstCase(
        owner=owner,
        task=pipeline.tasks[busiest // 2],
        attempts=attempts.get(busiest, 1),
        task_runs=net.bound(order, {number: float(attempts.get(number, 1)) for number in onward if number % 2}),
        wait_s=_waiting(net, order, retries),
        per_iteration=owner.loop is not None,
        repeats=bool(repeated),
    )


def _retries(pipeline: Pipeline) -> dict[int, list[Then]]:
    found: dict[int, list[Then]] = {}
    for number, turn in pipeline.turns():
        if turn.directive is Directive.RETRY and turn.rule is not None:
            found.setdefault(number, []).append(turn.rule.then)
    return found


def _onward(pipeline: Pipeline) -> dict[int, list[int]]:
    """From each point to the next, in order. A retry stays where it is: its attempts are counted instead."""
    onward: dict[int, list[int]] = {number: [] for number in sorted(pipeline.reached)}
    for number, turn in pipeline.turns():
        if turn.way.target in onward and turn.directive is not Directive.RETRY:
            onward[number].append(turn.way.target)
    return onward


def _is_circle(group: Sequence[int], onward: Onward) -> bool:
    return len(group) > 1 or group[0] in onward[group[0]]


def _before(onward: Onward) -> Onward:
    before: dict[int, list[int]] = {number: [] for number in onward}
    for number, targets in onward.items():
        for target in targets:
            before[target].append(number)
    return before


class _Counter(msgspec.Struct, frozen=True):
    """Lets by so many rounds, counted anew whenever `start` is passed."""

    rounds: int
    start: int


def _counters(pipeline: Pipeline) -> dict[int, _Counter]:
    """The points that count the rounds of a `while` or an `until`."""
    entries = {task.name: 2 * index for index, task in enumerate(pipeline.tasks)}
    found = ((entries[task.name], repetition(task)) for task in pipeline.tasks)
    return {
        number: _Counter(each.rounds, entries[each.start])
        for number, each in found
        if each is not None and each.start in entries
    }


class _Net(msgspec.Struct, frozen=True):
    """The points of a pipeline, and what bounds the circles among them."""

    onward: Onward
    before: Onward
    counters: Mapping[int, _Counter]

    def bound(self, order: list[list[int]], weights: Weights) -> Bound:
        """The most that one way through can weigh."""
        heaviest = self._heaviest(order, {0}, weights)
        return _UNBOUNDED if isinf(heaviest) else Bound(BoundKind.AT_MOST, heaviest)

    def _heaviest(self, order: list[list[int]], starts: set[int], weights: Weights) -> float:
        """The heaviest way from any start through points in groups, of which those that others lead to come first."""
        found: dict[int, float] = {}
        for group in order:
            is_circle = _is_circle(group, self.onward)
            own = self._rounds(set(group), starts, weights) if is_circle else weights.get(group[0], 0.0)
            later = (found[after] for number in group for after in self.onward[number] if after in found)
            found.update(dict.fromkeys(group, own + max(later, default=0.0)))
        return max((found[start] for start in starts), default=0.0)

    def _rounds(self, circle: set[int], starts: set[int], weights: Weights) -> float:
        """What a circle can weigh: the way to its counter, and then a round for each that this lets by."""
        if not any(weights.get(number) for number in circle):
            return 0.0
        counter = next(
            (each for each in circle & self.counters.keys() if self.counters[each].start not in circle), None
        )
        if counter is None:
            return inf
        rest = circle - {counter}
        entries = {each for each in rest if each in starts or not circle.issuperset(self.before[each])}
        first = self._within(rest, entries, weights)
        again = self._within(rest, rest.intersection(self.onward[counter]), weights)
        return first + self.counters[counter].rounds * again

    def _within(self, points: set[int], starts: set[int], weights: Weights) -> float:
        order = components(sorted(points), lambda number: [each for each in self.onward[number] if each in points])
        return self._heaviest(order, starts, weights)


def _waiting(net: _Net, order: list[list[int]], retries: Mapping[int, list[Then]]) -> Bound:
    waits: dict[int, float] = {}
    for number, thens in retries.items():
        wait = _wait(thens)
        if wait is None:
            return _UNKNOWN
        waits[number] = wait
    return net.bound(order, waits)


def _wait(thens: list[Then]) -> float | None:
    """The waits of one visit added up, the longest matching rule each time; None if one is a template."""
    delays = [_delay(then) for then in thens]
    if any(delay is None for delay in delays):
        return None
    last = max(then.attempts for then in thens) - 1
    exact = min(last, EXACT_ATTEMPTS_MAX)
    total = sum(_longest_before(thens, number) for number in range(1, exact + 1))
    return total + (last - exact) * _longest_before(thens, max(last, 1))


def _longest_before(thens: list[Then], number: int) -> float:
    """The longest wait after run `number`."""
    return max((_wait_after(then, number) for then in thens if then.attempts > number), default=0.0)


def _wait_after(then: Then, number: int) -> float:
    delay = (_delay(then) or 0.0) * _factor(then.backoff, number)
    if then.max_delay is not None:
        delay = min(delay, then.max_delay)
    return delay + (then.jitter or 0.0)


def _factor(backoff: Backoff, number: int) -> float:
    match backoff:
        case Backoff.NONE | Backoff.FIXED:
            return 1.0
        case Backoff.LINEAR:
            return float(number)
        case Backoff.EXPONENTIAL:
            return 2.0 ** min(number - 1, _EXPONENT_MAX)
        case other:
            assert_never(other)


def _delay(then: Then) -> float | None:
    if not isinstance(then.delay, str):
        return then.delay
    value = parse(then.delay).constant
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
