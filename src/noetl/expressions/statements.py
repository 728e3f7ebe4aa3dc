"""Turns the statements of a text into closures that write its parts. Names they bind live in slots of the frame."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from noetl.expressions.access import UNSET
from noetl.expressions.applying import constant_code, defined
from noetl.expressions.compiler import Compiler
from noetl.expressions.runtime import Code, Fault, Frame, Spot, charge, elements, kind_of, text_of
from noetl.expressions.syntax import (
    Body,
    Expression,
    For,
    If,
    Output,
    Set,
    SetBlock,
    Statement,
    Target,
    Text,
)

OUTPUT_SHIFT = 2
"""Text that is put out costs a step for every 2**2 characters: it is held twice while the parts are joined."""

Writer: TypeAlias = Callable[[Frame, list[str]], None]


def text_code(compiler: Compiler, body: Body) -> Code:
    """Code for a whole template that is text."""
    block = _block(compiler, body)
    count = compiler.slot_count

    def code(frame: Frame) -> object:
        frame.slots = [UNSET] * count
        return block(frame)

    return code


def _block(compiler: Compiler, body: Body) -> Code:
    write = _body(compiler, body)

    def code(frame: Frame) -> object:
        parts: list[str] = []
        write(frame, parts)
        return "".join(parts)

    return code


def _body(compiler: Compiler, body: Body) -> Writer:
    writers = [_statement(compiler, statement) for statement in body]

    def write(frame: Frame, parts: list[str]) -> None:
        for writer in writers:
            writer(frame, parts)

    return write


def _statement(compiler: Compiler, statement: Statement) -> Writer:
    match statement:
        case Text():
            return _emit(compiler.spot(statement), constant_code(statement.value))
        case Output(value=value):
            return _emit(compiler.spot(value), compiler.value(value))
        case If():
            return _choice(compiler, statement)
        case For():
            return _loop(compiler, statement)
        case Set(value=value, target=(_,)):
            return _assign(compiler, statement, defined(compiler.target(value)))
        case Set(value=value):
            return _assign(compiler, statement, compiler.value(value))
        case _:
            compiler.scopes.append({})
            block = _block(compiler, statement.body)
            slots = tuple(compiler.scopes.pop().values())
            return _assign(compiler, statement, _fresh(slots, block))


def _emit(spot: Spot, code: Code) -> Writer:
    def write(frame: Frame, parts: list[str]) -> None:
        value = code(frame)
        try:
            text = text_of(frame, value)
            charge(frame, (len(text) >> OUTPUT_SHIFT) + 1)
        except Fault as fault:
            raise spot.fault(fault) from None
        parts.append(text)

    return write


def _fresh(slots: tuple[int, ...], block: Code) -> Code:
    def code(frame: Frame) -> object:
        for slot in slots:
            frame.slots[slot] = UNSET
        return block(frame)

    return code


def _choice(compiler: Compiler, choice: If) -> Writer:
    branches = [
        (None if test is None else compiler.truth(test), _body(compiler, body)) for test, body in choice.branches
    ]

    def write(frame: Frame, parts: list[str]) -> None:
        for test, body in branches:
            if test is None or test(frame):
                body(frame, parts)
                return

    return write


def _assign(compiler: Compiler, statement: Set | SetBlock, code: Code) -> Writer:
    bind = _binder(compiler.spot(statement), _declare(compiler, statement.target))

    def write(frame: Frame, parts: list[str]) -> None:
        bind(frame, code(frame))

    return write


def _declare(compiler: Compiler, target: Target) -> list[int]:
    scope = compiler.scopes[-1]
    for name in target:
        if name not in scope:
            scope[name] = compiler.slot_count
            compiler.slot_count += 1
    return [scope[name] for name in target]


def _binder(spot: Spot, slots: Sequence[int]) -> Callable[[Frame, object], None]:
    if len(slots) == 1:
        only = slots[0]

        def bind_one(frame: Frame, value: object) -> None:
            frame.slots[only] = value

        return bind_one

    def bind_many(frame: Frame, value: object) -> None:
        if not isinstance(value, (list, tuple)) or len(value) != len(slots):
            found = f"a list of {len(value)}" if isinstance(value, (list, tuple)) else kind_of(value)
            raise spot.error(f"expected a list of {len(slots)} to unpack, found {found}")
        for slot, item in zip(slots, value, strict=True):
            frame.slots[slot] = item

    return bind_many


def _loop(compiler: Compiler, loop: For) -> Writer:
    spot = Spot(compiler.text, loop.items.start, loop.items.end)
    items = compiler.value(loop.items)
    compiler.scopes.append({})
    bind = _binder(spot, _declare(compiler, loop.target))
    test = None if loop.test is None else compiler.truth(loop.test)
    number = _declare(compiler, ("loop",))[0]
    body = _body(compiler, loop.body)
    slots = tuple(compiler.scopes.pop().values())
    otherwise = _body(compiler, loop.otherwise)
    weight = _weight(loop.body) + (0 if loop.test is None else _size(loop.test)) + len(slots) + 1

    def write(frame: Frame, parts: list[str]) -> None:
        found = _loop_items(spot, frame, items(frame), weight)
        if test is not None:
            found = [item for item in found if _is_kept(frame, bind, test, item)]
        for index, item in enumerate(found):
            for slot in slots:
                frame.slots[slot] = UNSET
            bind(frame, item)
            frame.slots[number] = _loop_state(index, len(found))
            body(frame, parts)
        if not found:
            otherwise(frame, parts)

    return write


def _loop_items(spot: Spot, frame: Frame, value: object, weight: int) -> Sequence[object]:
    try:
        found = elements(frame, value)
        charge(frame, len(found) * weight)
    except Fault as fault:
        raise spot.fault(fault) from None
    return found


def _is_kept(frame: Frame, bind: Callable[[Frame, object], None], test: Code, item: object) -> bool:
    bind(frame, item)
    return bool(test(frame))


def _loop_state(index: int, length: int) -> dict[str, object]:
    return {
        "index": index + 1,
        "index0": index,
        "revindex": length - index,
        "revindex0": length - index - 1,
        "first": index == 0,
        "last": index == length - 1,
        "length": length,
    }


def _weight(body: Body) -> int:
    """The number of operations one pass through a body may take, without what its inner loops charge themselves."""
    total = 0
    for statement in body:
        total += 1
        match statement:
            case Output(value=value) | Set(value=value):
                total += _size(value)
            case SetBlock(body=inner):
                total += _weight(inner)
            case If(branches=branches):
                total += sum(_weight(inner) + (0 if test is None else _size(test)) for test, inner in branches)
            case For(items=items, otherwise=inner):
                total += _size(items) + _weight(inner)
            case _:
                pass
    return total


def _size(node: Expression) -> int:
    return 1 + sum(_size(inner) for inner in node.inside())
