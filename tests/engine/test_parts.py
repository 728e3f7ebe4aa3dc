"""Data and records from the inside."""

import msgspec
import pytest

from noetl.engine.parts import parts_of, templates_in


class Record(msgspec.Struct, frozen=True):
    one: object
    two: object = None


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({"a": 1, "b": [2]}, [1, [2]]),
        ([1, {"a": 2}], [1, {"a": 2}]),
        ((1, 2), [1, 2]),
        (Record({"a": 1}), [{"a": 1}, None]),
        ("text", []),
        (7, []),
        (None, []),
    ],
)
def test_the_parts_of_a_value_are_those_directly_inside_it(value: object, parts: list[object]) -> None:
    assert list(parts_of(value)) == parts


def test_templates_are_found_however_deep_they_stand_and_other_texts_are_not() -> None:
    part = {"url": "{{ workload.url }}", "more": [Record("plain", ("{{ a }}", 7))], "{{ key }}": None}
    assert list(templates_in(part)) == ["{{ workload.url }}", "{{ a }}"]
