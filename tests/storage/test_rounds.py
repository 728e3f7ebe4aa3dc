"""When a round begins, and which part comes next."""

import pytest

from noetl.storage.rounds import NEVER, Round, following

NOW = 1_790_000_000.0
EVERY_S = 86_400.0
YEAR_S = 365 * 86_400.0
PARTS = 4


def test_the_first_round_waits_for_its_time() -> None:
    assert following(None, PARTS, EVERY_S, NOW) == (None, Round(PARTS, NOW))


def test_a_round_takes_part_after_part_and_ends() -> None:
    found: Round | None = Round(PARTS, NOW - EVERY_S)
    parts = []
    for _ in range(PARTS + 1):
        part, found = following(found, PARTS, EVERY_S, NOW)
        parts.append(part)
    assert parts == [0, 1, 2, 3, None]
    assert found == Round(PARTS, NOW)


def test_a_round_that_began_a_while_ago_is_the_last_one_for_today() -> None:
    assert following(Round(PARTS, NOW - EVERY_S + 1), PARTS, EVERY_S, NOW) == (None, Round(PARTS, NOW - EVERY_S + 1))


def test_a_round_that_a_clock_began_which_was_ahead_is_not_waited_for() -> None:
    assert following(Round(PARTS, NOW + 4 * YEAR_S), PARTS, EVERY_S, NOW) == (0, Round(1, NOW))


@pytest.mark.parametrize("now", [NOW, NOW + 4 * YEAR_S])
def test_where_the_log_does_not_tell_all_that_it_needs_no_round_begins(now: float) -> None:
    stands = Round(1 << 30, NEVER)
    assert following(stands, PARTS, EVERY_S, now) == (None, stands)
