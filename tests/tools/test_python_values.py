"""What a result becomes as JSON."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from noetl.tools.python.results import Unfit, encoded

ZONE = dt.timezone(dt.timedelta(hours=2))


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    at: dt.date


class Pair(NamedTuple):
    a: int
    b: dt.date


class Row(msgspec.Struct):
    a: object


class Scalar:
    """As numpy's: known by how it looks."""

    def __init__(self, value: object) -> None:
        self.value = value

    def tolist(self) -> object:
        return self.value


class Long:
    """As numpy's numbers with more digits than Python's: it gives itself."""

    def __init__(self, kind: str) -> None:
        self.dtype = self
        self.kind = kind

    def tolist(self) -> object:
        return self

    def __float__(self) -> float:
        return 1.5

    def __complex__(self) -> complex:
        return 1.5j


class Series:
    """As pandas': what is missing is NaN until it is replaced."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def isna(self) -> list[bool]:
        return [value != value for value in self.values]  # noqa: PLR0124

    def notna(self) -> list[bool]:
        return [not gap for gap in self.isna()]

    def astype(self, _kind: type) -> "Series":
        return self

    def where(self, kept: list[bool], other: object) -> "Series":
        return type(self)(*(value if keep else other for value, keep in zip(self.values, kept, strict=True)))

    def tolist(self) -> object:
        return list(self.values)


class Frame(Series):
    columns = ("a",)

    def to_dict(self, orient: str) -> object:
        assert orient == "records"
        return [{"a": value} for value in self.values]


class Categories(Series):
    """As pandas', which become numpy's array."""

    def astype(self, _kind: type) -> Any:
        return Scalar(list(self.values))


class Polars:
    columns = ("a",)

    def to_dicts(self) -> object:
        return [{"a": 1}]


class Listed:
    def to_list(self) -> object:
        return [1]


class Time:
    """As numpy's, which gives a bare number for times finer than those of Python."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def astype(self, dtype: str) -> "Time":
        return Time(dtype)

    def tolist(self) -> object:
        return dt.datetime(2026, 1, 2, tzinfo=ZONE) if self.dtype == "datetime64[us]" else 1


class NAType:
    """As pandas' missing value."""


class NoTime(dt.datetime):
    """As pandas' time that is none."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


def numbers() -> Iterator[int]:
    yield from (1, 2)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=ZONE), "2026-01-02T03:04:00+02:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1.5), 90.0),
        (NoTime(2026, 1, 2, tzinfo=ZONE), None),
        (decimal.Decimal("1.10"), "1.10"),
        (b"\xff\x00", "/wA="),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", 1, None}), ["b", 1, None]),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Point(1, dt.date(2026, 1, 2)), {"x": 1, "at": "2026-01-02"}),
        (Pair(1, dt.date(2026, 1, 2)), [1, "2026-01-02"]),
        (Row(Row(1)), {"a": {"a": 1}}),
        (Scalar(1.5), 1.5),
        (Scalar([1, 2]), [1, 2]),
        (Scalar([Long("f")]), [1.5]),
        (Frame(Scalar(1), float("nan")), [{"a": 1}, {"a": None}]),
        (Series(1.5, float("nan"), "x"), [1.5, None, "x"]),
        (Categories("a", "b"), ["a", "b"]),
        (Polars(), [{"a": 1}]),
        (Listed(), [1]),
        (Time("datetime64[ns]"), "2026-01-02T00:00:00+02:00"),
        (Time("datetime64[us]"), "2026-01-02T00:00:00+02:00"),
        (NAType(), None),
        (collections.deque([1]), [1]),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        ({"a": 1}.keys(), ["a"]),
        (range(3), [0, 1, 2]),
        (numbers(), [1, 2]),
        ({1: "a", None: "b", dt.date(2026, 1, 2): "c"}, {"1": "a", "null": "b", "2026-01-02": "c"}),
        (10**30, 10**30),
        ([1.5, True, "ä", {"b": None}, Scalar(2)], [1.5, True, "ä", {"b": None}, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_becomes_json_as_people_expect(value: object, data: object) -> None:
    assert json.loads(encoded({"value": value}, 10_000)) == {"value": data}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, float("inf")]}, "`result.a[1]` is inf"),
        ({"a": Scalar(float("nan"))}, "`result.a` is nan"),
        ({"a": object()}, "`result.a` is a object, which JSON cannot hold"),
        ({"a": Long("c")}, "`result.a` is a complex, which JSON cannot hold"),
        ({"a": len}, "`result.a` is a builtin_function_or_method"),
    ],
)
def test_what_json_cannot_hold_is_named_with_its_place(value: object, message: str) -> None:
    with pytest.raises(Unfit, match=r"^`result"):
        encoded(value, 10_000)
    with pytest.raises(Unfit) as caught:
        encoded(value, 10_000)
    assert str(caught.value).startswith(message)
