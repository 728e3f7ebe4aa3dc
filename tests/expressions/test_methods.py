import pytest

from noetl.expressions.methods import METHODS, REFUSED_METHODS
from tests.expressions.values import message_of, value_of

SCOPE = {"d": {"a": 1, "b": 2}, "l": [1, [2], 1], "s": "Ab cb", "items": {"items": 5}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("s.capitalize()", "Ab cb"),
        ("s.casefold()", "ab cb"),
        ("s.center(9, '-')", "--Ab cb--"),
        ("s.count('b')", 2),
        ("l.count(1)", 2),
        ("s.endswith('cb')", True),
        ("s.endswith(['x', 'cb'])", True),
        ("s.find('c')", 3),
        ("d.get('a')", 1),
        ("d.get('z')", None),
        ("d.get('z', 9)", 9),
        ("d.get(l, 9)", 9),
        ("l.index([2])", 1),
        ("s.index('b')", 1),
        ("'a1'.isalnum()", True),
        ("d.items()", [["a", 1], ["b", 2]]),
        ("items.items", 5),
        ("','.join(['a', 'b'])", "a,b"),
        ("d.keys()", ["a", "b"]),
        ("'a'.ljust(3)", "a  "),
        ("s.lower()", "ab cb"),
        ("' a '.lstrip()", "a "),
        ("s.partition(' ')", ["Ab", " ", "cb"]),
        ("s.removeprefix('A')", "b cb"),
        ("s.removesuffix('cb')", "Ab "),
        ("s.replace('b', 'x', 1)", "Ax cb"),
        ("s.rfind('b')", 4),
        ("'a'.rjust(3, '0')", "00a"),
        ("'a b c'.rpartition(' ')", ["a b", " ", "c"]),
        ("'a b c'.rsplit(' ', 1)", ["a b", "c"]),
        ("' a '.rstrip()", " a"),
        ("'a b'.split()", ["a", "b"]),
        ("'a\\nb'.splitlines()", ["a", "b"]),
        ("'a\\nb'.splitlines(true)", ["a\n", "b"]),
        ("s.startswith('A')", True),
        ("'xax'.strip('x')", "a"),
        ("s.title()", "Ab Cb"),
        ("s.upper()", "AB CB"),
        ("d.values()", [1, 2]),
        ("'7'.zfill(3)", "007"),
    ],
)
def test_a_method_has_its_value(expression: str, value: object) -> None:
    assert value_of(expression, SCOPE) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("d.upper()", "expected text, found a mapping"),
        ("s.get('a')", "expected a mapping, found text"),
        ("1 .keys()", "expected a mapping, found a number"),
        ("none.keys()", "expected a mapping, found null"),
        ("l.index(9)", "a list does not hold what index() looks for"),
        ("s.index('z')", "text does not hold what index() looks for"),
        ("s.center(9, 'ab')", "the fill character is one character"),
        ("s.startswith(1)", "expected text, found a number"),
        ("s.partition('')", "the separator is empty"),
        ("','.join([1])", "expected text, found a number"),
        ("dict(1)", "expected a mapping, found a number"),
        ("range(1, 5, 0)", "the step of a range is 0"),
        ("range(10 ** 30)", "the range is too long"),
        ("range('a')", "expected a whole number, found text"),
    ],
)
def test_a_call_that_cannot_be_made_says_why(expression: str, message: str) -> None:
    assert message_of(expression, SCOPE).startswith(message)


def test_functions_make_lists_and_mappings() -> None:
    assert value_of("range(1, 6, 2)") == [1, 3, 5]
    assert value_of("range(3)") == [0, 1, 2]
    assert value_of("dict(d, b=3, c=4)", SCOPE) == {"a": 1, "b": 3, "c": 4}
    assert value_of("dict(x=1)") == {"x": 1}
    assert value_of("dict()") == {}


def test_a_method_is_either_listed_or_refused() -> None:
    assert set(METHODS).isdisjoint(REFUSED_METHODS)
