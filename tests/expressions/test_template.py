import pytest

from noetl.errors import TemplateError
from noetl.expressions.template import NOT_CONSTANT, PARSED_MAX, is_template, parse
from tests.expressions.values import failure, text_of


def test_parsing_the_same_text_gives_the_same_template() -> None:
    assert parse("{{ a }}") is parse("{{ a }}")


@pytest.mark.parametrize(
    ("text", "answer"), [("{{ a }}", True), ("{% if a %}", True), ("{# a #}", True), ("{ a }", False), ("", False)]
)
def test_a_template_is_text_with_a_tag(text: str, answer: bool) -> None:
    assert is_template(text) is answer


@pytest.mark.parametrize(
    ("text", "is_single", "is_guard"),
    [
        ("{{ a }}", True, True),
        ("{{ a }}\n", True, True),
        ("{{ a }}\r\n\n", True, True),
        ("{{- a -}}", True, True),
        (" {{ a }}", False, True),
        ("{{ a }} ", False, True),
        ("\n{{ a }}\n", False, True),
        ("{{ a }}{{ b }}", False, False),
        ("x {{ a }}", False, False),
        ("{% if a %}{% endif %}", False, False),
        ("{{ a }}{# b #}", False, False),
        ("plain", False, False),
        ("{{ a | nope }}", True, True),
        ("{{ a + }}", True, True),
    ],
)
def test_a_text_is_a_single_expression_or_a_guard_by_its_shape(text: str, is_single: bool, is_guard: bool) -> None:
    assert (parse(text).is_single, parse(text).is_guard) == (is_single, is_guard)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ n }}", 7),
        ("{{ n }}\n", 7),
        ("{{ none }}", None),
        ("{{ l }}", [1, {"a": None}]),
        (" {{ n }}", " 7"),
        ("{{ n }}{{ n }}", "77"),
        ("<{{ l }}>", "<[1, {'a': None}]>"),
        ("{{ s }}", "007"),
        ("{{ t }}", "{{ n }}"),
        ("{{ t }}!", "{{ n }}!"),
        ("{{ l | length == 2 }} {{ none }} {{ 1.0 }}", "True None 1.0"),
        ("plain", "plain"),
    ],
)
def test_one_expression_keeps_its_type_and_text_stays_text(text: str, value: object) -> None:
    assert text_of(text, {"n": 7, "l": [1, {"a": None}], "s": "007", "t": "{{ n }}"}) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ true }}", True),
        (" {{ 1 + 1 }} ", 2),
        ("{{ range(3) | sum }}", 3),
        ("{{ none }}", None),
        ("{{ a }}", NOT_CONSTANT),
        ("{{ 1 / 0 }}", NOT_CONSTANT),
        ("{{ 1 | nope }}", NOT_CONSTANT),
        ("true", NOT_CONSTANT),
        ("x{{ true }}", NOT_CONSTANT),
    ],
)
def test_an_expression_without_names_is_constant(text: str, value: object) -> None:
    template = parse(text)
    assert template.constant == value
    assert template.constant is template.constant


def test_the_mark_for_no_constant_reads_as_its_name() -> None:
    assert repr(NOT_CONSTANT) == "NOT_CONSTANT"


def test_a_template_with_problems_is_not_evaluated() -> None:
    error = failure("{{ 1 | nope }}")
    assert (error.message, error.start, error.end) == ("no filter `nope`", 7, 11)


def test_the_expression_of_a_sound_guard_can_be_read() -> None:
    expression = parse(" {{ a }}").expression
    assert expression is not None
    assert (expression.start, expression.end) == (4, 5)
    assert parse("{{ a | nope }}").expression is None
    assert parse("x {{ a }}").expression is None


def test_a_template_can_be_used_again() -> None:
    template = parse("{{ a + 1 }}")
    assert [template.evaluate({"a": number}) for number in range(3)] == [1, 2, 3]
    assert [template.test({"a": number}) for number in (-1, 0)] == [False, True]
    assert template.names is template.names


def test_only_a_guard_can_be_tested() -> None:
    with pytest.raises(TemplateError, match="exactly one"):
        parse("x {{ a }}").test({})


def test_an_error_names_the_expression_and_its_place() -> None:
    text = "sum: {{ 1 + (a ~ 'x') }}"
    error = failure(text, {"a": 1})
    assert error.message == "cannot add a number and text; join texts with `~`, in `1 + (a ~ 'x')`"
    assert text[error.start : error.end] == "1 + (a ~ 'x')"
    assert error.kind == "template"


def test_a_long_expression_is_shortened_in_its_message() -> None:
    assert failure("{{ 1 + '" + "x" * 200 + "' }}").message.endswith("...`")


def test_a_template_in_use_is_not_parsed_again_however_many_came_since() -> None:
    used = parse("{{ used }}")
    for number in range(PARSED_MAX):
        parse(f"{{{{ {number} }}}}")
    assert parse("{{ used }}") is used


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("{1: 'a'}", "a number"),
        ("{none: 1}", "null"),
        ("{'a': [{true: 1}]}", "a boolean"),
        ("{'a': {1: 2}}.a", "a number"),
        ("[{1: 2}][0]", "a number"),
    ],
)
def test_a_mapping_that_leaves_a_template_has_text_as_keys(expression: str, found: str) -> None:
    """JSON has no others: what is recorded would not be what was seen."""
    with pytest.raises(TemplateError, match=f"a mapping that leaves a template has text as keys, found {found}"):
        parse("{{ " + expression + " }}").evaluate({})


@pytest.mark.parametrize(
    ("expression", "value"), [("{1: 'a'}[1]", "a"), ("{200: 'ok'}.get(code)", "ok"), ("{1: 2} | length", 1)]
)
def test_inside_a_template_keys_may_be_numbers(expression: str, value: object) -> None:
    assert parse("{{ " + expression + " }}").evaluate({"code": 200}) == value
