"""Task policies: which rule matches an output, and what its directive comes to."""

from collections.abc import Sequence
from typing import assert_never

import msgspec

from noetl.engine.binding import Evaluate, Places, Scope, Test, binder, guard
from noetl.engine.scopes import Setter, setter
from noetl.playbook.model import Backoff, Directive, Rule, Then

DELAY_MAX_S = 366 * 24 * 3600.0
"""No wait is longer than this, whatever a backoff comes to."""


class ReadyRule(msgspec.Struct, frozen=True):
    """A rule with its templates made ready. `position` is its turn among the rules of its list."""

    position: int
    path: str
    then: Then
    when: Test
    set: Setter
    delay: Evaluate


def ready_rules(rules: Sequence[Rule], path: str, places: Places) -> tuple[ReadyRule, ...]:
    return tuple(
        ReadyRule(
            position,
            f"{path}/{position}",
            rule.then,
            guard(rule.when, f"{path}/{position}/when", places),
            setter(rule.then.set, f"{path}/{position}/set", places),
            binder(rule.then.delay, f"{path}/{position}/delay", places),
        )
        for position, rule in enumerate(rules)
    )


def match(rules: Sequence[ReadyRule], scope: Scope) -> ReadyRule | None:
    """The first rule whose `when` is true. An `else` stands last and has none, so it always is."""
    return next((rule for rule in rules if rule.when(scope)), None)


def is_spent(then: Then, attempt: int) -> bool:
    """Whether a retry has no run left after this one; `attempts` counts the first run too."""
    return then.do is Directive.RETRY and attempt >= then.attempts


def delay_s(then: Then, base: float, attempt: int, draw: float) -> float:
    """Seconds before run `attempt + 1`. `draw` in [0, 1) was drawn by the shell and decides the jitter."""
    delay = base * _factor(then.backoff, attempt)
    longest = DELAY_MAX_S if then.max_delay is None else min(then.max_delay, DELAY_MAX_S)
    return max(0.0, min(delay + draw * (then.jitter or 0.0), longest))


def _factor(backoff: Backoff, attempt: int) -> float:
    match backoff:
        case Backoff.NONE | Backoff.FIXED:
            return 1.0
        case Backoff.LINEAR:
            return float(attempt)
        case Backoff.EXPONENTIAL:
            return 2.0 ** min(attempt - 1, 64)
        case _:
            assert_never(backoff)
