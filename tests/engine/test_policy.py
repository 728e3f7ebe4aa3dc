"""Delays and attempts of a retry."""

import pytest

from noetl.engine.policy import DELAY_MAX_S, delay_s, is_spent
from noetl.playbook.model import Backoff, Directive, Then


def retry(backoff: Backoff = Backoff.NONE, **knobs: float) -> Then:
    return Then(Directive.RETRY, backoff=backoff, max_delay=knobs.get("max_delay"), jitter=knobs.get("jitter"))


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff.NONE, [2, 2, 2, 2]),
        (Backoff.FIXED, [2, 2, 2, 2]),
        (Backoff.LINEAR, [2, 4, 6, 8]),
        (Backoff.EXPONENTIAL, [2, 4, 8, 16]),
    ],
)
def test_the_delay_before_each_run_follows_the_backoff(backoff: Backoff, delays: list[float]) -> None:
    assert [delay_s(retry(backoff), 2.0, attempt, 0.0) for attempt in range(1, 5)] == delays


def test_a_delay_may_be_short_or_none() -> None:
    assert [delay_s(retry(), base, 1, 0.0) for base in (0.25, 0.0)] == [0.25, 0.0]


def test_no_delay_is_longer_than_max_delay_jitter_included() -> None:
    then = retry(Backoff.EXPONENTIAL, max_delay=10, jitter=5)
    assert [delay_s(then, 2.0, attempt, 0.5) for attempt in range(1, 5)] == [4.5, 6.5, 10, 10]


def test_no_delay_is_longer_than_a_year_whatever_it_comes_to() -> None:
    assert delay_s(retry(Backoff.EXPONENTIAL), 1e300, 10_000, 0.0) == DELAY_MAX_S
    assert delay_s(retry(max_delay=1e12), 1e12, 1, 0.0) == DELAY_MAX_S
    assert delay_s(retry(max_delay=-1), 5, 1, 0.0) == 0


def test_attempts_count_the_first_run() -> None:
    then = Then(Directive.RETRY, attempts=3)
    assert [is_spent(then, attempt) for attempt in (1, 2, 3)] == [False, False, True]
    assert not is_spent(Then(Directive.CONTINUE), 99)
