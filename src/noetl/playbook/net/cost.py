"""The worst case of a pipeline, from its rules alone: runs of one task, runs in total, seconds spent waiting."""

from math import isinf

from noetl.expressions.template import parse
from noetl.playbook.model import Backoff, Block, Directive, Step, Then
from noetl.playbook.net.cycles import components
from noetl.playbook.net.findings import Bound, BoundKind, WorstCase
from noetl.playbook.net.pipeline import Pipeline

EXACT_ATTEMPTS_MAX = 1_000
"""Beyond so many attempts each further wait counts as long as the longest."""

_UNBOUNDED = Bound(BoundKind.UNBOUNDED)
_UNKNOWN = Bound(BoundKind.UNKNOWN)


def worst_case(owner: Step | Block, pipeline: Pipeline) -> WorstCase | None:
    """None where nothing is said: no task runs again."""
    retries = _retries(pipeline)
    attempts = {number: max(then.attempts for then in thens) for number, thens in retries.items()}
    repeats = pipeline.turns_back
    if not retries and not repeats:
        return None
    order = _order(pipeline)
    busiest = max(attempts, key=lambda number: (attempts[number], -number)) if attempts else _first(order)
    return WorstCase(
        owner=owner,
        task=pipeline.tasks[busiest // 2],
        attempts=attempts.get(busiest, 1),
        task_runs=_UNBOUNDED if repeats else _task_runs(pipeline, order, attempts),
        wait_s=_waiting(pipeline, order, retries),
        per_iteration=owner.loop is not None,
    )


def _retries(pipeline: Pipeline) -> dict[int, list[Then]]:
    found: dict[int, list[Then]] = {}
    for number, turn in pipeline.turns():
        if turn.directive is Directive.RETRY and turn.rule is not None:
            found.setdefault(number, []).append(turn.rule.then)
    return found


def _order(pipeline: Pipeline) -> list[list[int]]:
    """The points that may follow one another in a circle, grouped; groups that others lead to come first."""
    if not pipeline.turns_back:
        return [[number] for number in sorted(pipeline.reached, reverse=True)]
    return components(sorted(pipeline.reached), lambda number: _onward(pipeline, number))


def _onward(pipeline: Pipeline, number: int) -> list[int]:
    turns = [turn.way for turn in pipeline.points[number].turns if turn.way.taken.may]
    return [way.target for way in turns if way.target < pipeline.end and way.target != number]


def _first(order: list[list[int]]) -> int:
    return min(min(group) for group in order if len(group) > 1)


def _task_runs(pipeline: Pipeline, order: list[list[int]], attempts: dict[int, int]) -> Bound:
    weights = {number: float(attempts.get(number, 1)) for number in pipeline.reached if number % 2}
    return Bound(BoundKind.AT_MOST, _longest(pipeline, order, weights))


def _waiting(pipeline: Pipeline, order: list[list[int]], retries: dict[int, list[Then]]) -> Bound:
    waits: dict[int, float] = {}
    for number, thens in retries.items():
        wait = _wait(thens)
        if wait is None:
            return _UNKNOWN
        waits[number] = wait
    repeated = {number for group in order if len(group) > 1 for number in group}
    if any(waits.get(number, 0) for number in repeated):
        return _UNBOUNDED
    longest = _longest(pipeline, order, waits)
    return _UNBOUNDED if isinf(longest) else Bound(BoundKind.AT_MOST, longest)


def _longest(pipeline: Pipeline, order: list[list[int]], weights: dict[int, float]) -> float:
    """The heaviest way through, each group counted once."""
    heaviest: dict[int, float] = {}
    for group in order:
        own = sum(weights.get(number, 0.0) for number in group)
        later = (heaviest[after] for number in group for after in _onward(pipeline, number) if after not in group)
        total = own + max(later, default=0.0)
        heaviest.update(dict.fromkeys(group, total))
    return heaviest[0]


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
            return 2.0 ** min(number - 1, 1_000)


def _delay(then: Then) -> float | None:
    if not isinstance(then.delay, str):
        return then.delay
    value = parse(then.delay).constant
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
