import pytest

from noetl.cli.reports.text import LINE_CHARS_MAX, render
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.source.lines import Lines


def shown(text: str, start: int, end: int, hint: str | None = None) -> list[str]:
    lines = Lines(text)
    found = Diagnostic("NOE999", Severity.ERROR, "wrong", lines.span(start, end), hint)
    return render("a.yaml", lines, found).splitlines()


def test_the_place_the_line_and_a_caret_are_shown() -> None:
    assert shown("a: 1\nkey: value\n", 10, 15) == [
        "a.yaml:2:6: error: wrong [NOE999]",
        "    2 | key: value",
        "      |      ^~~~~",
    ]


@pytest.mark.parametrize(
    ("line", "caret"),
    [
        ("\tkey", "    ^~~"),
        ("日本key", "    ^~~"),
        ("🙂key", "  ^~~"),
        ("éé key", "   ^~~"),
    ],
)
def test_the_caret_stands_below_its_text_whatever_is_before(line: str, caret: str) -> None:
    at = line.index("key")
    assert shown(line, at, at + 3)[2] == f"      | {caret}"


def test_a_wide_text_has_a_wide_mark() -> None:
    assert shown("a: 日本", 3, 5)[2] == "      |    ^~~~"


def test_a_place_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    assert shown("a: one\n  two\n", 3, 12)[1:] == ["    1 | a: one", "      |    ^~~"]


def test_a_place_without_length_has_one_mark() -> None:
    assert shown("a: 1\n", 3, 3)[2] == "      |    ^"


def test_a_blank_line_is_not_shown() -> None:
    assert shown("\n\n", 0, 0) == ["a.yaml:1:1: error: wrong [NOE999]"]


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    text = "x" * 1000 + "HERE" + "y" * 1000
    _, line, caret = shown(text, 1000, 1004)
    assert len(line) == LINE_CHARS_MAX + len("    1 | ")
    assert line[caret.index("^") :].startswith("HERE")


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    lines = Lines("a: \x1b[31m\x07")
    found = Diagnostic("NOE999", Severity.ERROR, "wrong \x1b[2J", lines.span(3, 4), "not \x1b[2J")
    printed = render("a\x1b.yaml", lines, found)
    assert "\x1b" not in printed
    assert printed.count("\ufffd") == 5


def test_a_hint_may_have_several_lines() -> None:
    assert shown("a: 1\n", 0, 1, "write:\n  b: 1\n\nor nothing")[3:] == [
        "      = write:",
        "          b: 1",
        "",
        "        or nothing",
    ]
