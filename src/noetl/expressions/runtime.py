"""What every evaluation stands on: the bounds, the budget, undefined values, host values, and the text of a value."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from noetl.errors import TemplateError, closest

BUDGET = 1_000_000
"""Steps one evaluation may take. A step is about a microsecond of work or 32 bytes of new data, whichever is more."""
TEXT_SHIFT = 3
"""New text costs a step for every 2**3 characters: a character may take four bytes."""
SCAN_SHIFT = 6
"""Reading text costs a step for every 2**6 characters."""
INT_BITS_MAX = 4096
"""Whole numbers have at most this many bits, far below where arithmetic or printing becomes slow."""
DATA_DEPTH_MAX = 100
"""Lists and mappings inside one another, where an operation has to look into them."""
KEYS_SHOWN_MAX = 12
KEYS_COMPARED_MAX = 200
NAME_COMPARED_MAX = 60

SCALARS = frozenset((str, int, float, bool, type(None)))
LISTS = (list, tuple)


class Fault(Exception):
    """An operation that cannot be done. The caller knows the place and turns it into a TemplateError."""

    def __init__(self, message: str, kind: str = "template", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.retryable = retryable

    @classmethod
    def of_host(cls, error: TemplateError) -> "Fault":
        """What a value of the host says of itself."""
        return cls(error.message, error.kind, retryable=error.retryable)


class Missing(Fault):
    """An operation that has no result, such as the first of an empty list: undefined rather than wrong."""


class Frame(Struct, gc=False):
    """The state of one evaluation: what it may read, the steps it has left, and the names its own statements bound."""

    scope: Mapping[str, object]
    left: int = BUDGET
    slots: list[object] = []


Code: TypeAlias = Callable[[Frame], object]


class Spot(Struct, frozen=True, gc=False):
    """A piece of a template's text: what an error points at."""

    text: str
    start: int
    end: int

    @property
    def words(self) -> str:
        return self.text[self.start : self.end]

    def error(self, message: str, kind: str = "template", *, retryable: bool = False) -> TemplateError:
        return TemplateError(message, start=self.start, end=self.end, kind=kind, retryable=retryable)

    def fault(self, fault: Fault) -> TemplateError:
        return self.error(f"{fault.message}, in `{shorten(self.words)}`", fault.kind, retryable=fault.retryable)


class Undefined(Struct, frozen=True, gc=False):
    """What a missing name, key or element gives. It is falsy and remembers what was missing, and where.

    `spot` is the missing part, `target` the text of the expression it was looked for in, `container` that value."""

    spot: Spot
    target: str = ""
    container: object = None
    reason: str = ""

    def __bool__(self) -> bool:
        return False

    def error(self) -> TemplateError:
        return self.spot.error(self.reason or _explain(self))


class Readable:
    """A value of the host that is more than data, such as a reference or a secret.

    A template may pass it on whole. What else it allows is up to the subclass: its members, and whether it has a text
    to be rendered and compared as."""

    __slots__ = ()

    def read(self, name: str) -> object:
        """The member `name`. Raises KeyError when there is none, TemplateError when it may not be read."""
        raise KeyError(name)

    def text(self) -> str:
        """What the value is when it stands in a text or a comparison. Raises TemplateError when it has no text."""
        raise TemplateError("this value can only be passed on whole")


class Facade:
    """A value of the host that stands for data and has members of its own beside the data's.

    It is seen by who reads a member of it. Whatever else is done with it is done with the data: null, and without
    members of its own, unless the subclass says otherwise."""

    __slots__ = ()

    def member(self, key: object) -> object:
        """A member of its own. Raises KeyError when there is none, so that the data is asked."""
        raise KeyError(key)

    def whole(self) -> object:
        """The data."""
        return None


def whole(value: object) -> object:
    return value.whole() if isinstance(value, Facade) else value


def charge(frame: Frame, steps: int) -> None:
    frame.left -= steps
    if frame.left < 0:
        raise Fault(f"the expression takes more than {BUDGET:,} steps")


def is_list(value: object) -> bool:
    return isinstance(value, LISTS)


def is_mapping(value: object) -> bool:
    return type(value) is dict or isinstance(value, Mapping)


def kind_of(value: object) -> str:
    """The word for a value in the message of a fault. A host value that cannot be read has a better one: why."""
    if isinstance(value, Readable):
        host_text(value)
    return word_for(value)


def word_for(value: object) -> str:
    """The word for a value in a message. Messages never show the value itself: it may be a secret."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    if is_list(value):
        return "a list"
    return "a mapping" if is_mapping(value) else f"an object ({type(value).__name__})"


def shorten(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:77]}..."


def text_of(frame: Frame, value: object) -> str:
    """The text of a value, as Jinja2 renders it. The new text is charged before it is made."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value]
    if kind is int and -(2**63) < value < 2**63:  # type: ignore[operator]
        return str(value)
    if value is None or isinstance(value, (bool, float)):
        return str(value)
    if isinstance(value, int):
        return digits(frame, value)
    if isinstance(value, Readable):
        return host_text(value)
    if isinstance(value, str):
        return str(value)
    parts: list[str] = []
    write_literal(frame, value, parts, 0)
    return "".join(parts)


def host_text(value: Readable) -> str:
    try:
        return value.text()
    except TemplateError as error:
        raise Fault.of_host(error) from None


def digits(frame: Frame, value: int) -> str:
    bits = value.bit_length()
    if bits > INT_BITS_MAX:
        raise Fault(f"a number of more than {INT_BITS_MAX} bits")
    charge(frame, bits >> 6)
    return str(int(value))


def write_literal(frame: Frame, value: object, parts: list[str], depth: int) -> None:
    """Writes a value as it stands inside a list or a mapping: text is quoted."""
    if isinstance(value, str):
        charge(frame, (len(value) >> 1) + 2)
        parts.append(repr(value))
    elif value is None or isinstance(value, (int, float, Readable)):
        charge(frame, 2)
        parts.append(text_of(frame, value))
    elif is_list(value) or is_mapping(value):
        deeper(depth)
        charge(frame, 3)
        _write_items(frame, value, parts, depth + 1)
    else:
        raise Fault(f"{kind_of(value)} has no text")


def _write_items(frame: Frame, value: object, parts: list[str], depth: int) -> None:
    if isinstance(value, Mapping):
        parts.append("{")
        for number, (key, item) in enumerate(value.items()):
            parts.append(", " if number else "")
            write_literal(frame, key, parts, depth)
            parts.append(": ")
            write_literal(frame, item, parts, depth)
        parts.append("}")
    else:
        parts.append("[")
        for number, item in enumerate(items_of(value)):
            parts.append(", " if number else "")
            write_literal(frame, item, parts, depth)
        parts.append("]")


def items_of(value: object) -> list[object] | tuple[object, ...]:
    """The elements of a list; the keys of a mapping; the characters of a text. Anything else has none."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (str, Mapping)):
        return list(value)
    raise Fault(f"expected a list, found {kind_of(value)}")


def elements(frame: Frame, value: object) -> list[object] | tuple[object, ...]:
    """`items_of`, charged: for operations that go through all of them."""
    items = value if type(value) is list else items_of(value)
    frame.left -= len(items)
    if frame.left < 0:
        charge(frame, 0)
    return items


def deeper(depth: int) -> None:
    if depth >= DATA_DEPTH_MAX:
        raise Fault(f"data nested more than {DATA_DEPTH_MAX} deep")


def measure(frame: Frame, value: object, depth: int = 0) -> None:
    """Charges a new value by its full size. A list may hold one element many times over: it counts each time.

    It leaves the template as data, and the keys of data are text.
    """
    kind = type(value)
    if kind is not list and isinstance(value, Mapping):
        deeper(depth)
        charge(frame, (len(value) >> 1) + 2)
        for key, item in value.items():
            if not isinstance(key, str):
                raise Fault(f"a mapping that leaves a template has text as keys, found {word_for(key)}")
            if type(item) not in SCALARS:
                measure(frame, item, depth + 1)
    elif isinstance(value, (list, tuple)):
        deeper(depth)
        charge(frame, (len(value) >> 2) + 2)
        for item in value:
            if type(item) not in SCALARS:
                measure(frame, item, depth + 1)


def _explain(undefined: Undefined) -> str:
    """Names the first missing part, where it was looked for, and what there is instead."""
    part, target, container = undefined.spot.words, shorten(undefined.target), undefined.container
    if isinstance(container, Mapping):
        if not target:
            return f"`{part}` is undefined{_known(part, _names(container))}"
        return f"`{target}` has no key {part}{_known(part, container)}"
    if isinstance(container, (str, list, tuple)):
        return f"`{target}` is {word_for(container)} of length {len(container)} and has no {part}"
    return f"`{target}` is {word_for(container)} and has no {part}"


def _names(scope: Mapping[object, object]) -> dict[object, object]:
    """What a template can name: not every key that may stand in a scope is a name."""
    return {key: None for key in scope if isinstance(key, str) and key.isidentifier()}


def _known(part: str, container: Mapping[object, object]) -> str:
    name = part.strip("'\"")[:NAME_COMPARED_MAX]
    near = closest(name, islice((key for key in container if isinstance(key, str)), KEYS_COMPARED_MAX))
    shown = ", ".join(str(key)[:40] for key in islice(container, KEYS_SHOWN_MAX))
    more = ", ..." if len(container) > KEYS_SHOWN_MAX else ""
    guess = "." if near is None else f"; did you mean `{near}`?"
    return f"{guess} There is: {shown}{more}" if shown else ": it is empty"
