"""What people get wrong in YAML: the place, the words, and the fix where there is one."""

import pytest

from noetl.playbook.source.conflicts import CONFLICTS_MAX
from noetl.playbook.source.edits import apply_edits
from noetl.playbook.source.nodes import SourceProblem
from noetl.playbook.source.read import read_source


def problem_of(text: str) -> SourceProblem:
    """The last problem, which is the one that ended the reading."""
    source, problems = read_source(text, "book.yaml")
    assert not source.complete
    return problems[-1]


def at(problem: SourceProblem) -> tuple[int, int]:
    return problem.span.line, problem.span.column


FIXED = [
    ("a: {{ x }}/y", 'a: "{{ x }}/y"', "an unquoted template"),
    ('a: {{ x["k"] }}  # note', "a: '{{ x[\"k\"] }}'  # note", "an unquoted template"),
    ("b:\n  - {{ x }} y\n", 'b:\n  - "{{ x }} y"\n', "an unquoted template"),
    ("a: {% if x %}y{% endif %}", 'a: "{% if x %}y{% endif %}"', "an unquoted template"),
    ("a: {# c #} b", 'a: "{# c #} b"', "an unquoted template"),
    ("a: [{{ x }}/b, c]", 'a: ["{{ x }}/b", c]', "an unquoted template"),
    ("a: {b: {{ x }}/y}", 'a: {b: "{{ x }}/y"}', "an unquoted template"),
    ("msg: note: this", 'msg: "note: this"', 'a second colon in the unquoted value of "msg"'),
    ("'k': b: c # d: e", "'k': \"b: c\" # d: e", "a second colon"),
    ("a: @x", 'a: "@x"', "a value cannot start with @"),
    ("a: `x`", 'a: "`x`"', "a value cannot start with `"),
    ("a: %x", 'a: "%x"', "a value cannot start with %"),
    ("a: *", 'a: "*"', "a value cannot start with *"),
    ("a: & b", 'a: "& b"', "a value cannot start with &"),
    ("a: !e!x y", 'a: "!e!x y"', "a value cannot start with !"),
    ("a: ? b", 'a: "? b"', "a value cannot start with ?"),
    ("a: ]", 'a: "]"', "a value cannot start with ]"),
    ("a: *nowhere to go", 'a: "*nowhere to go"', "alias *nowhere has no anchor"),
    ("a:1\nb: 2", "a: 1\nb: 2", "no space after the colon"),
    ("a:1\n# so\nc:3\nd: 4", "a: 1\n# so\nc: 3\nd: 4", "no space after the colon"),
    ("x:\n  -a\n  -b: c", "x:\n  - a\n  - b: c", "no space after the dash"),
    ('a: "\\d+"', 'a: "\\\\d+"', "\\d is no escape"),
    ('a: "C:\\Users"', 'a: "C:\\\\Users"', "\\U is not followed by the digits"),
    ('a: "\\ud800"', 'a: "\\\\ud800"', "\\u is not followed by the digits"),
    ("a:\n\xa0\xa0b: 1\nc: 2", "a:\n  b: 1\nc: 2", "a no-break space (U+00A0) in the indentation"),
    ("a:\n- b: 1\n \xa0c: 2", "a:\n- b: 1\n  c: 2", "a no-break space (U+00A0) in the indentation"),
    ("a:\n \u3000\u3000- b", "a:\n   - b", "an ideographic space (U+3000) in the indentation"),
    ("a: {\xa0b: 1}", "a: { b: 1}", "a no-break space (U+00A0) in the indentation"),
    ("\u200ba: 1", "a: 1", "a zero-width space (U+200B) in the indentation"),
    ("a:\xa01\nb: 2", "a: 1\nb: 2", "a no-break space (U+00A0) behind the colon"),
    ("a:\n-\u2003b: 1\n- c: 2", "a:\n- b: 1\n- c: 2", "a blank (U+2003) behind the dash"),
    ("a:\n-\tb: 1", "a:\n- b: 1", "found a tab; expected a space"),
    ("a:\n- loop { in: '{{ x }}', b: 1 }", "a:\n- loop: { in: '{{ x }}', b: 1 }", 'no colon between "loop" and {'),
    ("\ufeffa: b: c", '\ufeffa: "b: c"', "a second colon"),
]


@pytest.mark.parametrize(("text", "fixed", "message"), FIXED)
def test_a_mistake_with_one_cure_carries_it(text: str, fixed: str, message: str) -> None:
    problem = problem_of(text)
    assert message in problem.message
    assert problem.hint
    edits = [edit for found in read_source(text, "book.yaml")[1] for edit in found.fix]
    assert apply_edits(text, edits).text == fixed
    assert read_source(fixed, "book.yaml")[1] == []


EXPLAINED = [
    ("a:\n\tb: 1", (2, 1), "found a tab in the indentation"),
    ("a:\n  b: 1\n  \tc: 2", (3, 3), "found a tab in the indentation"),
    ("a: >\n\tx", (2, 1), "found a tab in the indentation"),
    ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x", (2, 1), "found <<<<<<<, a marker of a merge conflict"),
    ("a: '\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n'", (2, 1), "found <<<<<<<, a marker of a merge conflict"),
    ("a: 1\n=======\nb: 2", (2, 1), "found =======, a marker of a merge conflict"),
    ("a: 1\n>>>>>>> mine\nb: 2", (2, 1), "found >>>>>>>, a marker of a merge conflict"),
    ('a: "b\nc: d\n', (1, 4), 'the quote " opened here is never closed'),
    ("a: 'b\n---\nc'", (1, 4), "the quote ' opened here is never closed"),
    ("a: 'b\nc: 'd'\ne: 1", (1, 4), "the quote ' opened here is never closed"),
    ("x:\n  a: 'b\n  c: 'd'\n  e: 1", (2, 6), "the quote ' opened here ends only on line 3"),
    ("a: 'it's'", (1, 8), "found text behind the closing quote"),
    ('a: "x" y', (1, 8), "found text behind the closing quote"),
    ("a: {b: 1} x", (1, 11), "found text behind the closing }"),
    ("a: [1, 2\nb: 3", (1, 4), "the [ opened here is never closed"),
    ("a: {b: 1\n", (1, 4), "the { opened here is never closed"),
    ("a: [", (1, 4), "the [ opened here is never closed"),
    ("a: [1, 2}", (1, 9), "found }; expected , or ] for the [ on line 1"),
    ("a: {\n  b: 1\n  c: 2\n}", (3, 4), "found :; expected , or } for the { on line 1"),
    ("a: [x: y: z]", (1, 9), "found :; expected , or ] for the [ on line 1"),
    ("a: 1\n}\n", (2, 1), "a value cannot start with }"),
    ("a: {{ x", (1, 4), "an unquoted template that is not closed on its line"),
    ("a: 1\n  b: 2", (2, 3), 'a key below the value of "a" on line 1'),
    ("foo\nbar: 1", (1, 1), "line 1 has no colon"),
    ("a: 1\nfoo\nb: 2", (2, 1), 'found "foo"; expected "key: value"'),
    ("a: - b", (1, 4), "a list cannot start on the line of its key"),
    ("  a: 1\n b: 2", (2, 2), "this line is indented by 1; the lines above it by 2"),
    ("a:\n    b: 1\n  c: 2", (3, 3), "this line is indented by 2; the lines above it by 0 or 4"),
    ("a:\n  - b\n  c: d", (3, 3), "found a key; expected a list item"),
    ("a: b\n- c", (2, 1), "found a list item; expected a key"),
    ("a: |x", (1, 5), "found x behind |; expected the text to begin on the next line"),
    ("%FOO\na: 1", (1, 1), "a line that starts with % is a directive"),
    ("%YAML 2.0\n---\na: 1", (1, 1), "expected YAML 1.1 or 1.2"),
    ("--- a: b", (1, 1), "found a key on the line of ---"),
    ("a: 1\n...\nb", (3, 1), "the YAML parser stopped at b"),
    ("[a]: 1\n: 2", (2, 1), "a colon without a key before it"),
    ("a: " + "x " * 600 + ": y", (1, 1204), "the YAML parser stopped at :"),
    ("a: {b: c}\n\n" + "# more\n" * 300 + "  d: e", (303, 3), "the YAML parser stopped at d"),
]


@pytest.mark.parametrize(("text", "place", "message"), EXPLAINED)
def test_a_mistake_is_explained_at_its_place(text: str, place: tuple[int, int], message: str) -> None:
    problem = problem_of(text)
    assert problem.kind == "syntax"
    assert message in problem.message
    assert at(problem) == place
    assert problem.hint


@pytest.mark.parametrize("text", ["a: \xa0b", "- \xa0b", "a: b\n  \xa0c", "a: |\n  \xa0b", "\xe9: 1", "a: '\xa0b'"])
def test_an_odd_blank_may_stand_in_a_text(text: str) -> None:
    assert "syntax" not in [problem.kind for problem in read_source(text, "book.yaml")[1]]


def test_conflicts_are_told_each_and_nothing_else_is() -> None:
    conflict = "<<<<<<< HEAD\nb: [2\n=======\nb: 3\n>>>>>>> x\n"
    source, problems = read_source(f"a: 1\n{conflict}c: 1\n{conflict}", "book.yaml")
    assert [problem.span.line for problem in problems] == [2, 8]
    assert source.root is None
    assert len(read_source(conflict * (CONFLICTS_MAX + 1), "book.yaml")[1]) == CONFLICTS_MAX


@pytest.mark.parametrize("text", ["a: |\n  <<<<<<< HEAD\n  =======\n  >>>>>>> x", "a: <<<<<<< b", "# <<<<<<< x\na: b"])
def test_what_looks_like_a_conflict_may_stand_in_a_text(text: str) -> None:
    assert read_source(text, "book.yaml")[1] == []


def test_a_stray_character_on_a_line_of_its_own_is_not_quoted() -> None:
    assert problem_of("a: 1\n}\n").fix == ()


def test_the_entries_before_the_mistake_are_kept_where_nothing_else_can_be() -> None:
    source, problems = read_source("  a: 1\n  b: [x, y\n  c: 2\n", "book.yaml")
    assert len(problems) == 1
    assert source.root is not None
    assert list(source.root.keys()) == ["a", "b"]
    assert source.lost == ()


def test_a_template_that_breaks_its_line_is_told_once() -> None:
    _, problems = read_source("a: 1\na: 2\nb: {{ x }}/y\n", "book.yaml")
    assert [problem.kind for problem in problems] == ["duplicate_key", "syntax"]


def test_a_long_value_is_shown_in_part() -> None:
    hint = problem_of("a: {{ x }} " + "y" * 200).hint
    assert hint is not None
    assert len(hint) < 100
