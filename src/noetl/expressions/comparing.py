"""Code for comparisons: numbers and texts on the spot, all else with care.

With undefined a comparison is false. In a guard so is the question whether null is more or less than something:
a block of the output holds nulls where nothing came back, and a rule that asks about it must not fail.
"""

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from noetl.expressions.operations import COMPARISONS, equal
from noetl.expressions.runtime import SCALARS, Code, Fault, Frame, Spot, Undefined

_NUMBERS: frozenset[type] = frozenset((int, float, bool))
_TEXTS: frozenset[type] = frozenset((str,))
_PLAIN: frozenset[type] = frozenset((*_NUMBERS, str, type(None)))
_NOTHING: frozenset[type] = frozenset()
Direct: TypeAlias = Callable[[object, object], bool]
# Only ever called with two numbers or two texts, which mypy cannot see.
_DIRECT: dict[str, Direct] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": cast(Direct, operator.lt),
    "<=": cast(Direct, operator.le),
    ">": cast(Direct, operator.gt),
    ">=": cast(Direct, operator.ge),
}
_ORDERS = frozenset(("<", "<=", ">", ">="))
Pair: TypeAlias = Callable[[Frame, object, object], bool]


def compare_constant(spot: Spot, operation: str, left: Code, constant: object, *, is_guard: bool) -> Code:
    """`left < constant`: the common guard."""
    direct, careful = _DIRECT[operation], compare_pair(spot, operation, is_guard=is_guard)
    kinds = _direct_kinds(operation, constant)

    def code(frame: Frame) -> object:
        value = left(frame)
        return direct(value, constant) if type(value) in kinds else careful(frame, value, constant)

    return code


def _direct_kinds(operation: str, constant: object) -> frozenset[type]:
    if operation in ("==", "!="):
        return _PLAIN
    if type(constant) in _NUMBERS:
        return _NUMBERS
    return _TEXTS if type(constant) is str else _NOTHING


def compare_two(spot: Spot, operation: str, left: Code, right: Code, *, is_guard: bool) -> Code:
    careful = compare_pair(spot, operation, is_guard=is_guard)
    direct = _DIRECT.get(operation)
    if direct is None:
        return lambda frame: careful(frame, left(frame), right(frame))
    numbers = _NUMBERS

    def code(frame: Frame) -> object:
        a, b = left(frame), right(frame)
        return direct(a, b) if type(a) in numbers and type(b) in numbers else careful(frame, a, b)

    return code


def compare_chain(first: Code, links: Sequence[tuple[Pair, Code]]) -> Code:
    """`a < b < c`: each operand is evaluated once, and none behind the first false comparison."""

    def code(frame: Frame) -> object:
        left = first(frame)
        for pair, operand in links:
            right = operand(frame)
            if not pair(frame, left, right):
                return False
            left = right
        return True

    return code


def compare_pair(spot: Spot, operation: str, *, is_guard: bool) -> Pair:
    compare = COMPARISONS[operation]
    forgives_null = is_guard and operation in _ORDERS

    def pair(frame: Frame, left: object, right: object) -> bool:
        if type(left) is Undefined or type(right) is Undefined:
            return False
        if forgives_null and (left is None or right is None):
            return False
        try:
            return compare(frame, left, right)
        except Fault as fault:
            raise spot.fault(fault) from None

    return pair


def one_of(spot: Spot, searched: Code, candidates: Sequence[Code], *, is_negated: bool) -> Code:
    """`value in [a, b]` with the list written out: in a guard an undefined candidate is skipped."""

    def code(frame: Frame) -> object:
        wanted = searched(frame)
        values = [candidate(frame) for candidate in candidates]
        if type(wanted) is Undefined:
            return False
        try:
            found = any(_same(frame, wanted, value) for value in values)
        except Fault as fault:
            raise spot.fault(fault) from None
        return found is not is_negated

    return code


def _same(frame: Frame, wanted: object, candidate: object) -> bool:
    return type(candidate) is not Undefined and equal(frame, wanted, candidate)


def one_of_constants(spot: Spot, value: Code, constants: tuple[object, ...], *, is_negated: bool) -> Code:
    careful = compare_pair(spot, "not in" if is_negated else "in", is_guard=False)

    def code(frame: Frame) -> object:
        wanted = value(frame)
        if type(wanted) in SCALARS:
            return (wanted in constants) is not is_negated
        return careful(frame, wanted, constants)

    return code
