import pytest

from noetl.errors import closest
from noetl.playbook.rules.spelling import COMPARISONS_MAX, NAMES_SHOWN_MAX, Spelling, is_safe, respell
from noetl.playbook.source.nodes import Mapping, Scalar
from tests.playbook.texts import document, said, whole, with_step, with_tool


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


@pytest.mark.parametrize(
    ("word", "candidate"),
    [
        ("c", "a"), ("set", "get"), ("od", "odd"), ("city", "ctx"), ("full", "url"), ("null", "url"), ("stop", "skip"),
        ("retries", "entry"), ("completely", "complex"),
    ],
)  # fmt: skip
def test_a_word_that_is_near_by_chance_is_not_suggested(word: str, candidate: str) -> None:
    assert closest(word, [candidate]) is None


@pytest.mark.parametrize(
    ("word", "candidate"),
    [("URL", "url"), ("rul", "url"), ("knd", "kind"), ("fech", "fetch"), ("wrokflw", "workflow"), ("CTX", "ctx")],
)
def test_a_likely_slip_is_suggested(word: str, candidate: str) -> None:
    assert closest(word, ["elsewhere", candidate]) == candidate


@pytest.mark.parametrize(("word", "near"), [("URL", "url"), ("fecth", "fetch"), ("custmer", "customer")])
def test_one_slip_in_a_word_of_some_length_is_mended_without_asking(word: str, near: str) -> None:
    assert is_safe(word, near)


@pytest.mark.parametrize(("word", "near"), [("lod", "load"), ("wrokflw", "workflow"), ("chapter2", "chapter1")])
def test_a_guess_is_not_mended_without_asking(word: str, near: str) -> None:
    assert not is_safe(word, near)


def test_a_misspelt_scope_word_is_mended_where_a_member_is_read() -> None:
    texts = [with_tool(f"kind: noop\nset: {{ ctx.x: '{{{{ {name} }}}}' }}") for name in ("ouput.data", "ouput")]
    assert [bool(found.fix) for text in texts for found in said(text, "NOE502")] == [True, False]


def test_an_arc_is_not_bent_to_its_own_step() -> None:
    text = "workflow: [ { step: fetch, tool: { kind: noop }, next: { arcs: [ { step: fetchh } ] } } ]\n"
    (found,) = said(whole(text), "NOE203")
    assert found.message.endswith('did you mean "fetch"?')
    assert found.fix == ()


@pytest.mark.parametrize("word", ["null", "NULL", "Null"])
def test_nothing_is_called_none(word: str) -> None:
    text = with_tool(f"kind: noop\nset: {{ ctx.x: '{{{{ output.error != {word} }}}}' }}")
    (found,) = said(text, "NOE502")
    assert found.message.endswith("; write `none`")
    assert [edit.text for edit in found.fix] == ["none"]


def test_a_directive_of_other_tools_is_a_suggestion_and_no_edit() -> None:
    text = with_tool("kind: noop\nspec: { policy: { rules: [ { else: { then: { do: stop } } } ] } }")
    (found,) = said(text, "NOE104")
    assert (found.hint, found.fix) == ("did you mean `fail`?", ())


def test_a_misspelt_scope_of_a_set_is_mended_only_when_its_case_is_wrong() -> None:
    texts = [with_step(f"tool: {{ kind: noop, set: {{ {target}: 1 }} }}") for target in ("CTX.a", "ctxx.a")]
    assert [bool(found.fix) for text in texts for found in said(text, "NOE401")] == [True, False]


def test_a_misspelt_keychain_entry_is_mended_only_when_that_is_safe() -> None:
    text = """
    keychain:
      - { name: token, kind: static }
    workflow:
      - step: a
        tool:
          kind: http
          input:
            url: http://127.0.0.1
            headers: { one: "{{ keychain.tokne }}", two: "{{ keychain.tkenn }}" }
    """
    fixes = [[edit.text for edit in found.fix] for found in said(whole(text), "NOE509")]
    assert fixes == [["token"], []]
