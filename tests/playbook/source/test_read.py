"""Reading YAML: the tree, its positions, what is refused and where, and that nothing ever raises."""

import re
import time
import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.bounds import ANCHORS_MAX
from noetl.playbook.source.edits import apply_edits
from noetl.playbook.source.encoding import WIDE_FILE_BYTES_MAX
from noetl.playbook.source.feeding import VALUE_BYTES_MAX
from noetl.playbook.source.read import (
    DEPTH_MAX,
    FILE_BYTES_MAX,
    NODES_MAX,
    PROBLEMS_MAX,
    SCALAR_CHARS_MAX,
    Mapping,
    Scalar,
    Sequence,
    SourceProblem,
    Style,
    read_source,
)
from tests.playbook.trees import BOOK, mutated_books, nodes_of, plain_data, read, root_of, scalars_of


def problems_of(text: str | bytes) -> list[SourceProblem]:
    return read_source(text, "book.yaml")[1]


def only_problem(text: str | bytes) -> SourceProblem:
    [problem] = problems_of(text)
    return problem


# The tree


def test_a_mapping_finds_values_keys_and_entries_by_name() -> None:
    root = root_of("a: 1\nb: [x]\n")
    value, key, entry = root.get("a"), root.key("b"), root.entry("b")
    assert isinstance(value, Scalar)
    assert value.value == 1
    assert key is not None
    assert key.span == Span(2, 1, 2, 2)
    assert entry is not None
    assert isinstance(entry.value, Sequence)
    assert entry.end == 11
    assert list(root.keys()) == ["a", "b"]


def test_a_missing_key_gives_nothing() -> None:
    root = root_of("a: 1")
    assert root.get("b") is None
    assert root.key("b") is None
    assert root.entry("b") is None


def test_every_style_is_kept() -> None:
    source = read("a: x\nb: 'x'\nc: \"x\"\nd: |\n  x\ne: >\n  x\n")
    values = [node for node in scalars_of(source.root) if node.text.startswith("x")]
    assert sorted(node.style for node in values) == sorted(Style)
    assert all(isinstance(node.value, str) for node in values)


def test_a_quoted_scalar_is_text_whatever_it_says() -> None:
    assert plain_data(root_of("a: '1'\nb: \"true\"\nc: ''\nd: |-\n  5\n")) == {
        "a": "1",
        "b": "true",
        "c": "",
        "d": "5",
    }


def test_the_whole_playbook_means_what_another_loader_says() -> None:
    assert plain_data(root_of(BOOK)) == yaml.load(BOOK, yaml.CSafeLoader)


def test_flow_and_block_collections_are_told_apart() -> None:
    root = root_of("a: {b: [x]}\nc:\n  - d: y\n")
    found = {node.start: node.flow for node in nodes_of(root) if not isinstance(node, Scalar)}
    assert found == {0: False, 3: True, 7: True, 17: False, 19: False}


def test_a_block_collection_ends_with_its_last_part() -> None:
    inner = root_of("a:\n  b:\n    - c\n\n# more\nd: e\n").get("a")
    assert inner is not None
    assert (inner.line, inner.column, inner.end_line, inner.end_column) == (2, 3, 3, 8)


def test_an_alias_is_the_very_node_of_its_anchor() -> None:
    root = root_of('a: &x [1, &y 2]\nb: *x\nc: *y\n"<<": *x\n')
    first = root.get("a")
    assert isinstance(first, Sequence)
    assert root.get("b") is first
    assert root.get("c") is first.items[1]
    assert root.get("<<") is first


def test_an_entry_knows_its_end_when_its_value_stands_elsewhere() -> None:
    entry = root_of("a: &x [1]\nb: *x\n").entry("b")
    assert entry is not None
    assert entry.end == 15


def test_an_alias_may_be_a_key_and_stands_where_it_is_written() -> None:
    root = root_of("a: &x name\n*x : 1\n")
    key = root.key("name")
    assert key is not None
    assert key.span == Span(2, 1, 2, 3)


def test_a_node_begins_behind_its_anchor() -> None:
    source = read("a: &x text\nb: &y\nc: &z # note\n  d: 1\ne: &w\n  [f]\n")
    root = source.root
    assert root is not None
    starts = [source.text[entry.value.start : entry.value.end] for entry in root.entries]
    assert starts == ["text", "", "d: 1", "[f]"]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_positions_count_characters_whatever_the_line_breaks(line_break: str, mark: str) -> None:
    text = mark + line_break.join(["😀: 'x", "", "  y'", "b:\t|", "  z", "c: 1", ""])
    source = read(text)
    found = {node.text: node.span for node in scalars_of(source.root)}
    assert found["😀"] == Span(1, 1, 1, 2)
    assert found["x\ny"] == Span(1, 4, 3, 5)
    assert found["z\n"] == Span(4, 4, 6, 1)
    assert found["1"] == Span(6, 4, 6, 5)
    assert source.text == text


def test_bytes_and_text_read_the_same() -> None:
    assert plain_data(root_of(BOOK)) == plain_data(read(BOOK.encode()).root or root_of("a: 1"))


# What is collected while the reading goes on


def test_a_duplicate_key_names_the_line_of_the_first_which_is_kept() -> None:
    source, problems = read_source("a: 1\nb: 2\na: {c: 3}\nd: {e: 1, e: 2}\n", "book.yaml")
    assert [(problem.kind, problem.span.line) for problem in problems] == [
        ("duplicate_key", 3),
        ("duplicate_key", 4),
    ]
    assert "line 1" in problems[0].message
    assert source.complete
    assert plain_data(source.root or root_of("a: 0")) == {"a": 1, "b": 2, "d": {"e": 1}}


@pytest.mark.parametrize(
    ("text", "what", "fixed"),
    [
        ("1: x", "a number", '"1": x'),
        ("1.5: x", "a number", '"1.5": x'),
        ("true: x", "a boolean", '"true": x'),
        ("~: x", "null", '"~": x'),
    ],
)
def test_a_key_that_is_no_text_is_taken_as_written(text: str, what: str, fixed: str) -> None:
    source, [problem] = read_source(text, "book.yaml")
    assert problem.kind == "key_type"
    assert what in problem.message
    assert apply_edits(text, problem.fix).text == fixed
    assert source.root is not None
    assert source.root.get(text.split(":", maxsplit=1)[0]) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("? [a]\n: b\nc: d", "the key is a list"),
        ("? {a: b}\n: b\nc: d", "the key is a mapping"),
        ("? {{a: b}: c }\n: b\nc: d", "the key is a mapping"),
        ("? \n: b\nc: d", "the key is missing"),
    ],
)
def test_a_key_that_cannot_be_text_is_left_out(text: str, message: str) -> None:
    source, problems = read_source(text, "book.yaml")
    assert message in problems[-1].message
    assert source.root is not None
    assert source.root.get("c") is not None


def test_an_unquoted_template_is_read_as_the_text_it_was_meant_to_be() -> None:
    text = "a: {{ x.y }}\nb:\n  - {{ f(1, *z, !t u) }}\n{{ k }}: 1\nc: [{{ d }}]\n"
    source, problems = read_source(text, "book.yaml")
    assert [problem.kind for problem in problems] == ["key_type"] * 4
    assert all("quote the template" in (problem.hint or "") for problem in problems)
    fixed = apply_edits(text, [edit for problem in problems for edit in problem.fix]).text
    assert plain_data(read(fixed).root or root_of("a: 0")) == plain_data(source.root or root_of("a: 0"))


def test_an_unquoted_template_on_several_lines_has_no_fix() -> None:
    problem = only_problem("a: {{ x\n  }}\n")
    assert problem.span == Span(1, 4, 2, 5)
    assert problem.fix == ()


@pytest.mark.parametrize("tag", ["!t", "!!str", "!", "!<tag:x>"])
def test_a_tag_is_refused_and_its_value_read_without_it(tag: str) -> None:
    source, [problem] = read_source(f"a: {tag} 5\nb: &x {tag}\n  - 1\n".replace(f"&x {tag}", "&x"), "book.yaml")
    assert problem.kind == "tag"
    assert tag in problem.message
    assert problem.span == Span(1, 4, 1, 4 + len(tag))
    assert plain_data(source.root or root_of("a: 0")) == {"a": 5, "b": [1]}


def test_tags_of_collections_are_found_too() -> None:
    assert [problem.span.line for problem in problems_of("a: !t [1]\nb: !t\n  c: 1\nd: &x !t {}\n")] == [1, 2, 4]


def test_the_tag_of_a_first_key_is_not_that_of_its_mapping() -> None:
    source, problems = read_source("a: &m # note\n  &k !<x,y> b: 1\nc: *k\n", "book.yaml")
    assert [problem.span for problem in problems] == [Span(2, 6, 2, 12)]
    assert plain_data(source.root or root_of("a: 0")) == {"a": {"b": 1}, "c": "b"}


def test_enough_problems_end_the_reading() -> None:
    source, problems = read_source("a: 1\n" * 100_000, "book.yaml")
    assert len(problems) == PROBLEMS_MAX + 1
    assert "the rest of the file was not read" in problems[-1].message
    assert not source.complete


# What ends the reading


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: *b", Span(1, 4, 1, 6), "alias *b has no anchor before it"),
        ("a: [*b, 1]", Span(1, 5, 1, 7), "alias *b has no anchor before it"),
        ("a: &b [*b]", Span(1, 8, 1, 10), "alias *b contains itself"),
        ("a: &b {c: [*b]}", Span(1, 12, 1, 14), "alias *b contains itself"),
        ("a: &b 1\nc: &b [*b]", Span(2, 8, 2, 10), "alias *b contains itself"),
    ],
)
def test_an_alias_needs_a_finished_anchor(text: str, place: Span, message: str) -> None:
    problem = only_problem(text)
    assert problem.kind == "alias"
    assert problem.message == message
    assert problem.span == place


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_expansion_is_bounded() -> None:
    problem = only_problem(laughs(30))
    assert problem.kind == "alias"
    assert problem.span.line == 6
    assert problems_of(laughs(3)) == []


def test_nesting_is_bounded_at_the_bracket_that_is_too_many() -> None:
    assert problems_of("a: " + "[" * (DEPTH_MAX - 1) + "]" * (DEPTH_MAX - 1)) == []
    problem = only_problem("a: " + "[" * 100_000)
    assert problem.kind == "depth"
    assert problem.span == Span(1, 3 + DEPTH_MAX, 1, 4 + DEPTH_MAX)


def test_nesting_through_aliases_is_bounded() -> None:
    chain = ["a0: &a0 [[[x]]]"] + [f"a{n}: &a{n} [[[*a{n - 1}]]]" for n in range(1, 40)]
    problem = only_problem("\n".join(chain))
    assert problem.kind == "depth"
    assert problem.span.line == 22


def test_tiny_values_in_many_collections_are_bounded() -> None:
    for text in ("a: [" + "[[[[x]]]]," * 500_000, "a:\n" + "- - - - - []\n" * 500_000):
        problem = only_problem(text)
        assert problem.kind == "size"
        assert "values up to here, and about" in problem.message


def test_values_that_become_tiny_later_are_bounded() -> None:
    wide, tight = "- {a: 'some words and more', b: 'other words'}\n", "- {a: [x], b: [y]}\n"
    problem = only_problem("a:\n" + wide * 9_000 + tight * 60_000)
    assert problem.kind == "size"
    assert 9_000 < problem.span.line < 25_000


def test_what_aliases_repeat_counts_with_the_values_behind_them() -> None:
    repeated = f"a: &a [{'x, ' * 9_000}]\nb: [{'*a, ' * 10}]\nc:\n"
    problem = only_problem(repeated + f"- [{'x, ' * 20}]\n" * 2_000)
    assert problem.kind == "size"
    assert "values up to here; expected at most" in problem.message


def test_a_stretch_of_tiny_values_is_no_reason_to_refuse_a_small_file() -> None:
    assert problems_of("a:\n" + "- {a: [x], b: [y]}\n" * 9_000 + "- some more words\n" * 1_000) == []


def test_a_large_playbook_is_read() -> None:
    steps = [
        f"  - step: step_{n}\n    tool: {{kind: noop}}\n    next: {{arcs: [{{step: end}}]}}\n" for n in range(10_000)
    ]
    root = root_of("workflow:\n" + "".join(steps))
    workflow = root.get("workflow")
    assert isinstance(workflow, Sequence)
    assert len(workflow.items) == 10_000
    assert NODES_MAX >= 1_000_000


def test_a_text_has_a_bounded_length() -> None:
    assert problems_of("a: " + "x" * SCALAR_CHARS_MAX) == []
    problem = only_problem("a: " + "x" * (SCALAR_CHARS_MAX + 1))
    assert problem.kind == "size"
    assert problem.span == Span(1, 4, 1, 5)


@pytest.mark.parametrize("data", [b"#" * (FILE_BYTES_MAX + 1), "#" * (FILE_BYTES_MAX + 1), "é" * FILE_BYTES_MAX])
def test_a_file_has_a_bounded_size(data: bytes | str) -> None:
    problem = only_problem(data)
    assert problem.kind == "size"
    assert f"{FILE_BYTES_MAX:,}" in problem.message


@pytest.mark.parametrize(
    ("before", "part", "place"),
    [
        ("a: 1\nb: ", "word ", (2, 4)),
        ("a: 1\nb: '", "word ", (2, 4)),
        ("a: 1\n", "# note\n", (2, 1)),
        ("", "long_key", (1, 1)),
    ],
)
def test_what_does_not_end_is_not_read_on(before: str, part: str, place: tuple[int, int]) -> None:
    problem = only_problem(before + part * (VALUE_BYTES_MAX // len(part) + 50_000))
    assert problem.kind == "size"
    assert f"{VALUE_BYTES_MAX:,} bytes follow without the end of a value" in problem.message
    assert (problem.span.line, problem.span.column) == place


def test_a_long_file_of_short_values_is_read() -> None:
    assert problems_of("a:\n" + f"- {'word ' * 500}\n" * 2_500) == []


def test_a_file_with_characters_that_take_more_memory_has_a_smaller_bound() -> None:
    head = "a: 1\n# \U0001f600"
    assert problems_of(head.ljust(WIDE_FILE_BYTES_MAX - 3, "x")) == []
    problem = only_problem(head.ljust(WIDE_FILE_BYTES_MAX, "x"))
    assert problem.kind == "size"
    assert "such as an emoji, on line 2" in problem.message
    assert f"{WIDE_FILE_BYTES_MAX:,}" in problem.message


def test_of_a_file_that_is_too_large_only_the_beginning_is_kept() -> None:
    source, _ = read_source(b"a: b\n" * FILE_BYTES_MAX, "book.yaml")
    assert source.text.startswith("a: b\n")
    assert len(source.text) < 100_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a: b\nc: d\n".encode("utf-16-le"), "looks like UTF-16"),
        ("a: b\nc: d\n".encode("utf-16-be"), "looks like UTF-16"),
        ("key: \u6328\u62f6\u6328\u62f6\u6328\u62f6\n".encode("utf-16-le"), "looks like UTF-16"),
        ("a: b\nc: d\n".encode("utf-32-le"), "looks like UTF-32"),
        ("a: b\nc: d\n".encode("utf-32-be"), "looks like UTF-32"),
        (b"\0\0\0\0", "a NUL character"),
        (b"\0", "a NUL character"),
        (b"a: some text\0\0\0 and more\n", "a NUL character"),
    ],
)
def test_a_wider_encoding_is_recognised_without_its_mark(data: bytes, message: str) -> None:
    source, [problem] = read_source(data, "book.yaml")
    assert message in problem.message
    assert source.text == ("" if "UTF" in message else data.decode())


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"a: b\nc: \xff\n", Span(2, 4, 2, 5), "byte 0xFF is not UTF-8"),
        ("é: ".encode() + b"\xc3", Span(1, 4, 1, 5), "byte 0xC3 is not UTF-8"),
        ("a: b".encode("utf-16"), Span(1, 1, 1, 1), "encoded in UTF-16"),
        (b"\xfe\xff\0a", Span(1, 1, 1, 1), "encoded in UTF-16"),
        ("a: b".encode("utf-32"), Span(1, 1, 1, 1), "encoded in UTF-32"),
        (b"\0\0\xfe\xff\0\0\0a", Span(1, 1, 1, 1), "encoded in UTF-32"),
        (b"a: b\nc: \0d\n", Span(2, 4, 2, 5), "a NUL character"),
        ("a: \x1b[0m", Span(1, 4, 1, 5), "U+001B"),
        ("a: \x84", Span(1, 4, 1, 5), "U+0084"),
        ("a: \ufeff", Span(1, 4, 1, 5), "U+FEFF"),
        ("\ufeff\ufeffa: b", Span(1, 1, 1, 2), "U+FEFF"),
        ("a: \ud800", Span(1, 4, 1, 5), "U+D800"),
    ],
)
def test_what_is_not_clean_utf8_is_refused(data: bytes | str, place: Span, message: str) -> None:
    source, [problem] = read_source(data, "book.yaml")
    assert problem.kind == "encoding"
    assert message in problem.message
    assert problem.span == place
    assert problem.hint
    assert source.root is None


def test_a_second_document_is_refused_where_it_starts() -> None:
    source, [problem] = read_source("---\na: 1\n---\nb: 2\n", "book.yaml")
    assert problem.kind == "documents"
    assert problem.span == Span(3, 1, 3, 4)
    assert plain_data(source.root or root_of("a: 0")) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "the file is empty", "apiVersion"),
        ("# nothing\n", "the file is empty", "apiVersion"),
        ("- a\n", "the file is a list", "apiVersion"),
        ("just words: none", "", ""),
        ("word", "the file is a single value", "apiVersion"),
        ("kind:Playbook", "the file is a single value", "space after the colon"),
        ("---\n", "the file is a single value", "apiVersion"),
    ],
)
def test_the_root_is_a_mapping(text: str, message: str, hint: str) -> None:
    source, problems = read_source(text, "book.yaml")
    assert [problem.kind for problem in problems] == (["empty"] if message else [])
    assert all(message in problem.message and hint in (problem.hint or "") for problem in problems)
    assert isinstance(source.root, Mapping) is not bool(message)


def test_many_tag_directives_are_refused_before_the_parser_compares_them() -> None:
    text = "".join(f"%TAG !t{n}! x\n" for n in range(1_000)) + "---\na: 1\n"
    problem = only_problem(text)
    assert problem.kind == "tag"
    assert problem.span == Span(1, 1, 1, 5)
    assert problems_of("%YAML 1.2\n%TAG !t! x\n---\na: 1\n") == []


# Laws


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_arbitrary_input_never_raises(data: bytes | str) -> None:
    source, problems = read_source(data, "book.yaml")
    assert problems or isinstance(source.root, Mapping)
    assert source.complete or problems


@given(mutated_books())
def test_a_mutated_playbook_never_raises_and_every_place_is_inside_it(text: str) -> None:
    source, problems = read_source(text, "book.yaml")
    assert problems or isinstance(source.root, Mapping)
    for node in nodes_of(source.root):
        assert 0 <= node.start <= node.end <= len(text)
    for problem in problems:
        assert apply_edits(text, problem.fix).refused == ()
        assert (problem.span.line, problem.span.column) >= (1, 1)


@given(mutated_books())
def test_the_place_of_a_scalar_holds_its_value(text: str) -> None:
    source, problems = read_source(text, "book.yaml")
    known = {(problem.span.line, problem.span.column) for problem in problems}
    for node in scalars_of(source.root):
        raw = text[node.start : node.end]
        if (node.line, node.column) in known or raw.startswith("*") or raw.endswith(":"):
            continue
        if node.style in {Style.LITERAL, Style.FOLDED}:
            # An explicit indentation counts from the parent, which is not here.
            assert raw[1:2].isdigit() or yaml.load(raw, yaml.CBaseLoader) == node.text
        else:
            indented = re.sub("(\r\n|[\r\n\x85\u2028\u2029])", r"\1 ", raw)
            assert yaml.load(f"- {indented}", yaml.CBaseLoader) == [node.text]


# Measurements


HOSTILE = {
    "brackets": "[" * 5_000_000,
    "lines of brackets": "a: " + "[\n" * 2_500_000,
    "dashes": "- " * 2_500_000,
    "a long key": "a" * 5_000_000 + ": b",
    "an open quote": 'a: "' + "x\n" * 2_500_000,
    "an open bracket": "a: [" + "\n" * 5_000_000,
    "a wide list": "a: [" + "x," * 2_500_000,
    "duplicates": "a: 1\n" * 1_000_000,
    "laughs": laughs(60),
    "directives": "".join(f"%TAG !t{n}! x\n" for n in range(300_000)),
    "documents": "---\n" * 1_000_000,
    "bytes": "\0" * 5_000_000,
}


@pytest.mark.serial
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon_and_in_little_memory(name: str) -> None:
    data = HOSTILE[name].encode()
    tracemalloc.start()
    started = time.process_time()
    _, problems = read_source(data, name)
    elapsed_s, peak_bytes = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problems
    assert elapsed_s < 5
    assert peak_bytes < 50_000_000


def test_more_anchors_than_anybody_writes_are_refused() -> None:
    text = "\n".join(f"- &a{number} x" for number in range(ANCHORS_MAX + 1))
    assert problems_of("a:\n" + text.removesuffix(f"\n- &a{ANCHORS_MAX} x")) == []
    (problem,) = problems_of("a:\n" + text)
    assert (problem.kind, problem.message) == ("alias", "more than 10,000 anchors")
    assert problem.span.line == ANCHORS_MAX + 2


@pytest.mark.parametrize("text", ["[" + "1," * 50_000 + "]", "{" + ",".join(f"k{n}: 1" for n in range(30_000)) + "}"])
def test_one_huge_collection_is_refused_long_before_the_file_ends(text: str) -> None:
    (problem,) = problems_of("a: " + text)
    assert (problem.kind, problem.message) == ("size", "a collection of more than 10,000 values")
    assert problem.span.column < len(text) * 9 // 10
