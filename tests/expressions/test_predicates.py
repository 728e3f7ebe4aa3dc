import pytest

from tests.expressions.values import holds, message_of, value_of

SCOPE = {"d": {"a": 1}, "l": [1], "s": "abc", "n": None}


@pytest.mark.parametrize(
    "expression",
    [
        "true is boolean",
        "1 is not boolean",
        "s is defined",
        "zzz is undefined",
        "zzz is not defined",
        "s is not undefined",
        "6 is divisibleby 3",
        "1 is eq 1",
        "1 is equalto 1",
        "2 is even",
        "false is false",
        "0 is not false",
        "1.5 is float",
        "2 is ge 2",
        "3 is greaterthan 2",
        "3 is gt 2",
        "1 is in l",
        "1 is integer",
        "true is not integer",
        "l is iterable",
        "1 is not iterable",
        "2 is le 2",
        "1 is lessthan 2",
        "1 is lt 2",
        "s is lower",
        "'A' is upper",
        "d is mapping",
        "1 is ne 2",
        "n is none",
        "1 is number",
        "3 is odd",
        "3.0 is odd",
        "1 is sameas 1",
        "1 is not sameas true",
        "l is sameas l",
        "l is not sameas [1]",
        "l is sequence",
        "s is string",
        "true is true",
        "1 is not true",
    ],
)
def test_a_test_holds(expression: str) -> None:
    assert value_of(expression, SCOPE) is True
    assert holds(expression, SCOPE)


def test_a_test_that_cannot_be_made_says_why() -> None:
    assert message_of("s is odd", SCOPE).startswith("expected a number, found text, in `s is odd`")
    assert message_of("1 is divisibleby 0").startswith("division by zero")
