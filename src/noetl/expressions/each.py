"""Code for the filters that apply a filter or a test to each element: `map`, `select`, `reject` and their kin."""

from collections.abc import Sequence

from noetl.expressions.access import MISSING, attributes, no_attribute
from noetl.expressions.applying import Applied
from noetl.expressions.predicates import undefined
from noetl.expressions.runtime import Code, Fault, Frame, Spot, elements


def map_attribute(spot: Spot, target: Code, attribute: Code, fallback: Code | None) -> Code:
    def code(frame: Frame) -> object:
        value, path = target(frame), attribute(frame)
        other = MISSING if fallback is None else fallback(frame)
        try:
            found = attributes(elements(frame, value), path)
            return [_or_other(item, other, path) for item in found] if MISSING in found else found
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def _or_other(item: object, other: object, path: object) -> object:
    if item is not MISSING:
        return item
    if other is MISSING:
        raise no_attribute(path)
    return other


def map_filter(inner: Applied, target: Code) -> Code:
    function, spot = inner.function, inner.spot

    def code(frame: Frame) -> object:
        value = target(frame)
        arguments = [argument(frame) for argument in inner.positional]
        named = {name: argument(frame) for name, argument in inner.named}
        try:
            return [function(frame, item, *arguments, **named) for item in elements(frame, value)]
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def select_code(spot: Spot, target: Code, attribute: Code | None, test: Applied | None, *, is_rejecting: bool) -> Code:
    """Keeps the elements whose test, or truth, is as wanted. A missing attribute makes the test false."""

    def code(frame: Frame) -> object:
        value = target(frame)
        path = None if attribute is None else attribute(frame)
        arguments = () if test is None else tuple(argument(frame) for argument in test.positional)
        try:
            found = elements(frame, value)
            parts = found if attribute is None else attributes(found, path)
            passed = _truths(parts) if test is None else _results(frame, parts, test, arguments)
        except Fault as fault:
            raise spot.fault(fault) from None
        return [item for item, is_true in zip(found, passed, strict=True) if is_true is not is_rejecting]

    return code


def _truths(parts: Sequence[object]) -> list[bool]:
    return [part is not MISSING and bool(part) for part in parts]


def _results(frame: Frame, parts: Sequence[object], test: Applied, arguments: tuple[object, ...]) -> list[bool]:
    function = test.function
    of_missing = function is undefined
    return [of_missing if part is MISSING else bool(function(frame, part, *arguments)) for part in parts]
