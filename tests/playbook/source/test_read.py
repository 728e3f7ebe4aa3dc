"""Reading YAML: the tree, its positions, what is refused and where, and that nothing ever raises."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.edits import apply_edits
from noetl.playbook.source.read import (
    PROBLEMS_MAX,
    Mapping,
    Scalar,
    Sequence,
    Style,
    read_source,
)
from tests.playbook.trees import (
    BOOK,
    mutated_books,
    nodes_of,
    only_problem,
    plain_data,
    problems_of,
    read,
    root_of,
    scalars_of,
)

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
        # Lines that could not be read are blank to the parser: a block of lines goes over them.
        is_broken = any((node.line, node.column) <= place < (node.end_line, node.end_column) for place in known)
        if is_broken or raw.startswith("*") or raw.endswith(":"):
            continue
        if node.style in {Style.LITERAL, Style.FOLDED}:
            # An explicit indentation counts from the parent, which is not here.
            assert raw[1:2].isdigit() or yaml.load(raw, yaml.CBaseLoader) == node.text
        else:
            indented = re.sub("(\r\n|[\r\n\x85\u2028\u2029])", r"\1 ", raw)
            assert yaml.load(f"- {indented}", yaml.CBaseLoader) == [node.text]
