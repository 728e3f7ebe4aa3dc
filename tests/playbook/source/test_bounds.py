"""How deep, how long and how many: what is refused, where, how soon and in how little memory."""

import time
import tracemalloc

import pytest

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.bounds import ANCHORS_MAX
from noetl.playbook.source.encoding import WIDE_FILE_BYTES_MAX
from noetl.playbook.source.feeding import VALUE_BYTES_MAX
from noetl.playbook.source.nodes import Sequence
from noetl.playbook.source.read import DEPTH_MAX, FILE_BYTES_MAX, NODES_MAX, SCALAR_CHARS_MAX, read_source
from tests.playbook.trees import only_problem, problems_of, root_of


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
