"""Lines and columns against a plain reference, and on the borders of the blocks that are counted."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.lines import Lines

TEXTS = st.text(st.sampled_from("a\r\n\x85\u2028\U0001f600\t"), max_size=40)


def expected_starts(text: str) -> list[int]:
    first = 1 if text.startswith("\ufeff") else 0
    return [first, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]


def test_a_position_counts_from_one() -> None:
    lines = Lines("ab\ncd")
    assert [lines.position(offset) for offset in range(6)] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
def test_every_line_break_of_an_editor_ends_a_line(line_break: str) -> None:
    lines = Lines(f"ab{line_break}cd")
    assert lines.position(2 + len(line_break)) == (2, 1)
    assert lines.line_text(1) == "ab"
    assert lines.line_text(2) == "cd"
    assert lines.line_text(3) == ""


def test_a_character_that_only_yaml_takes_for_a_line_break_does_not_end_a_line() -> None:
    assert Lines("a\u2028b\x85c").position(4) == (1, 5)


def test_a_byte_order_mark_has_no_column() -> None:
    lines = Lines("\ufeffab\n")
    assert lines.position(0) == (1, 1)
    assert lines.position(1) == (1, 1)
    assert lines.line_text(1) == "ab"


def test_an_offset_outside_the_text_is_moved_to_its_border() -> None:
    assert Lines("ab").position(-5) == (1, 1)
    assert Lines("ab").position(50) == (1, 3)


def test_a_span_holds_both_ends() -> None:
    assert Lines("ab\ncd").span(1, 4) == Span(1, 2, 2, 2)


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 4093, 4094, 4095, 4096])
def test_positions_hold_across_the_borders_of_blocks(line_break: str, width: int) -> None:
    text = ("x" * width + line_break) * 3 + "y" * 9000 + line_break + "z"
    lines, starts = Lines(text), expected_starts(text)
    assert [lines.start(line + 1) for line in range(len(starts))] == starts
    assert [Lines(text).position(start) for start in starts] == [(n + 1, 1) for n in range(len(starts))]
    assert lines.line_text(len(starts)) == "z"


@given(TEXTS)
def test_every_offset_agrees_with_a_full_table(text: str) -> None:
    lines, starts = Lines(text), expected_starts(text)
    for offset in range(len(text) + 1):
        line = max(sum(start <= offset for start in starts), 1)
        assert lines.position(offset) == (line, max(offset - starts[line - 1], 0) + 1)
    assert [lines.start(line + 1) for line in range(len(starts))] == starts
