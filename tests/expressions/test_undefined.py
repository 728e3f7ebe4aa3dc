from types import MappingProxyType

import pytest

from noetl.errors import TemplateError
from noetl.expressions.template import parse
from tests.expressions.values import failure, holds, message_of, value_of

MANY = {f"key{number}": number for number in range(20)}
SCOPE = {
    "output": {"data": {"items": [1], "paging": {"next": None}}, "error": None, "status": "ok", 5: "five"},
    "n": 1,
    "l": [1, 2],
    "empty": {},
    "many": MANY,
}


@pytest.mark.parametrize(
    ("expression", "message", "place"),
    [
        ("outptu.data", "`outptu` is undefined; did you mean `output`? There is: output, n, l, empty, many", "outptu"),
        (
            "output.data.pagin.next",
            "`output.data` has no key pagin; did you mean `paging`? There is: items, paging",
            "pagin",
        ),
        ("output['data']['zz']", "`output['data']` has no key 'zz'. There is: items, paging", "'zz'"),
        ("output.error.kind", "`output.error` is null and has no kind", "kind"),
        ("output.a.b.c.d.e", "`output` has no key a. There is: data, error, status, 5", "a"),
        ("output.data.paging.next.x.y", "`output.data.paging.next` is null and has no x", "x"),
        ("n.x", "`n` is a number and has no x", "x"),
        ("l[7]", "`l` is a list of length 2 and has no 7", "7"),
        ("l.x", "`l` is a list of length 2 and has no x", "x"),
        ("'abc'.x", "`'abc'` is text of length 3 and has no x", "x"),
        ("'abc'[9]", "`'abc'` is text of length 3 and has no 9", "9"),
        ("empty.x", "`empty` has no key x: it is empty", "x"),
        (
            "many.kye1",
            "`many` has no key kye1; did you mean `key1`? There is: " + ", ".join(list(MANY)[:12]) + ", ...",
            "kye1",
        ),
        ("(1 if false)", "the condition is false and there is no `else`", "1 if false"),
        ("[] | first", "the list is empty, it has no first element, in `[] | first`", "[] | first"),
        ("(l).x.y", "`l` is a list of length 2 and has no x", "x"),
        ("(output.nope).x", "`output` has no key nope. There is: data, error, status, 5", "nope"),
    ],
)
def test_the_first_missing_part_is_named(expression: str, message: str, place: str) -> None:
    text = "{{ " + expression + " }}"
    error = failure(text, SCOPE)
    assert error.message == message
    assert text[error.start : error.end] == place


@pytest.mark.parametrize(
    "expression",
    [
        "zz",
        "zz + 1",
        "1 + zz",
        "zz == 1",
        "1 == zz",
        "zz < 1 < 2",
        "zz in l",
        "n in [zz]",
        "zz ~ ''",
        "zz | upper",
        "zz | length",
        "zz is none",
        "zz and 1",
        "zz or 1",
        "not zz",
        "1 if zz else 2",
        "[zz]",
        "{'a': zz}",
        "{zz: 1}",
        "l[zz]",
        "l[zz:]",
        "zz.upper()",
        "'a'.replace('a', zz)",
        "range(zz)",
        "l | map(attribute=zz)",
        "l | map('default', zz)",
        "l | join(zz)",
        "-zz",
        "zz | map('upper')",
        "zz, 1",
        "1 is eq zz",
        "'%s' | format(x=zz)",
        "1 if false else zz",
    ],
)
def test_outside_a_guard_every_use_of_undefined_is_an_error(expression: str) -> None:
    assert message_of(expression, SCOPE).startswith("`zz` is undefined")


@pytest.mark.parametrize(
    "expression",
    [
        "zz",
        "zz.a.b.c",
        "zz == 1",
        "zz != 1",
        "1 == zz",
        "1 != zz",
        "zz < 1",
        "zz >= 1",
        "zz == zz",
        "zz != n",
        "n > zz",
        "1 < zz < 3",
        "zz in l",
        "zz not in l",
        "n in zz",
        "n not in zz",
        "zz in [1, n]",
        "zz not in [1, 2]",
        "3 in [zz, 4]",
        "zz in [zz]",
        "zz is none",
        "zz is not none",
        "zz is number",
        "zz is not number",
        "zz and n",
        "n and zz.x",
        "zz or output.nope",
        "zz or false or zz.b",
        "n and n and zz",
        "not (zz or n)",
        "zz if n else 1",
        "zz if n",
        "1 if zz",
        "(zz or false) and n",
        "l[9]",
        "output.error.kind == 'x'",
        "zz is defined",
        "n is undefined",
        "[] | first",
    ],
)
def test_in_a_guard_undefined_is_falsy_and_comparing_with_it_is_false(expression: str) -> None:
    assert holds(expression, SCOPE) is False


@pytest.mark.parametrize(
    "expression",
    [
        "not zz",
        "zz or n",
        "n in [zz, 1]",
        "not (zz == 1)",
        "zz is undefined",
        "zz is not defined",
        "2 if zz else n",
        "zz | default(1)",
        "l",
        "n or zz",
    ],
)
def test_in_a_guard_undefined_lets_the_rest_decide(expression: str) -> None:
    assert holds(expression, SCOPE) is True


@pytest.mark.parametrize(
    "expression",
    [
        "zz + 1",
        "-zz",
        "zz ~ 'a'",
        "zz | length > 0",
        "zz.upper()",
        "[zz] | length",
        "l[zz]",
        "(zz or zz.a) + 1",
        "(zz if n) + 1",
        "([zz] | first)",
    ],
)
def test_in_a_guard_calculating_with_undefined_is_an_error(expression: str) -> None:
    with pytest.raises(Exception, match="is undefined"):
        holds(expression, SCOPE)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("output.data.paging.hasMore.x | default(false)", False),
        ("(1 if false) | default(2)", 2),
        ("(output.zz)['a'].b | d(3)", 3),
        ("output.data.paging.next is defined", True),
        ("output[5]", "five"),
        ("output['data'].items[0]", 1),
        ("l[true]", 2),
        ("l[1.0] is defined", False),
        ("n[0] is defined", False),
        ("output[l] is defined", False),
        ("l[-1]", 2),
        ("'abc'[1]", "b"),
        ("output.data.paging.next.a.b.c | default(0)", 0),
    ],
)
def test_default_and_defined_work_through_a_chain(expression: str, value: object) -> None:
    assert value_of(expression, SCOPE) == value


def test_any_mapping_of_the_host_is_read_by_key() -> None:
    scope = MappingProxyType({"m": MappingProxyType({"items": MappingProxyType({"a": 1})})})
    assert value_of("m.items.a", scope) == 1
    assert value_of("m['items'].a + m.items | length", scope) == 2
    assert value_of("m.items == {'a': 1} and 'a' in m.items", scope) is True
    assert value_of("m ~ ''", scope) == "{'items': {'a': 1}}"
    assert value_of("[m]", scope) == [scope["m"]]


@pytest.mark.parametrize(
    "text",
    [
        "{{ status >= 500 }}",
        "{{ 500 <= status }}",
        "{{ status < limit }}",
        "{{ limit > status }}",
        "{{ 1 < status < 3 }}",
        "{{ status < 'a' }}",
    ],
)
def test_a_guard_may_ask_whether_null_is_more_or_less(text: str) -> None:
    scope = {"status": None, "limit": 3}
    assert parse(text).test(scope) is False
    with pytest.raises(TemplateError):
        parse(text).evaluate(scope)


def test_null_is_still_equal_to_null_and_found_in_lists_in_a_guard() -> None:
    scope = {"status": None}
    assert parse("{{ status == none and status in [none] and status != 500 }}").test(scope)


def test_only_what_can_be_written_as_a_name_is_told_where_a_name_is_undefined() -> None:
    message = failure("{{ zz }}", {"$mark": 1, "two-parts": 1, "one": 1}).message
    assert message == "`zz` is undefined. There is: one"
