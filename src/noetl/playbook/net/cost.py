"""The worst case of a pipeline, from its rules alone: runs of one task, runs in total, seconds spent waiting."""

from collections.abc import Mapping, Sequence
from math import isinf
from typing import assert_never

from noetl.expressions.template import parse
from noetl.playbook.model import Backoff, Block, Directive, Step, Then
from noetl.playbook.net.cycles import components
from noetl.playbook.net.findings import Bound, BoundKind, WorstCase
from noetl.playbook.net.pipeline import Pipeline

EXACT_ATTEMPTS_MAX = 1_000
"""Beyond so many attempts each further wait counts as long as the longest."""

_EXPONENT_MAX = 1_023
"""Two to a higher power is no floating-point number."""

Onward = Mapping[int, Sequence[int]]
"""The points that each point of a pipeline may lead to."""

_UNBOUNDED = Bound(BoundKind.UNBOUNDED)
_UNKNOWN = Bound(BoundKind.UNKNOWN)


def worst_case(owner: Step | Block, pipeline: Pipeline) -> WorstCase | None:
    """None where nothing is said: no task runs again."""
    retries = _retries(pipeline)
    if not retries and not pipeline.turns_back:
        return None
    onward = _onward(pipeline)
    order = components(onward, onward.__getitem__) if pipeline.turns_back else [[each] for each in reversed(onward)]
    repeated = {number for group in order for number in group if len(group) > 1 or number in onward[number]}
    if not retries and not repeated:
        return None
    attempts = {number: max(then.attempts for then in thens) for number, thens in retries.items()}
    busiest = max(attempts, key=lambda number: (attempts[number], -number)) if attempts else min(repeated)
    return WorstCase(
        owner=owner,
        task=pipeline.tasks[busiest // 2],
        attempts=attempts.get(busiest, 1),
        task_runs=_UNBOUNDED if repeated else _task_runs(onward, order, attempts),
        wait_s=_waiting(onward, order, repeated, retries),
        per_iteration=owner.loop is not None,
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


def _task_runs(onward: Onward, order: list[list[int]], attempts: Mapping[int, int]) -> Bound:
    weights = {number: float(attempts.get(number, 1)) for number in onward if number % 2}
    return Bound(BoundKind.AT_MOST, _longest(onward, order, weights))


def _waiting(onward: Onward, order: list[list[int]], repeated: set[int], retries: Mapping[int, list[Then]]) -> Bound:
    waits: dict[int, float] = {}
    for number, thens in retries.items():
        wait = _wait(thens)
        if wait is None:
            return _UNKNOWN
        waits[number] = wait
    if any(waits.get(number, 0) for number in repeated):
        return _UNBOUNDED
    longest = _longest(onward, order, waits)
    return _UNBOUNDED if isinf(longest) else Bound(BoundKind.AT_MOST, longest)


def _longest(onward: Onward, order: list[list[int]], weights: Mapping[int, float]) -> float:
    """The heaviest way through, each group counted once."""
    heaviest: dict[int, float] = {}
    for group in order:
        own = sum(weights.get(number, 0.0) for number in group)
        later = (heaviest[after] for number in group for after in onward[number] if after not in group)
        heaviest.update(dict.fromkeys(group, own + max(later, default=0.0)))
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
            return 2.0 ** min(number - 1, _EXPONENT_MAX)
        case other:
            assert_never(other)


def _delay(then: Then) -> float | None:
    if not isinstance(then.delay, str):
        return then.delay
    value = parse(then.delay).constant
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
