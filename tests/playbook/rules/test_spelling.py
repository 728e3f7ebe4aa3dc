from noetl.playbook.rules.spelling import COMPARISONS_MAX, NAMES_SHOWN_MAX, Spelling, respell
from noetl.playbook.source.nodes import Mapping, Scalar
from tests.playbook.texts import document, whole


def test_the_nearest_name_is_suggested() -> None:
    spelling = Spelling(["load", "fetch"])
    assert (spelling.nearest("lod"), spelling.nearest("elsewhere")) == ("load", None)


def test_a_file_full_of_mistakes_costs_a_bounded_number_of_comparisons() -> None:
    spelling = Spelling(["load", *(f"{number:09}" for number in range(COMPARISONS_MAX // 2 - 1))])
    assert [spelling.nearest("lod") for _ in range(3)] == ["load", "load", None]


def test_names_for_a_hint_are_few_and_each_once() -> None:
    assert Spelling(["a", "b", "a"]).shown == "a, b"
    assert Spelling([str(number) for number in range(NAMES_SHOWN_MAX + 1)]).shown.endswith("11, …")


def test_a_word_is_put_in_the_place_of_a_scalar_unless_that_is_a_block_of_lines() -> None:
    text = whole("workload: { a: 'b' }\nworkflow: [ { step: a, tool: { kind: noop } } ]\n")
    found = document(text).root.get("workload")
    assert isinstance(found, Mapping)
    node = found.get("a")
    assert isinstance(node, Scalar)
    (edit,) = respell(node, "c")
    assert text[edit.start : edit.end] == "'b'"
    block = document(whole("workload:\n  a: |\n    b\nworkflow: []\n")).root.get("workload")
    assert isinstance(block, Mapping)
    lines = block.get("a")
    assert isinstance(lines, Scalar)
    assert respell(lines, "c") == []
