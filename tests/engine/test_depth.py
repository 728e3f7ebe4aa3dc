"""How deep data is, told without going down into it by recursion."""

import pytest

from noetl.engine.depth import is_too_deep
from noetl.engine.reference import encode_value


def nested(value: object, levels: int) -> object:
    for level in range(levels):
        value = [0, value] if level % 2 else {"a": value, "b": "[{[{"}
    return value


@pytest.mark.parametrize(
    ("value", "is_deep"),
    [
        (None, False),
        ("[" * 200, False),
        ([[] for _ in range(200)], False),
        ([{"a": [{}]} for _ in range(200)], False),
        (nested(1, 100), False),
        (nested(1, 101), True),
        ([*[[] for _ in range(200)], nested([], 99)], True),
        ([*[[] for _ in range(200)], nested(1, 99)], False),
    ],
)
def test_a_value_is_too_deep_when_more_than_a_hundred_levels_are_inside_one_another(
    value: object, is_deep: bool
) -> None:
    assert is_too_deep(value, encode_value(value)) is is_deep
