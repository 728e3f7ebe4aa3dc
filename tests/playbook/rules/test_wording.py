import pytest

from noetl.playbook import shape
from noetl.playbook.grammar.root import METADATA
from noetl.playbook.rules.wording import WORDS_SHOWN_MAX, called, expected, found, head, listed
from noetl.playbook.shape import Type
from noetl.playbook.source.nodes import Mapping
from tests.playbook.texts import document, whole


def value(text: str) -> Mapping:
    body = f"workload: {text}\nworkflow: [ {{ step: a, tool: {{ kind: noop }} }} ]\n"
    node = document(whole(body)).root.get("workload")
    assert isinstance(node, Mapping)
    return node


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a list"),
        ("{ a: 1 }", "a mapping"),
        ("~", "nothing"),
        ("true", "true"),
        ("false", "false"),
        ("1.50", "the number 1.50"),
        ("'1'", 'the text "1"'),
        ("'{{ ctx.a }}'", 'the template "{{ ctx.a }}"'),
        ("x" * 100, f'the text "{"x" * 39}…"'),
    ],
)
def test_what_was_found_is_told_in_plain_words(text: str, said: str) -> None:
    node = value(f"{{ it: {text} }}").get("it")
    assert node is not None
    assert found(node) == said


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        (shape.Text(), "text"),
        (shape.Name(), "a name"),
        (shape.Flag(), "true or false"),
        (shape.Number(), "a number"),
        (shape.Number(integer=True, is_template=True), "a whole number or one {{ … }}"),
        (shape.Choice(("a", "b")), "one of a, b"),
        (shape.Guard(), "true, false or one {{ … }}"),
        (shape.Value(), "a value"),
        (shape.Values(), "a mapping"),
        (shape.Listing(shape.Text()), "a list"),
        (shape.Pipeline(), "a task or a list of tasks"),
        (shape.Either((shape.Number(), shape.Values())), "a number or a mapping"),
    ],
)
def test_what_was_expected_is_told_in_plain_words(type_: Type, said: str) -> None:
    assert expected(type_) == said


def test_a_thing_is_called_by_its_name_where_it_has_one() -> None:
    assert called(value("{ step: load }"), "step") == 'step "load"'
    assert called(value("{ name: get }"), "http task") == 'http task "get"'
    assert called(value("{ kind: noop }"), "noop task") == "the noop task"
    assert called(value("{ name: demo }"), METADATA.title) == "the metadata"


def test_a_long_list_of_words_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a"] * (WORDS_SHOWN_MAX + 1)).endswith("a, …")


def test_what_is_missing_is_shown_at_the_first_key() -> None:
    assert (head(value("{ a: 1, b: 2 }")).column, head(value("{}")).column) == (13, 11)
