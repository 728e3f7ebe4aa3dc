"""Code that applies filters, methods, functions and the plain operators, and says where in the template they failed."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from noetl.expressions.runtime import (
    SCALARS,
    TEXT_SHIFT,
    Code,
    Fault,
    Frame,
    Missing,
    Spot,
    Undefined,
    charge,
    kind_of,
    text_of,
)


class Applied(Struct, frozen=True, gc=False):
    """A function of the template language and the code of its arguments."""

    spot: Spot
    function: Callable[..., object]
    positional: tuple[Code, ...]
    named: tuple[tuple[str, Code], ...] = ()


def constant_code(value: object) -> Code:
    def code(frame: Frame) -> object:
        return value

    return code


def apply(applied: Applied) -> Code:
    spot, function, codes = applied.spot, applied.function, applied.positional
    if applied.named:
        return _apply_named(applied)
    if len(codes) != 1:

        def many(frame: Frame) -> object:
            values = [code(frame) for code in codes]
            try:
                return function(frame, *values)
            except Fault as fault:
                raise spot.fault(fault) from None

        return many
    only = codes[0]

    def one(frame: Frame) -> object:
        value = only(frame)
        try:
            return function(frame, value)
        except Fault as fault:
            raise spot.fault(fault) from None

    return one


def _apply_named(applied: Applied) -> Code:
    def code(frame: Frame) -> object:
        values = [positional(frame) for positional in applied.positional]
        named = {name: value(frame) for name, value in applied.named}
        try:
            return applied.function(frame, *values, **named)
        except Fault as fault:
            raise applied.spot.fault(fault) from None

    return code


def apply_pair(
    spot: Spot, function: Callable[[Frame, object, object], object]
) -> Callable[[Frame, object, object], object]:
    def pair(frame: Frame, left: object, right: object) -> object:
        try:
            return function(frame, left, right)
        except Fault as fault:
            raise spot.fault(fault) from None

    return pair


def or_undefined(applied: Applied) -> Code:
    """For filters that have no result for an empty list."""
    spot, function, codes = applied.spot, applied.function, applied.positional

    def code(frame: Frame) -> object:
        values = [positional(frame) for positional in codes]
        try:
            return function(frame, *values)
        except Missing as missing:
            return Undefined(spot, reason=spot.fault(missing).message)
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def defined(code: Code) -> Code:
    """The same code, except that undefined is an error."""

    def strict(frame: Frame) -> object:
        value = code(frame)
        if type(value) is Undefined:
            raise value.error()
        return value

    return strict


def default_code(target: Code, fallback: Code, boolean: Code) -> Code:
    def code(frame: Frame) -> object:
        value = target(frame)
        if type(value) is Undefined or (not value and boolean(frame)):
            return fallback(frame)
        return value

    return code


def test_code(applied: Applied, target: Code, *, is_negated: bool) -> Code:
    """`target is …`. A test of undefined, which only a guard lets through, is false, negated or not."""
    spot, function, codes = applied.spot, applied.function, applied.positional

    def code(frame: Frame) -> object:
        value = target(frame)
        if type(value) is Undefined:
            return False
        arguments = [argument(frame) for argument in codes]
        try:
            return function(frame, value, *arguments) is not is_negated
        except Fault as fault:
            raise spot.fault(fault) from None

    return code


def all_of(parts: Sequence[Code]) -> Code:
    def code(frame: Frame) -> object:
        value: object = True
        for part in parts:
            value = part(frame)
            if not value:
                return value
        return value

    return code


def any_of(parts: Sequence[Code]) -> Code:
    def code(frame: Frame) -> object:
        value: object = False
        for part in parts:
            value = part(frame)
            if value:
                return value
        return value

    return code


def concat(spot: Spot, parts: Sequence[Code]) -> Code:
    def code(frame: Frame) -> object:
        values = [part(frame) for part in parts]
        try:
            texts = [value if type(value) is str else text_of(frame, value) for value in values]
            charge(frame, sum(map(len, texts)) >> TEXT_SHIFT)
        except Fault as fault:
            raise spot.fault(fault) from None
        return "".join(texts)

    return code


def record_code(pairs: Sequence[tuple[str, Code]]) -> Code:
    """A mapping whose keys are written out as texts."""

    def code(frame: Frame) -> object:
        return {key: value(frame) for key, value in pairs}

    return code


def dict_code(spot: Spot, pairs: Sequence[tuple[Code, Code]]) -> Code:
    def code(frame: Frame) -> object:
        return {_key(spot, key(frame)): value(frame) for key, value in pairs}

    return code


def _key(spot: Spot, key: object) -> object:
    if type(key) in SCALARS:
        return key
    raise spot.error(f"a key is text or a number, found {kind_of(key)}, in `{spot.words[:80]}`")
