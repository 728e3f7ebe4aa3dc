"""The core schema of YAML 1.2, its two deviations, and quoting that reads back."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.source.scalars import Value, escape_double, quote, resolve_plain


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_null_has_five_spellings(text: str) -> None:
    assert resolve_plain(text) is None


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "false", "False", "FALSE"])
def test_booleans_have_three_spellings_each(text: str) -> None:
    assert resolve_plain(text) is (text.lower() == "true")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("12", 12),
        ("+12", 12),
        ("-12", -12),
        ("0o17", 15),
        ("0x1F", 31),
        ("0xff", 255),
        (str(2**64 - 1), 2**64 - 1),
        (str(-(2**63)), -(2**63)),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("0.25", 0.25),
        ("1e3", 1000.0),
        ("12e-1", 1.2),
        ("-1.5E+2", -150.0),
        (".inf", math.inf),
        ("+.INF", math.inf),
        ("-.Inf", -math.inf),
    ],
)
def test_numbers_are_read_as_numbers(text: str, value: Value) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_a_float(text: str) -> None:
    found = resolve_plain(text)
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text",
    [
        *("010", "007", "-01", "00", "01.5", "0o8", "0xg", "-0x1", "1_000", "12:30:45", "2024-01-01", "1.2.3"),
        *("on", "off", "yes", "no", "y", "True!", "nULL", ".", "-", "+", "e3", "1e", "text", "-.nan", "٣"),
        *(str(2**64), str(-(2**63) - 1), "0x" + "f" * 17, "1" * 401),
    ],
)
def test_anything_else_stays_text(text: str) -> None:
    assert resolve_plain(text) == text


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("{{ x }}", '"{{ x }}"'),
        ("it's", '"it\'s"'),
        ('say "hi"', "'say \"hi\"'"),
        ("it's \\", "'it''s \\'"),
        ("a\nb", '"a\\nb"'),
        ("a\x07\u2028", '"a\\x07\\u2028"'),
    ],
)
def test_quotes_are_chosen_for_few_escapes(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_text_reads_back(text: str) -> None:
    assert yaml.load(quote(text), yaml.CSafeLoader) == text
    assert yaml.load(f'"{escape_double(text)}"', yaml.CSafeLoader) == text
