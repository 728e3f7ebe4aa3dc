"""Durations as authors write them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.durations import DURATION_S_MAX, PATTERN, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("24h", 86_400),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        ("3600", 3_600),
        ("+3600", 3_600),
        ("0.5", 0.5),
    ],
)
def test_a_duration_is_numbers_with_units_or_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "soon", "24 h", "h", "24x", "1h30", "-1h", "++1h", "1e3", "1.h", ".5h", "1..5h", "٣h", "{{ a }}", "nan", "²s"],
)
def test_anything_else_is_none(text: str) -> None:
    assert seconds_of(text) is None


@pytest.mark.parametrize("text", ["0", "0s", "0h0m", f"{DURATION_S_MAX * 2:.0f}", "99999999999w"])
def test_a_duration_is_more_than_nothing_and_not_for_ever(text: str) -> None:
    assert seconds_of(text) is None


@given(st.text(alphabet="0159.smhdw -x", max_size=8))
def test_editors_take_what_we_take(text: str) -> None:
    found = seconds_of(text)
    if found is not None:
        assert re.fullmatch(PATTERN, text)
    elif re.fullmatch(PATTERN, text):
        assert not set(text) & set("123456789") or len(text) > 3
