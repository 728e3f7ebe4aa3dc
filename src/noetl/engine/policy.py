"""Task policies: which rule matches an output, and what its directive comes to."""

from collections.abc import Sequence

import msgspec

from noetl.engine.binding import Evaluate, Places, Scope, Test, binder, guard
from noetl.engine.scopes import Setter, setter
from noetl.playbook.model import Backoff, Directive, Rule, Then

DELAY_MAX_S = 366 * 24 * 3600.0
"""No wait is longer than this, whatever a backoff comes to."""


class ReadyRule(msgspec.Struct, frozen=True):
    """A rule with its templates made ready. `position` is where it stands in the playbook."""

    position: int
    then: Then
    when: Test
    is_else: bool
    set: Setter
    delay: Evaluate


def ready_rules(rules: Sequence[Rule], path: str, places: Places) -> tuple[ReadyRule, ...]:
    return tuple(
        ReadyRule(
            position,
            rule.then,
            guard(rule.when, f"{path}/{position}/when", places),
            rule.is_else,
            setter(rule.then.set, f"{path}/{position}/set", places),
            binder(rule.then.delay, f"{path}/{position}/delay", places),
        )
        for position, rule in enumerate(rules)
    )


def match(rules: Sequence[ReadyRule], scope: Scope) -> ReadyRule | None:
    """The first rule whose `when` is true, else the `else`, else nothing."""
    fallback = None
    for rule in rules:
        if rule.is_else:
            fallback = fallback or rule
        elif rule.when(scope):
            return rule
    return fallback


def is_spent(then: Then, attempt: int) -> bool:
    """Whether a retry has no run left after this one; `attempts` counts the first run too."""
    return then.do is Directive.RETRY and attempt >= then.attempts


def delay_s(then: Then, base: float, attempt: int, draw: float) -> float:
    """Seconds before run `attempt + 1`. `draw` in [0, 1) was drawn by the shell and decides the jitter."""
    match then.backoff:
        case Backoff.NONE | Backoff.FIXED:
            delay = base
        case Backoff.LINEAR:
            delay = base * attempt
        case Backoff.EXPONENTIAL:
            delay = base * 2.0 ** min(attempt - 1, 64)
    delay = min(delay, then.max_delay if then.max_delay is not None else DELAY_MAX_S)
    return max(0.0, min(delay + draw * (then.jitter or 0.0), DELAY_MAX_S))
