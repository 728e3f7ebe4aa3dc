"""The operators: arithmetic, comparison and membership over data, each bounded before it starts."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

from noetl.expressions.printf import percent
from noetl.expressions.runtime import (
    INT_BITS_MAX,
    SCALARS,
    SCAN_SHIFT,
    TEXT_SHIFT,
    Fault,
    Frame,
    Readable,
    charge,
    deeper,
    host_text,
    kind_of,
)

Number: TypeAlias = int | float
Operation: TypeAlias = Callable[[Frame, object, object], object]


def add(frame: Frame, left: object, right: object) -> object:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _arithmetic(lambda: left + right)
    if isinstance(left, str) and isinstance(right, str):
        charge(frame, (len(left) + len(right)) >> TEXT_SHIFT)
        return left + right
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        charge(frame, (len(left) + len(right)) >> 2)
        return [*left, *right]
    hint = "; join texts with `~`" if isinstance(left, str) or isinstance(right, str) else ""
    raise Fault(f"cannot add {kind_of(left)} and {kind_of(right)}{hint}")


def subtract(frame: Frame, left: object, right: object) -> object:
    a, b = _numbers(left, right, "subtract")
    return _arithmetic(lambda: a - b)


def multiply(frame: Frame, left: object, right: object) -> object:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > INT_BITS_MAX:
            raise Fault(f"the product is a number of more than {INT_BITS_MAX} bits")
        return left * right
    if isinstance(left, int) and isinstance(right, (str, list, tuple)):
        return _repeat(frame, right, left)
    if isinstance(right, int) and isinstance(left, (str, list, tuple)):
        return _repeat(frame, left, right)
    a, b = _numbers(left, right, "multiply")
    return _arithmetic(lambda: a * b)


def _repeat(frame: Frame, value: str | list[object] | tuple[object, ...], times: int) -> object:
    size = len(value) * max(times, 0)
    charge(frame, size >> (TEXT_SHIFT if isinstance(value, str) else 2))
    return value * times if isinstance(value, str) else [*value] * times


def divide(frame: Frame, left: object, right: object) -> object:
    a, b = _numbers(left, right, "divide")
    return _arithmetic(lambda: a / b)


def floor_divide(frame: Frame, left: object, right: object) -> object:
    a, b = _numbers(left, right, "divide")
    return _arithmetic(lambda: a // b)


def modulo(frame: Frame, left: object, right: object) -> object:
    if isinstance(left, str):
        return percent(frame, left, right)
    a, b = _numbers(left, right, "divide")
    return _arithmetic(lambda: a % b)


def power(frame: Frame, left: object, right: object) -> object:
    a, b = _numbers(left, right, "raise to a power")
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > INT_BITS_MAX:
        raise Fault(f"the power is a number of more than {INT_BITS_MAX} bits")
    return _arithmetic(lambda: a**b)


def _numbers(left: object, right: object, verb: str) -> tuple[Number, Number]:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left, right
    raise Fault(f"cannot {verb} {kind_of(left)} and {kind_of(right)}")


def _arithmetic(compute: Callable[[], object]) -> object:
    try:
        result = compute()
    except ZeroDivisionError:
        raise Fault("division by zero") from None
    except OverflowError:
        raise Fault("the number is too large") from None
    if isinstance(result, int):
        return result
    if not isinstance(result, float):
        raise Fault("the result is not a real number")
    if not isfinite(result):
        raise Fault("the number is too large")
    return result


def negative(frame: Frame, value: object) -> object:
    if isinstance(value, (int, float)):
        return -value
    raise Fault(f"cannot negate {kind_of(value)}")


def positive(frame: Frame, value: object) -> object:
    if isinstance(value, (int, float)):
        return +value
    raise Fault(f"cannot put a sign before {kind_of(value)}")


BINARY: dict[str, Operation] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "//": floor_divide,
    "%": modulo,
    "**": power,
}


def equal(frame: Frame, left: object, right: object) -> bool:
    if type(left) in SCALARS and type(right) in SCALARS:
        if type(left) is str and type(right) is str:
            charge(frame, min(len(left), len(right)) >> SCAN_SHIFT)
        return left == right
    return _equal(frame, left, right, 0)


def _equal(frame: Frame, left: object, right: object, depth: int) -> bool:
    charge(frame, 3)
    if isinstance(left, Readable) or isinstance(right, Readable):
        return left is right or _plain(left) == _plain(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        deeper(depth)
        return len(left) == len(right) and _equal_mappings(frame, left, right, depth + 1)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        deeper(depth)
        return len(left) == len(right) and _equal_lists(frame, left, right, depth + 1)
    if isinstance(left, str) and isinstance(right, str):
        charge(frame, min(len(left), len(right)) >> SCAN_SHIFT)
    return left == right


def _equal_mappings(frame: Frame, left: Mapping[object, object], right: Mapping[object, object], depth: int) -> bool:
    for key, value in left.items():  # noqa: SIM110  see below
        if key not in right or not _equal(frame, value, right[key], depth):
            return False
    return True


def _equal_lists(frame: Frame, left: Sequence[object], right: Sequence[object], depth: int) -> bool:
    # all() over a generator would double the frames of a deep comparison.
    for index, value in enumerate(left):  # noqa: SIM110
        if not _equal(frame, value, right[index], depth):
            return False
    return True


def _plain(value: object) -> object:
    return host_text(value) if isinstance(value, Readable) else value


def unequal(frame: Frame, left: object, right: object) -> bool:
    return not equal(frame, left, right)


def less(frame: Frame, left: object, right: object) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left < right
    if isinstance(left, str) and isinstance(right, str):
        charge(frame, min(len(left), len(right)) >> SCAN_SHIFT)
        return left < right
    raise Fault(f"cannot compare {kind_of(left)} with {kind_of(right)}")


def greater(frame: Frame, left: object, right: object) -> bool:
    return less(frame, right, left)


def at_most(frame: Frame, left: object, right: object) -> bool:
    return less(frame, left, right) or left == right


def at_least(frame: Frame, left: object, right: object) -> bool:
    return less(frame, right, left) or left == right


def contains(frame: Frame, value: object, container: object) -> bool:
    """`value in container`."""
    if isinstance(container, str):
        if not isinstance(value, str):
            raise Fault(f"cannot look for {kind_of(value)} in text")
        charge(frame, (len(container) >> TEXT_SHIFT) + 1)
        return value in container
    if isinstance(container, Mapping):
        return type(value) in SCALARS and value in container
    if isinstance(container, (list, tuple)):
        return _holds(frame, value, container)
    raise Fault(f"cannot look for anything in {kind_of(container)}")


def _holds(frame: Frame, value: object, items: list[object] | tuple[object, ...]) -> bool:
    if type(value) not in SCALARS:
        return any(equal(frame, value, item) for item in items)
    length = len(value) if isinstance(value, str) else 0
    charge(frame, (len(items) >> 2) + len(items) * (length >> SCAN_SHIFT))
    return value in items


def lacks(frame: Frame, value: object, container: object) -> bool:
    return not contains(frame, value, container)


COMPARISONS: dict[str, Callable[[Frame, object, object], bool]] = {
    "==": equal,
    "!=": unequal,
    "<": less,
    "<=": at_most,
    ">": greater,
    ">=": at_least,
    "in": contains,
    "not in": lacks,
}


def take_slice(frame: Frame, value: object, first: object, last: object, step: object) -> object:
    if not isinstance(value, (str, list, tuple)):
        raise Fault(f"cannot slice {kind_of(value)}")
    part = slice(_bound(first), _bound(last), _bound(step))
    if part.step == 0:
        raise Fault("the step of a slice is 0")
    size = len(range(*part.indices(len(value))))
    charge(frame, size >> (TEXT_SHIFT if isinstance(value, str) else 2))
    return value[part] if isinstance(value, str) else [*value[part]]


def _bound(value: object) -> int | None:
    if value is None or isinstance(value, int):
        return value
    raise Fault(f"the bounds of a slice are whole numbers, found {kind_of(value)}")
