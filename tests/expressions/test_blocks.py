import pytest

from noetl.expressions.blocks import BLOCKS_MAX, PROBLEMS_MAX, SOURCE_LENGTH_MAX
from noetl.expressions.template import parse
from tests.expressions.values import problem_of, problems_of, text_of

SCOPE = {"a": 1, "list": [1, 2, 3], "pairs": [["x", 1], ["y", 2]], "yes": True, "no": False}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a {{ a }} b", "a 1 b"),
        ("a {{- a -}} b", "a1b"),
        ("a {# note #} b", "a  b"),
        ("a {#- note -#} b", "ab"),
        ("a {#-#} b", "a b"),
        ("{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
        ("x {%- raw -%} {{ a }} {%- endraw -%} y", "x{{ a }}y"),
        ("{% if yes %}1{% else %}2{% endif %}", "1"),
        ("{% if no %}1{% elif a %}2{% else %}3{% endif %}", "2"),
        ("{% if no %}1{% endif %}", ""),
        ("{%+ if yes +%} 1 {%- endif %}", " 1"),
        ("{% for i in list %}{{ i }}{% endfor %}", "123"),
        ("{% for i in list if i > 1 %}{{ loop.index }}{{ loop.length }}{% endfor %}", "1222"),
        ("{% for i in [] %}x{% else %}none{% endfor %}", "none"),
        ("{% for k, v in pairs %}{{ k }}{{ v }}{% endfor %}", "x1y2"),
        ("{% for (k, v) in pairs %}{{ k }}{{ v }}{% endfor %}", "x1y2"),
        ("{% for k, v, in pairs %}{{ k }}{% endfor %}", "xy"),
        ("{% for i in 1, 2 %}{{ i }}{% endfor %}", "12"),
        ("{% for i in 1, 2, if i > 1 %}{{ i }}{% endfor %}", "2"),
        ("{% set b = a + 1 %}{{ b }}", "2"),
        ("{% set b, c = 1, 2 %}{{ b }}{{ c }}", "12"),
        ("{% set b %}<{{ a }}>{% endset %}{{ b }}", "<1>"),
        ("line {{ a }}\n", "line 1\n"),
        ("{{ a }} {}", "1 {}"),
    ],
)
def test_statements_make_text(template: str, text: str) -> None:
    assert text_of(template, SCOPE) == text


@pytest.mark.parametrize(
    ("template", "problems"),
    [
        ("{% if a %}", [("syntax", "{% if a %}")]),
        ("{% for a in b %}", [("syntax", "{% for a in b %}")]),
        ("{% set a %}", [("syntax", "{% set a %}")]),
        ("{% endif %}", [("syntax", "{% endif %}")]),
        ("{% if a %}{% endfor %}{% endif %}", [("syntax", "{% endfor %}")]),
        ("{% else %}", [("syntax", "{% else %}")]),
        ("{% for a in b %}{% elif c %}{% endfor %}", [("syntax", "{% elif c %}")]),
        ("{% set a %}{% else %}{% endset %}", [("syntax", "{% else %}")]),
        ("{% if a %}{% else %}{% elif b %}{% endif %}", [("syntax", "{% elif b %}")]),
        ("{% if a %}{% else b %}{% endif %}", [("syntax", "b")]),
        ("{% if a %}{% endif b %}", [("syntax", "b")]),
        ("{% if %}{% endif %}", [("syntax", "%}")]),
        ("{% if a == %}1{% elif == %}2{% endif %}{{ 1 + }}", [("syntax", "%}"), ("syntax", "=="), ("syntax", "}}")]),
        ("{% for a, in b %}{% endfor %}", [("syntax", "in")]),
        ("{% for in b %}{% endfor %}", [("syntax", "in")]),
        ("{% for true in b %}{% endfor %}", [("syntax", "true")]),
        ("{% for a.b in c %}{% endfor %}", [("syntax", "a.b")]),
        ("{% for a of c %}{% endfor %}", [("syntax", "of")]),
        ("{% for (a in c %}{% endfor %}", [("syntax", "}")]),
        ("{% for a in b recursive %}{% endfor %}", [("syntax", "recursive")]),
        ("{% set a.b = 1 %}", [("syntax", "a.b")]),
        ("{% set a 1 %}", [("syntax", "1")]),
        ("{# never", [("syntax", "{#")]),
        ("{% raw %}{{", [("syntax", "{% raw %}")]),
        ("{{ a", [("syntax", "{{")]),
        ("{{ a | nope }} {{ @ }} {{ b | nix }}", [("filter", "nope"), ("syntax", "@"), ("filter", "nix")]),
        ("{{ ' }} text", [("syntax", "'")]),
        ("{% %}", [("statement", "%}")]),
        ("{% raw x %}", [("statement", "raw")]),
    ],
)
def test_each_mistake_is_found_where_it_stands(template: str, problems: list[tuple[str, str]]) -> None:
    assert problems_of(template) == problems


@pytest.mark.parametrize(
    "word",
    [
        "macro",
        "include",
        "import",
        "from",
        "extends",
        "block",
        "call",
        "filter",
        "do",
        "autoescape",
        "with",
        "trans",
        "break",
    ],
)
def test_other_statements_are_refused_with_a_reason(word: str) -> None:
    problem = problem_of("{% " + word + " %}")
    assert problem.kind == "statement"
    assert problem.message == f"`{{% {word} %}}` is not part of playbook templates"
    assert problem.hint


def test_tags_are_nested_to_a_bound() -> None:
    def nested(count: int) -> str:
        return "{% if a %}" * count + "{% endif %}" * count

    assert problems_of(nested(BLOCKS_MAX)) == []
    assert [kind for kind, _ in problems_of(nested(BLOCKS_MAX + 5))] == ["bound"]


def test_a_template_is_no_longer_than_its_bound() -> None:
    assert [kind for kind, _ in problems_of("{{ a }}" + "x" * SOURCE_LENGTH_MAX)] == ["bound"]


def test_reading_stops_after_many_problems() -> None:
    assert len(parse("{{ }}" * (PROBLEMS_MAX + 10)).problems) == PROBLEMS_MAX
    assert len(parse("{{ a | nope }}" * (PROBLEMS_MAX + 10)).problems) == PROBLEMS_MAX
