import pytest

from tests.expressions.values import message_of, value_of

SCOPE = {"big": 2**4000, "huge": 2**5000, "e": [], "d": {"a": 1}, "n": None, "s": "abc"}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2", 3),
        ("1 + 0", 1),
        ("1.5 + 1", 2.5),
        ("true + 1", 2),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("3 - 1.5", 1.5),
        ("2 * 3", 6),
        ("2 * 1.5", 3.0),
        ("'ab' * 2", "abab"),
        ("2 * 'ab'", "abab"),
        ("[1] * 2", [1, 1]),
        ("[1] * -1", []),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("7.5 // 2", 3.0),
        ("7 % 4", 3),
        ("7.5 % 2", 1.5),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("4 ** 0.5", 2.0),
        ("-3", -3),
        ("-(1.5)", -1.5),
        ("'%s-%s' % (1, 'a')", "1-a"),
        ("'a' ~ 1 ~ none ~ true ~ [1, 'x'] ~ {'k': 1.5}", "a1NoneTrue[1, 'x']{'k': 1.5}"),
    ],
)
def test_arithmetic_has_its_value(expression: str, value: object) -> None:
    assert value_of(expression) == value
    assert type(value_of(expression)) is type(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 == 1.0", True),
        ("1 == '1'", False),
        ("'a' != 'b'", True),
        ("[1, [2]] == [1, [2]]", True),
        ("[1] == [1, 2]", False),
        ("[1] == {'a': 1}", False),
        ("{'a': [1]} == {'a': [1]}", True),
        ("{'a': 1} == {'b': 1}", False),
        ("{'a': 1} == {'a': 1, 'b': 1}", False),
        ("[1, 2] == [1, 3]", False),
        ("{'a': 'x'} == {'a': 'y'}", False),
        ("{'a': 'x'} != {'a': 'y'}", True),
        ("d == {'a': 1}", True),
        ("e == n", False),
        ("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3", True),
        ("1 < s | length", True),
        ("s | length > 1", True),
        ("'a' < 'b'", True),
        ("'a' >= 'b'", False),
        ("s < s ~ 'd'", True),
        ("s <= s and s >= s", True),
        ("1 < 2 < 2", False),
        ("s == s", True),
        ("'b' in s", True),
        ("'a' in d", True),
        ("e in d", False),
        ("2 in [1, 2]", True),
        ("e in [1, e]", True),
        ("e in [1, 2]", False),
        ("s in [s]", True),
        ("e not in [s]", True),
        ("s in range(2)", False),
        ("e in [[1], []] + []", True),
        ("s not in [s] + ['abcd']", False),
        ("1 not in [1, 2]", False),
        ("n is none", True),
    ],
)
def test_a_comparison_has_its_value(expression: str, value: bool) -> None:
    assert value_of(expression, SCOPE) is value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 + 'a'", "cannot add a number and text; join texts with `~`"),
        ("1 + none", "cannot add a number and null"),
        ("d + d", "cannot add a mapping and a mapping"),
        ("'a' - 1", "cannot subtract text and a number"),
        ("e * e", "cannot multiply a list and a list"),
        ("1 / 'a'", "cannot divide a number and text"),
        ("n // 2", "cannot divide null and a number"),
        ("n % 2", "cannot divide null and a number"),
        ("d ** 2", "cannot raise to a power a mapping and a number"),
        ("1 / 0", "division by zero"),
        ("1 // 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1e308 * 10", "the number is too large"),
        ("10.0 ** 400", "the number is too large"),
        ("huge / 2", "the number is too large"),
        ("(-8) ** 0.5", "the result is not a real number"),
        ("2 ** 5000", "the power is a number of more than 4096 bits"),
        ("big * big", "the product is a number of more than 4096 bits"),
        ("huge ~ ''", "a number of more than 4096 bits"),
        ("-'a'", "cannot negate text"),
        ("+none", "cannot put a sign before null"),
        ("1 < 'a'", "cannot compare a number with text"),
        ("e < e", "cannot compare a list with a list"),
        ("n > 1", "cannot compare a number with null"),
        ("1 in 2", "cannot look for anything in a number"),
        ("1 in 'a'", "cannot look for a number in text"),
        ("1 < 2 < 'a'", "cannot compare a number with text"),
        ("1[0:1]", "cannot slice a number"),
        ("s['a':]", "the bounds of a slice are whole numbers, found text"),
        ("s[::0]", "the step of a slice is 0"),
        ("{e: 1}", "a key is text or a number, found a list"),
    ],
)
def test_an_operation_that_cannot_be_done_is_told(expression: str, message: str) -> None:
    assert message_of(expression, SCOPE).startswith(f"{message}, in `")


def test_slices_give_lists_and_texts() -> None:
    assert value_of("s[1:]", SCOPE) == "bc"
    assert value_of("t[:1]", {"t": (1, 2)}) == [1]


def test_a_tuple_of_the_host_is_a_list() -> None:
    assert value_of("t + [3]", {"t": (1, 2)}) == [1, 2, 3]
    assert value_of("t == [1, 2] and t * 2 == [1, 2, 1, 2]", {"t": (1, 2)}) is True


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'%d%%' % 5", "5%"),
        ("'%s' % 'a'", "a"),
        ("'%s %s' % [1, none]", "1 None"),
        ("'%(a)s %(a)05.1f' % {'a': 1.5}", "1.5 001.5"),
        ("'%-4s|%+d|%x|%o|%g|%e' % ('a', 1, 255, 8, 0.5, 1)", "a   |+1|ff|10|0.5|1.000000e+00"),
        ("'%s' % {'a': 1}", "{'a': 1}"),
        ("'none' % {'a': 1}", "none"),
        ("'%.2s' % 'abc'", "ab"),
    ],
)
def test_percent_formats(expression: str, value: str) -> None:
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'%s' % (1, 2)", "the format has fewer places than there are values"),
        ("'%s %s' % 1", "the format has more places than there are values"),
        ("'%(a)s' % 1", "the format names `a` but there is no mapping"),
        ("'%(b)s' % {'a': 1}", "the format names `b`, which is not there"),
        ("'%d' % 'a'", "`%d` formats a number, found text"),
        ("'%x' % 1.5", "`%x` formats a number, found a number"),
        ("'%r' % 1", "the format has `%r`"),
        ("'%' % 1", "the format has `%`"),
        ("'%*d' % (5, 1)", "the format has `%*`"),
        ("'%9999d' % 1", "the format asks for a width of more than 1000"),
        ("'%.99999999999f' % 1.5", "the format asks for a width of more than 1000"),
        ("'%d' % huge", "a number of more than 4096 bits"),
        ("'%f' % big", "the number cannot be formatted"),
    ],
)
def test_a_format_that_does_not_fit_is_told(expression: str, message: str) -> None:
    assert message_of(expression, SCOPE).startswith(message)
