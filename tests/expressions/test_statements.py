import pytest

from tests.expressions.values import failure, text_of

CONDITIONAL = "{% set b %}{% if i == 1 %}{% set y = 1 %}{% endif %}{{ y is defined }}{% endset %}"
SCOPE = {"x": "out", "list": [1, 2], "yes": True, "deep": {"a": 1}}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for x in list %}{{ x }}{% endfor %}{{ x }}", "12out"),
        ("{% for i in list %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "out1out2out"),
        ("{% if yes %}{% set x = 1 %}{% endif %}{{ x }}", "1"),
        ("{% if not yes %}{% set x = 1 %}{% endif %}{{ x }}", "out"),
        ("{% set x = 1 %}{% for i in list %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231"),
        (
            "{% for i in list %}{% for j in list %}{{ loop.index }}{% endfor %}{{ loop.last }}{% endfor %}",
            "12False12True",
        ),
        ("{% for i in list %}" + CONDITIONAL + "{{ b }}{% endfor %}", "TrueFalse"),
        ("{% for c in 'ab' %}{{ c }}{{ loop.revindex }}{% endfor %}", "a2b1"),
        ("{% for k in deep %}{{ k }}{{ loop.index0 }}{{ loop.first }}{% endfor %}", "a0True"),
        ("{% for i in list if i > 5 %}{% else %}{{ x }}{% endfor %}", "out"),
        ("{% set a, b = list %}{{ a }}{{ b }}", "12"),
        ("{% set a = deep %}{{ a.a }}{{ a['a'] }}{{ a.b is defined }}", "11False"),
        ("{% if no is defined %}{% elif yes %}2{% endif %}", "2"),
    ],
)
def test_names_live_where_their_statement_puts_them(template: str, text: str) -> None:
    assert text_of(template, SCOPE) == text


@pytest.mark.parametrize(
    ("template", "message", "place"),
    [
        ("{% for i in 5 %}{% endfor %}", "expected a list, found a number, in `5`", "5"),
        ("{% for a, b in list %}{% endfor %}", "expected a list of 2 to unpack, found a number", "list"),
        ("{% set a, b = [1] %}", "expected a list of 2 to unpack, found a list of 1", "{% set a, b = [1] %}"),
        ("{% if nope %}{% endif %}", "`nope` is undefined", "nope"),
        ("{% for i in list if nope %}{% endfor %}", "`nope` is undefined", "nope"),
        ("{% for i in list %}{{ loop.idx }}{% endfor %}", "`loop` has no key idx", "idx"),
        ("a {{ o }}", "an object (object) has no text, in `o`", "o"),
    ],
)
def test_a_statement_that_cannot_be_done_is_told(template: str, message: str, place: str) -> None:
    error = failure(template, {**SCOPE, "o": object()})
    assert error.message.startswith(message)
    assert template[error.start : error.end] == place
