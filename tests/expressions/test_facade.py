"""Values of the host that stand for data and have members of their own."""

import pytest

from noetl.expressions.template import Facade, parse
from tests.expressions.values import holds, message_of, value_of


class Counted(Facade):
    """Data that also knows a `count`; as an output it has such data under `data`."""

    def __init__(self, data: object, count: int, *, is_output: bool = False) -> None:
        self.data, self.count, self.is_output = data, count, is_output

    def member(self, key: object) -> object:
        if self.is_output and isinstance(self.data, dict):
            return Counted({"data": self.data["data"]}[str(key)], self.count)
        return {"count": self.count}[str(key)]

    def whole(self) -> object:
        return self.data


ROWS = [{"id": 1}, {"id": 2}]
OUTPUT = {"data": ROWS, "status": "ok"}
SCOPE = {
    "rows": Counted(ROWS, 7),
    "page": Counted({"count": 1, "next": "b"}, 7),
    "text": Counted("abc", 7),
    "none": Counted([], 0),
    "output": Counted(OUTPUT, 7, is_output=True),
}


@pytest.mark.parametrize(
    "path", ["rows.count", "page.count", "text.count", "rows['count']", "output.data.count", "output['data'].count"]
)
def test_its_own_members_come_first(path: str) -> None:
    assert value_of(path, SCOPE) == 7
    assert holds(f"{path} == 7 and {path} is defined", SCOPE)


def test_the_members_of_the_data_are_there_too() -> None:
    assert value_of("rows[0].id", SCOPE) == 1
    assert value_of("rows[-1]['id']", SCOPE) == 2
    assert value_of("page.next", SCOPE) == "b"
    assert value_of("text[0]", SCOPE) == "a"
    assert value_of("output.data[1].id", SCOPE) == 2
    assert value_of("output.status", SCOPE) == "ok"
    assert value_of("page[[1]] | default(3)", SCOPE) == 3


def test_anything_else_is_done_with_the_data() -> None:
    assert value_of("rows", SCOPE) is ROWS
    assert value_of("output", SCOPE) is OUTPUT
    assert value_of("output.data", SCOPE) is ROWS
    assert value_of("output['data']", SCOPE) is ROWS
    assert value_of("[rows]", SCOPE) == [ROWS]
    assert value_of("output.data | length", SCOPE) == 2
    assert value_of("rows | map(attribute='id') | list", SCOPE) == [1, 2]
    assert value_of("rows[1:]", SCOPE) == [{"id": 2}]
    assert value_of("text ~ '!'", SCOPE) == "abc!"
    assert value_of("text.upper()", SCOPE) == "ABC"
    assert value_of("page == {'count': 1, 'next': 'b'}", SCOPE) is True
    assert holds("not none and rows", SCOPE)
    assert parse("{{ text }}{% for row in rows %} {{ row.id }}{% endfor %}").evaluate(SCOPE) == "abc 1 2"


def test_a_name_that_is_set_to_it_has_its_members() -> None:
    assert parse("{% set it = output.data %}{{ it.count }}{{ it[0].id }}{{ it }}").evaluate(SCOPE) == f"71{ROWS}"
    assert parse("{% set one, two = output.data %}{{ two.id }}").evaluate(SCOPE) == "2"


def test_a_missing_member_is_told_of_the_data() -> None:
    assert message_of("rows.nope", SCOPE) == "`rows` is a list of length 2 and has no nope"
    assert message_of("output['data'].nope", SCOPE) == "`output['data']` is a list of length 2 and has no nope"
    assert message_of("page.nxt", SCOPE) == "`page` has no key nxt; did you mean `next`? There is: count, next"
    assert not holds("rows.nope or rows.nope.more == 1", SCOPE)


def test_by_itself_it_stands_for_nothing() -> None:
    assert value_of("it", {"it": Facade()}) is None
    assert message_of("it.x", {"it": Facade()}) == "`it` is null and has no x"
