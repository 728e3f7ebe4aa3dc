"""Code for the filters that apply a filter or a test to each element: `map`, `select`, `reject` and their kin."""

from noetl.expressions.access import attribute_of
from noetl.expressions.applying import Applied
from noetl.expressions.runtime import Code, Fault, Frame, Missing, Spot, elements

_UNDEFINED = object()


def map_attribute(spot: Spot, target: Code, attribute: Code, fallback: Code | None) -> Code:
    def code(frame: Frame) -> object:
        value, path = target(frame), attribute(frame)
        other = _UNDEFINED if fallback is None else fallback(frame)
        try:
            return [_member(item, path, other) for item in elements(frame, value)]
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def _member(item: object, path: object, other: object) -> object:
    try:
        return attribute_of(item, path)
    except Missing:
        if other is _UNDEFINED:
            raise
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
            return [
                item
                for item in elements(frame, value)
                if _passes(frame, _part(item, path), test, arguments) is not is_rejecting
            ]
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def _part(item: object, path: object) -> object:
    try:
        return item if path is None else attribute_of(item, path)
    except Missing:
        return _UNDEFINED


def _passes(frame: Frame, part: object, test: Applied | None, arguments: tuple[object, ...]) -> bool:
    if part is _UNDEFINED:
        return test is not None and test.function.__name__ == "undefined"
    return bool(part) if test is None else bool(test.function(frame, part, *arguments))
