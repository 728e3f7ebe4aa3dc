import pytest

from noetl.expressions.template import NameUse, Segment, parse


def roots(template: str) -> list[str]:
    return [use.root for use in parse(template).names]


def paths(template: str) -> list[str]:
    return [".".join((use.root, *(segment.name for segment in use.segments))) for use in parse(template).names]


def test_a_use_knows_where_its_words_stand() -> None:
    text = "{{ ctx.page['next'] }}"
    assert parse(text).names == (NameUse("ctx", (Segment("page", 7, 11), Segment("next", 12, 18)), 3, 6, False),)
    assert text[12:18] == "'next'"


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{{ a.b.c }}", ["a.b.c"]),
        ("{{ a .b['c'].d }}", ["a.b.c.d"]),
        ("{{ a[0].b }}", ["a"]),
        ("{{ a[b.c].d }}", ["a", "b.c"]),
        ("{{ a.b.items() }}", ["a.b"]),
        ("{{ (a or b).c }}", ["a", "b"]),
        ("{{ a + b * c }}", ["a", "b", "c"]),
        ("{{ -a ~ (not b) }}", ["a", "b"]),
        ("{{ a if b else c }}", ["a", "b", "c"]),
        ("{{ a if b }}", ["a", "b"]),
        ("{{ a[b:c:d] }}{{ a[:] }}", ["a", "b", "c", "d", "a"]),
        ("{{ {a: b} }} {{ [c, d] }}", ["a", "b", "c", "d"]),
        ("{{ a | replace(b, new=c) }}", ["a", "b", "c"]),
        ("{{ a is divisibleby(b) }}", ["a", "b"]),
        ("{{ range(a, stop=b) }}", ["a", "b"]),
        ("{{ a < b < c }}", ["a", "b", "c"]),
        ("{{ 'x'.y }}", []),
        ("text {{ a }} {% if b %}{{ c }}{% else %}{{ d }}{% endif %}", ["a", "b", "c", "d"]),
    ],
)
def test_every_name_is_found_in_the_order_of_the_text(template: str, found: list[str]) -> None:
    assert paths(template) == found


@pytest.mark.parametrize(
    ("template", "free"),
    [
        ("{% set x = x %}{{ x }}", ["x"]),
        ("{% set x %}{{ y }}{% endset %}{{ x }}", ["y"]),
        (
            "{% for x in xs if x > y %}{{ x }}{{ loop.index }}{{ z }}{% else %}{{ x }}{% endfor %}{{ x }}",
            ["xs", "y", "z", "x", "x"],
        ),
        ("{% for x in xs %}{% set y = 1 %}{{ y }}{% endfor %}{{ y }}", ["xs", "y"]),
        ("{% if a %}{% set x = 1 %}{% else %}{{ x }}{% endif %}{{ x }}", ["a", "x"]),
        ("{{ loop }}", ["loop"]),
    ],
)
def test_names_bound_by_statements_are_not_free(template: str, free: list[str]) -> None:
    assert roots(template) == free


@pytest.mark.parametrize(
    ("template", "defaulted"),
    [
        ("{{ a | default(b) }}", [True, False]),
        ("{{ a.b.c | d(1) }}", [True]),
        ("{{ (a.b)['c'] | d(1) }}", [True]),
        ("{{ a is defined }}", [True]),
        ("{{ a.b is not defined or a.b.c }}", [True, True]),
        ("{{ a.b is defined and a.c }}", [True, False]),
        ("{% if a is undefined %}{% else %}{{ a.x }}{{ b }}{% endif %}", [True, True, False]),
        ("{{ a | upper }}", [False]),
        ("{{ 1 is defined }}{{ a }}", [False]),
    ],
)
def test_a_use_is_defaulted_where_the_template_deals_with_its_absence(template: str, defaulted: list[bool]) -> None:
    assert [use.defaulted for use in parse(template).names] == defaulted
