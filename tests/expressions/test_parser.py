import pytest

from noetl.expressions.cursor import DEPTH_MAX, NESTING_MAX
from noetl.expressions.template import parse
from tests.expressions.values import problem_of, problems_of, value_of


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("2 ** 3 ** 2", 64),
        ("-2 ** 2", 4),
        ("-1 | abs", 1),
        ("- -1", 1),
        ("+1", 1),
        ("1 ~ 2 * 3", "16"),
        ("1 < 2 < 3", True),
        ("not 1 == 2", True),
        ("not not 1", True),
        ("1 in [1] and 2 not in (1,)", True),
        ("true or false and false", True),
        ("1 if false else 2 if false else 3", 3),
        ("'a' 'b' \"c\"", "abc"),
        ("()", []),
        ("(1)", 1),
        ("(1,)", [1]),
        ("1, 2", [1, 2]),
        ("1,", [1]),
        ("[1, 2,]", [1, 2]),
        ("{'a': 1, 'b': {}, }", {"a": 1, "b": {}}),
        ("[1, 2, 3][1:]", [2, 3]),
        ("[1, 2, 3][:1]", [1]),
        ("[1, 2, 3][::2]", [1, 3]),
        ("[1, 2, 3][0:2:1]", [1, 2]),
        ("[1, [2]].1.0", 2),
        ("{'a': {'b': 1}} . a . b", 1),
        ("{'a': {'b': 1}}.a.b", 1),
        ("{'if': 1} .if", 1),
        ("{'a': ' b '} .a.strip()", "b"),
        ("' b '.strip().upper()", "B"),
        ("[3, 1] | sort | first", 1),
        ("3 is odd and 4 is not odd", True),
        ("4 is divisibleby 2", True),
        ("4 is divisibleby(2)", True),
        ("1 is in [1]", True),
        ("'x' is defined if true else 1", True),
        ("1 is eq 1 or 2 is eq 1", True),
        ("range(3) | length is eq 3", True),
        ("'a' is string and true", True),
        ("none.x is defined", False),
        ("true.x.y is defined", False),
    ],
)
def test_an_expression_has_jinja2s_precedence(expression: str, value: object) -> None:
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ("{{ }}", "}}"),
        ("{{ 1 + }}", "}}"),
        ("{{ a b }}", "b"),
        ("{{ a = b }}", "="),
        ("{{ a || b }}", "|"),
        ("{{ a | }}", "}}"),
        ("{{ a is }}", "}}"),
        ("{{ a is odd is even }}", "is"),
        ("{{ a[] }}", "]"),
        ("{{ a[1 2] }}", "2"),
        ("{{ a[1:2:3:4] }}", "]"),
        ("{{ a. }}", "}}"),
        ("{{ a.'b' }}", "'b'"),
        ("{{ (1 }}", "}"),
        ("{{ {1} }}", "}"),
        ("{{ [1 2] }}", "2"),
        ("{{ 'a'.join(*x) }}", "*"),
        ("{{ range(a=1, 2) }}", "2"),
        ("{{ not }}", "}}"),
        ("{{ 1 + not 2 }}", "not"),
        ("{{ 010 }}", "010"),
        (r"{{ '\ud800' }}", r"'\ud800'"),
        ("{{ a not b }}", "b"),
        ("{{ else }}", "else"),
    ],
)
def test_a_syntax_error_points_at_the_word(template: str, place: str) -> None:
    assert problems_of(template) == [("syntax", place)]


@pytest.mark.parametrize(
    "template", ["{{ (a)() }}", "{{ a[0]() }}", "{{ (a | upper)() }}", "{{ a | upper()() }}", "{{ a | upper () () }}"]
)
def test_only_listed_things_can_be_called(template: str) -> None:
    assert [kind for kind, _ in problems_of(template)] == ["function"]


def test_the_message_says_what_was_expected_and_found() -> None:
    problem = problem_of("{{ a = b }}")
    assert problem.message == "expected an operator or the end of the tag, found `=`"
    assert problem.hint == "To compare write `==`."


@pytest.mark.parametrize(
    "expression",
    [
        "(" * (NESTING_MAX + 1) + "1" + ")" * (NESTING_MAX + 1),
        "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1),
        "not " * (NESTING_MAX + 1) + "a",
        "-" * (NESTING_MAX + 1) + "1",
        "1 if a else " * (NESTING_MAX + 1) + "1",
        " + ".join(["a"] * (DEPTH_MAX + 2)),
        "a" + "[0]" * (DEPTH_MAX + 1),
        "a" + " .b" * (DEPTH_MAX + 1),
        "true" + ".b" * (DEPTH_MAX + 1),
        "a" + ".0" * (DEPTH_MAX + 1),
        "a" + " | upper" * (DEPTH_MAX + 1),
        "a" + ".upper()" * (DEPTH_MAX + 1),
        "(" * 30 + "a" + " + (b * 2 ** 3 ~ 4) in c and d or e)" * 30,
    ],
)
def test_no_expression_is_too_deep_for_the_parser(expression: str) -> None:
    assert [kind for kind, _ in problems_of("{{ " + expression + " }}")] == ["bound"]


@pytest.mark.parametrize(
    "expression",
    [
        "[" + "1, " * 2000 + "]",
        " ~ ".join(["1"] * 1000),
        " and ".join(["1"] * 1000),
        " == ".join(["1"] * 500),
        "1 + " * 90 + "1",
    ],
)
def test_a_long_but_shallow_expression_is_fine(expression: str) -> None:
    template = parse("{{ " + expression + " }}")
    assert template.problems == ()
    assert template.test({}) is True


def test_offsets_count_the_brackets_around_an_operand() -> None:
    text = "{{ (a) | nothing + (b | nowhere) }}"
    assert problems_of(text) == [("filter", "nothing"), ("filter", "nowhere")]
