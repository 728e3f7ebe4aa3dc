"""Places inside scalars of every style, and edits there that read back as they were meant."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.source.edits import apply_edits
from noetl.playbook.source.positions import DECODED_CHARS_MAX, locate, position, replace_in_scalar
from noetl.playbook.source.read import Scalar, Source, Style, read_source
from tests.playbook.trees import BOOK, mutated_books, read, scalar_of, scalars_of


def raw_of(text: str, part: str) -> str:
    """What stands in the file where `part` stands in the decoded value of `a`."""
    source = read(text)
    scalar = scalar_of(source, "a")
    start = scalar.text.index(part)
    found = locate(source, scalar, start, start + len(part))
    assert found.exact
    return source.text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "part", "raw"),
    [
        ("a: some text", "me t", "me t"),
        ("a: some\n  text", "some text", "some\n  text"),
        ("a: some\n  text", " ", "\n  "),
        ("a: some  \n\n  text", "\n", "\n"),
        ("a: some\r\n\r\n\r\n  text", "\n\n", "\r\n\r\n"),
        ("a: 'it''s so'", "'", "''"),
        ("a: 'it''s so'", "so", "so"),
        ("a: 'b\n  c'", "c", "c"),
        ("a: 'b \t c'", " \t ", " \t "),
        ('a: "\\x41b"', "A", "\\x41"),
        ('a: "\\u00e9\\U0001F600b"', "😀", "\\U0001F600"),
        ('a: "x\\ty"', "\t", "\\t"),
        ('a: "x\\\n   y z"', "y z", "y z"),
        ('a: "x\\\n\n   y"', "\ny", "\n   y"),
        ('a: "x\\\n  "', "x", "x"),
        ('a: "x\u2028  y"', "\u2028", "\u2028"),
        ("a: |\n  one\n   two\n", " two", " two"),
        ("a: |\n  one\n   two\n", "\n ", "\n   "),
        ("a: |2-\n    one\n", "  one", "  one"),
        ("a: |\n\n  \n  one\n", "one", "one"),
        ("a: >\n  one\n  two\n", " ", "\n"),
        ("a: >\n  one\n\n  two\n", "\n", "\n"),
        ("a: >\n  one\n\n    two\n\n  six\n", "\n\n  two", "\n\n    two"),
        ("a: >+\r\n  one\r\n\r\n", "one\n\n", "one\r\n\r\n"),
        ("a: |\n  one", "one", "one"),
    ],
)
def test_a_part_is_found_where_it_is_written(text: str, part: str, raw: str) -> None:
    assert raw_of(text, part) == raw


def test_a_place_has_its_lines_and_columns() -> None:
    source = read("x: 1\na: |\n  one\n  two\n")
    found = locate(source, scalar_of(source, "a"), 4, 7)
    assert found.span == Span(4, 3, 4, 6)
    assert position(source, found.start) == (4, 3)


def test_an_empty_range_lies_between_characters() -> None:
    source = read('a: "x\\ty"')
    scalar = scalar_of(source, "a")
    assert [locate(source, scalar, n, n).start for n in range(4)] == [4, 5, 7, 8]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("a: text", 2, 9),
        ("a: text", 3, 2),
        ("a: text", -1, 2),
        ("a: |+\n  \n\n", 0, 1),
        ("a: |\n\n", 0, 0),
        ('a: "\\\n  "', 0, 0),
    ],
)
def test_what_cannot_be_told_is_the_whole_scalar(text: str, start: int, end: int) -> None:
    source = read(text)
    scalar = scalar_of(source, "a")
    found = locate(source, scalar, start, end)
    assert (found.start, found.end, found.exact) == (scalar.start, scalar.end, False)
    assert replace_in_scalar(source, scalar, start, end, "x") is None


def test_a_very_long_scalar_that_has_to_be_decoded_is_located_as_a_whole() -> None:
    source = read(f"a: |\n  {'x' * DECODED_CHARS_MAX}\n")
    scalar = scalar_of(source, "a")
    assert locate(source, scalar, 0, 1).exact is False
    assert replace_in_scalar(source, scalar, 0, 1, "y") is None


@pytest.mark.serial
def test_many_places_in_one_long_scalar_are_found_in_linear_time() -> None:
    source = read("a: |\n" + "  word {{ name }}\n" * 3_000)
    scalar = scalar_of(source, "a")
    began = time.perf_counter()
    for start in range(0, len(scalar.text) - 10, len("word {{ name }}\n")):
        edit = replace_in_scalar(source, scalar, start + 8, start + 12, "ctx.name")
        assert edit is not None
        assert source.text[edit.start : edit.end] == "name"
    assert time.perf_counter() - began < 10


def test_the_alias_of_a_key_has_no_inner_places() -> None:
    source = read("x: &k ''\n*k : 1\nm: &n 'a\n  b'\n*n : 2\n")
    assert source.root is not None
    for name in ("", "a b"):
        key = source.root.key(name)
        assert key is not None
        assert not locate(source, key, 0, len(name)).exact


def test_a_template_read_without_quotes_on_two_lines_is_not_edited() -> None:
    source, _ = read_source("a: {{ x\n  }}\n", "book.yaml")
    scalar = scalar_of(source, "a")
    assert locate(source, scalar, 3, 4).span == Span(1, 7, 1, 8)
    assert replace_in_scalar(source, scalar, 3, 4, "y") is None


def edited(text: str, old: str, new: str) -> str | None:
    source = read(text)
    scalar = scalar_of(source, "a")
    start = scalar.text.index(old)
    edit = replace_in_scalar(source, scalar, start, start + len(old), new)
    return None if edit is None else apply_edits(text, [edit]).text


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a: some text", "text", "words", "a: some words"),
        ("a: some text", "text", "b: c", 'a: "some b: c"'),
        ("a: some text", "text", "#", 'a: "some #"'),
        ("a: some, text", "text", "[x", "a: some, [x"),
        ("a: text", "text", "12", 'a: "12"'),
        ("a: text", "text", "@x", 'a: "@x"'),
        ("a: text", "ext", "rue", 'a: "true"'),
        ("a: 12", "2", "3", "a: 13"),
        ("a: 12", "2", "x", None),
        ("a: text", "x", "\n", None),
        ("a: more\n  text", "text", "x", None),
        ("a: 'it''s'", "s", "'s", "a: 'it''''s'"),
        ("a: 'text'", "x", "\n", None),
        ("a: 'x\n  y'", " y", " ", "a: 'x '"),
        ("a: 'x\n  y'", "y", " y", None),
        ('a: "text"', "x", '"\\\n', 'a: "te\\"\\\\\\nt"'),
        ('a: "x y"', " ", "\0\x1b", 'a: "x\\0\\x1by"'),
        ('a: "x\n\ny"', "y", "---", None),
        ("a: |\n  one\n  two\n", "one", "1\n2", "a: |\n  1\n  2\n  two\n"),
        ("a: |\r\n  one\r\n", "one", "1\n2", "a: |\r\n  1\r\n  2\r\n"),
        ("a: |\n  one\n", "one", " one", None),
        ("a: |1\n  one\n", " one", "   two", "a: |1\n    two\n"),
        ("a: |\n  one\n", "one\n", "two\n", None),
        ("a: |\n  one\n", "one", "", None),
        ("a: |\n  one\n", "one", "\x07", None),
        ("a: >\n  one two\n", "two", "2 3", "a: >\n  one 2 3\n"),
        ("a: >\n  one two\n", " ", "\n", None),
        ("a: |-\n  one\n", "e", "e\n", None),
    ],
)
def test_a_part_is_replaced_in_the_style_of_its_scalar(text: str, old: str, new: str, result: str | None) -> None:
    assert edited(text, old, new) == result


def test_an_unquoted_template_is_quoted_by_its_edit() -> None:
    source, _ = read_source("a: {{ x }}\n", "book.yaml")
    assert replace_in_scalar(source, scalar_of(source, "a"), 3, 4, "y") == Edit(3, 10, '"{{ y }}"')


def check_places(source: Source, scalar: Scalar) -> None:
    """Every character is found, in order and without overlap, inside its scalar."""
    places = [locate(source, scalar, n, n + 1) for n in range(len(scalar.text))]
    ends = [scalar.start, *(place.end for place in places)]
    assert all(place.exact for place in places)
    assert all(end <= place.start < place.end for end, place in zip(ends, places, strict=False))
    assert all(place.end <= scalar.end for place in places)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_character_of_the_playbook_has_a_place(line_break: str) -> None:
    source = read(BOOK.replace("\n", line_break))
    scalars = scalars_of(source.root)
    assert {scalar.style for scalar in scalars} == set(Style)
    for scalar in scalars:
        check_places(source, scalar)


@given(mutated_books(), st.data())
def test_a_replacement_reads_back_as_it_was_meant(text: str, data: st.DataObject) -> None:
    source, problems = read_source(text, "book.yaml")
    scalars = scalars_of(source.root)
    if problems or not scalars:
        return
    index = data.draw(st.integers(0, len(scalars) - 1))
    scalar = scalars[index]
    start = data.draw(st.integers(0, len(scalar.text)))
    end = data.draw(st.integers(start, len(scalar.text)))
    new = data.draw(st.sampled_from(["x", "'", '"', "\\", "a: b", " ", "#", "\n", "{{ y }}", ",", "é\n z", "", "5"]))
    edit = replace_in_scalar(source, scalar, start, end, new)
    if edit is None:
        return
    again, others = read_source(apply_edits(text, [edit]).text, "book.yaml")
    assert all(problem.kind == "duplicate_key" for problem in others)
    if not others:
        assert scalars_of(again.root)[index].text == scalar.text[:start] + new + scalar.text[end:]
