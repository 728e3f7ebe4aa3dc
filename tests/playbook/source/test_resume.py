"""A mistake of syntax costs the part it stands in; what stands around it is still read."""

import pytest

from noetl.playbook.source.nodes import Mapping, Scalar, Sequence
from noetl.playbook.source.read import read_source
from noetl.playbook.source.resume import TEXT_CHARS_MAX, VALUES_MAX

LIST = "a: 1\nlist:\n  - one: x\n  - two: {0}\n  - three: z\nlast: 9\n"


def messages(text: str) -> list[tuple[int, str]]:
    return [(problem.span.line, problem.message) for problem in read_source(text, "book.yaml")[1]]


def keys(text: str) -> list[str]:
    root = read_source(text, "book.yaml")[0].root
    assert root is not None
    return list(root.keys())


def items(text: str) -> list[str]:
    root = read_source(text, "book.yaml")[0].root
    assert root is not None
    found = root.get("list")
    assert isinstance(found, Sequence)
    return [key for item in found.items if isinstance(item, Mapping) for key in item.index]


BROKEN = ["[x", "{x: 1", "'x", '"x', "x: y", "@x", "{{ x }}/y", '"\\q"', "x\n   - y: 1", "x\n\ty: 1"]


@pytest.mark.parametrize("value", BROKEN)
def test_a_broken_item_is_left_out_and_the_others_are_read(value: str) -> None:
    text = LIST.format(value)
    source, problems = read_source(text, "book.yaml")
    assert [problem.kind for problem in problems] == ["syntax"]
    assert not source.complete
    assert source.lost == (f"  - two: {value}\n",)
    assert keys(text) == ["a", "list", "last"]
    assert items(text) == ["one", "three"]


def test_what_is_read_behind_a_mistake_has_its_place() -> None:
    root = read_source(LIST.format("[x"), "book.yaml")[0].root
    assert root is not None
    last = root.get("last")
    assert isinstance(last, Scalar)
    assert (last.line, last.column, last.value) == (6, 7, 9)


def test_each_broken_part_tells_its_first_mistake() -> None:
    text = "a: [1\nlist:\n- x: 'open\n- y: 1\n- z: @\nlast: 2: 3\n"
    assert [line for line, _ in messages(text)] == [1, 3, 5, 6]
    assert items(text) == ["y"]


def test_other_problems_of_all_parts_are_told_in_the_order_of_the_file() -> None:
    text = "a: 1\na: 2\nlist:\n- x: 1\n  x: 2\n  y: [\n- z: 1\n  z: 2\n"
    assert [(line, message[:8]) for line, message in messages(text)] == [
        (2, 'the key "'[:8]),
        (5, 'the key "'[:8]),
        (6, "the [ opened"[:8]),
        (8, 'the key "'[:8]),
    ]


def test_a_list_of_which_nothing_is_left_goes_with_its_key() -> None:
    assert keys("a: 1\nlist:\n- [\n- {\n") == ["a"]


def test_a_line_that_is_wrong_only_where_it_stands_is_left_out_too() -> None:
    text = "a: 1\nfoo\nb: 2\nbar\nc: 3\n"
    assert [line for line, _ in messages(text)] == [2, 4]
    assert keys(text) == ["a", "b", "c"]


def test_lines_that_are_wrong_where_they_stand_are_told_up_to_a_bound() -> None:
    text = "a: 1\n" + "".join(f"foo\nb{n}: 2\n" for n in range(500))
    assert 10 < len(messages(text)) < 100
    assert read_source(text, "book.yaml")[0].lost == ()


def test_broken_parts_are_told_up_to_a_bound() -> None:
    text = "".join(f"a{n}: @\n" for n in range(500))
    assert 50 < len(messages(text)) < 200
    assert read_source(text, "book.yaml")[0].lost == ()


def test_a_text_over_several_lines_is_not_cut_in_two() -> None:
    text = 'a: "one\nkey: two"\nb: [\nc: 1\n'
    assert messages(text) == [(3, "the [ opened here is never closed")]
    assert keys(text) == ["a", "c"]


def test_an_alias_of_what_is_lost_is_not_told() -> None:
    source, problems = read_source("a: &a [1\nb: *a\n", "book.yaml")
    assert [problem.span.line for problem in problems] == [1]
    assert source.lost == ()


def test_a_bound_behind_a_mistake_is_told_too() -> None:
    assert [line for line, _ in messages("a: [1\nb: " + "[" * 100 + "]" * 100)] == [1, 2]


def test_a_mistake_before_the_first_key_costs_everything() -> None:
    source, problems = read_source("%FOO\na: 1\nb: 2\n", "book.yaml")
    assert [problem.span.line for problem in problems] == [1]
    assert source.lost == ()


def test_a_byte_order_mark_moves_nothing() -> None:
    assert messages("\ufeffa: 1\nb: [\nc: '\n") == [
        (2, "the [ opened here is never closed"),
        (3, "the quote ' opened here is never closed"),
    ]


def test_windows_lines_are_cut_alike() -> None:
    assert items(LIST.format("[x").replace("\n", "\r\n")) == ["one", "three"]


LARGE = ("# " + "x" * TEXT_CHARS_MAX, f"d: [{'x, ' * (VALUES_MAX - 100)}]", f"d: [{'x, ' * VALUES_MAX}]")


@pytest.mark.parametrize("more", LARGE)
def test_in_a_large_text_only_the_first_mistake_is_told(more: str) -> None:
    text = f"{more}\na: 1\nb: [\nc: '\n"
    assert len(messages(text)) == 1
    assert read_source(text, "book.yaml")[0].lost == ()
