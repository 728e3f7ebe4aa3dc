"""Reads members of data: keys of mappings, elements of lists, what a host value shows. Never a Python attribute."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from noetl.errors import TemplateError
from noetl.expressions.runtime import (
    SCALARS,
    Code,
    Facade,
    Fault,
    Frame,
    Missing,
    Readable,
    Spot,
    Undefined,
    kind_of,
    whole,
)
from noetl.expressions.syntax import Path

MISSING = object()
UNSET = object()
"""What a slot holds until its statement has bound it."""

_of_dict = dict.__getitem__


def read(value: object, key: object) -> object:
    """`value[key]`, or MISSING."""
    kind = type(value)
    if kind is dict and type(key) is str:
        return value.get(key, MISSING)  # type: ignore[attr-defined]
    if kind is not list and isinstance(value, Mapping):
        return value[key] if type(key) in SCALARS and key in value else MISSING
    if isinstance(value, (list, tuple, str)):
        return value[key] if isinstance(key, int) and -len(value) <= key < len(value) else MISSING
    if isinstance(value, Readable) and type(key) in SCALARS:
        return _read_host(value, str(key))
    return _read_facade(value, key) if isinstance(value, Facade) else MISSING


def _read_host(value: Readable, key: str) -> object:
    try:
        return value.read(key)
    except KeyError:
        return MISSING
    except TemplateError as error:
        raise Fault.of_host(error) from None


def _read_facade(value: Facade, key: object) -> object:
    """Its own member, if it has one of that name, else the data's."""
    if type(key) in SCALARS:
        with suppress(KeyError):
            return value.member(key)
    return read(value.whole(), key)


def attribute_reader(path: object) -> Callable[[object], object]:
    """Reads a member by a path such as `address.city` or `0`, as the `attribute` of a filter gives it, or MISSING."""
    keys = _keys_of(path)
    only = keys[0]

    def read_one(value: object) -> object:
        return value.get(only, MISSING) if type(value) is dict else read(value, only)

    def read_all(value: object) -> object:
        for key in keys:
            value = read(value, key)
            if value is MISSING:
                break
        return value

    return read_one if len(keys) == 1 else read_all


def attributes(items: Sequence[object], path: object) -> list[object]:
    """The same member of each item."""
    read_member = attribute_reader(path)
    try:
        return [_of_dict(item, path) for item in items]  # type: ignore[arg-type]
    except (KeyError, TypeError):
        return [read_member(item) for item in items]


def _keys_of(path: object) -> list[object]:
    if isinstance(path, str):
        return [int(part) if part.isdecimal() and len(part) < 10 else part for part in path.split(".")]
    if isinstance(path, int):
        return [path]
    raise Fault(f"expected the name of an attribute, found {kind_of(path)}")


def no_attribute(path: object) -> Missing:
    return Missing(f"an element has no `{path}`")


def path_code(text: str, path: Path, slots: tuple[int, ...], *, is_strict: bool, is_target: bool = False) -> Code:
    """Reads a dotted name. Where all is well it only indexes dictionaries; anything else takes the careful way.

    A facade is never inside data, so that only the careful way meets one below the root. As the target of a member it
    stays; elsewhere it gives way to its data.
    """
    root, names = path.root, path.names
    careful = _careful(text, path, slots, is_strict=is_strict, is_target=is_target)
    if slots or len(names) > 3:
        return careful
    first, second, third = (*names, "", "", "")[:3]

    def depth_0(frame: Frame) -> object:
        try:
            value = frame.scope[root]
        except KeyError:
            return careful(frame)
        return careful(frame) if isinstance(value, Facade) else value

    def depth_1(frame: Frame) -> object:
        try:
            return _of_dict(frame.scope[root], first)  # type: ignore[arg-type]
        except (KeyError, TypeError):
            return careful(frame)

    def depth_2(frame: Frame) -> object:
        try:
            return _of_dict(_of_dict(frame.scope[root], first), second)  # type: ignore[arg-type]
        except (KeyError, TypeError):
            return careful(frame)

    def depth_3(frame: Frame) -> object:
        try:
            return _of_dict(_of_dict(_of_dict(frame.scope[root], first), second), third)  # type: ignore[arg-type]
        except (KeyError, TypeError):
            return careful(frame)

    return (depth_0, depth_1, depth_2, depth_3)[len(names)]


def _careful(text: str, path: Path, slots: tuple[int, ...], *, is_strict: bool, is_target: bool) -> Code:
    names = path.names

    def code(frame: Frame) -> object:
        value = root_value(frame, path.root, slots)
        if value is MISSING:
            return outcome(Undefined(Spot(text, path.start, path.start + len(path.root)), "", frame.scope))
        end = path.start + len(path.root)
        for name in names:
            start, after = end + 1, end + 1 + len(name)
            member = value.get(name, MISSING) if type(value) is dict else read_at(text, start, after, value, name)
            if member is MISSING:
                return outcome(Undefined(Spot(text, start, after), text[path.start : end], whole(value)))
            value, end = member, after
        return value if is_target else whole(value)

    def outcome(undefined: Undefined) -> Undefined:
        if is_strict:
            raise undefined.error()
        return undefined

    return code


def root_value(frame: Frame, root: str, slots: tuple[int, ...]) -> object:
    """The innermost binding of a name that is in force, else the name in the scope."""
    for slot in slots:
        if frame.slots[slot] is not UNSET:
            return frame.slots[slot]
    return frame.scope.get(root, MISSING)


def read_at(text: str, start: int, end: int, value: object, key: object) -> object:
    try:
        return read(value, key)
    except Fault as fault:
        raise Spot(text, start, end).fault(fault) from None


def member_code(spot: Spot, key_spot: Spot, target: Code, key: Code, target_words: str) -> Code:
    """`target[key]`; undefined stays undefined, and a facade a facade."""

    def code(frame: Frame) -> object:
        value = target(frame)
        if type(value) is Undefined:
            return value
        wanted = key(frame)
        member = read_at(spot.text, spot.start, spot.end, value, wanted)
        return Undefined(key_spot, target_words, whole(value)) if member is MISSING else member

    return code
