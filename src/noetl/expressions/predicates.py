"""The tests behind `is`. `defined` and `undefined` are known to the compiler; all others see a defined value."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.expressions import operations
from noetl.expressions.data_filters import number
from noetl.expressions.runtime import SCALARS, Fault, Frame
from noetl.expressions.text_filters import text

Predicate: TypeAlias = Callable[..., bool]


def defined(frame: Frame, value: object) -> bool:
    return True


def undefined(frame: Frame, value: object) -> bool:
    return False


def even(frame: Frame, value: object) -> bool:
    return number(value) % 2 == 0


def odd(frame: Frame, value: object) -> bool:
    return number(value) % 2 == 1


def divisibleby(frame: Frame, value: object, num: object) -> bool:
    divisor = number(num)
    if divisor == 0:
        raise Fault("division by zero")
    return number(value) % divisor == 0


def none(frame: Frame, value: object) -> bool:
    return value is None


def boolean(frame: Frame, value: object) -> bool:
    return isinstance(value, bool)


def true(frame: Frame, value: object) -> bool:
    return value is True


def false(frame: Frame, value: object) -> bool:
    return value is False


def integer(frame: Frame, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def float_(frame: Frame, value: object) -> bool:
    return isinstance(value, float)


def number_(frame: Frame, value: object) -> bool:
    return isinstance(value, (int, float))


def string(frame: Frame, value: object) -> bool:
    return isinstance(value, str)


def mapping(frame: Frame, value: object) -> bool:
    return isinstance(value, Mapping)


def sequence(frame: Frame, value: object) -> bool:
    return isinstance(value, (list, tuple, str, Mapping))


def lower(frame: Frame, value: object) -> bool:
    return text(frame, value).islower()


def upper(frame: Frame, value: object) -> bool:
    return text(frame, value).isupper()


def sameas(frame: Frame, value: object, other: object) -> bool:
    """The same kind and the same value: 1 is not true, and 1 is not 1.0."""
    if type(value) in SCALARS and type(other) in SCALARS:
        return type(value) is type(other) and operations.equal(frame, value, other)
    return value is other


def in_(frame: Frame, value: object, seq: object) -> bool:
    return operations.contains(frame, value, seq)


def eq(frame: Frame, value: object, other: object) -> bool:
    return operations.equal(frame, value, other)


def ne(frame: Frame, value: object, other: object) -> bool:
    return operations.unequal(frame, value, other)


def lt(frame: Frame, value: object, other: object) -> bool:
    return operations.less(frame, value, other)


def le(frame: Frame, value: object, other: object) -> bool:
    return operations.at_most(frame, value, other)


def gt(frame: Frame, value: object, other: object) -> bool:
    return operations.greater(frame, value, other)


def ge(frame: Frame, value: object, other: object) -> bool:
    return operations.at_least(frame, value, other)


TESTS: dict[str, Predicate] = {
    "boolean": boolean,
    "defined": defined,
    "divisibleby": divisibleby,
    "eq": eq,
    "==": eq,
    "equalto": eq,
    "even": even,
    "false": false,
    "float": float_,
    "ge": ge,
    ">=": ge,
    "greaterthan": gt,
    "gt": gt,
    ">": gt,
    "in": in_,
    "integer": integer,
    "iterable": sequence,
    "le": le,
    "<=": le,
    "lessthan": lt,
    "lower": lower,
    "lt": lt,
    "<": lt,
    "mapping": mapping,
    "ne": ne,
    "!=": ne,
    "none": none,
    "number": number_,
    "odd": odd,
    "sameas": sameas,
    "sequence": sequence,
    "string": string,
    "true": true,
    "undefined": undefined,
    "upper": upper,
}

REFUSED_TESTS = {
    "callable": "Templates hold data only: nothing in them can be called.",
    "escaped": "Templates make plain text, not HTML.",
    "filter": "Which filters exist is known before a playbook runs.",
    "test": "Which tests exist is known before a playbook runs.",
    "match": "Regular expressions can take unbounded time. Use `in`, or `.startswith()` and `.endswith()`.",
    "search": "Regular expressions can take unbounded time. Use `in`.",
    "regex": "Regular expressions can take unbounded time. Use `in`.",
}
