"""Data kept elsewhere: references that authors see, and values that were too large to travel in an event.

Both are told from ordinary data by their type, never by their shape. In JSON they carry a mark, and data
that happens to hold the mark as a key is escaped when it is written and restored when it is read.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256

import msgspec

from noetl.engine.lifted import Lifted
from noetl.errors import TemplateError
from noetl.expressions.runtime import word_for
from noetl.expressions.template import Readable

MARK = "$noetl"
_WORD = MARK.removeprefix("$")
_SIGN = f'{MARK}"'.encode()
"""How a key that is the mark, escaped or not, ends in JSON. Text may end so too: that costs time, nothing else."""

_FIRST = _SIGN[0]

_encoder = msgspec.json.Encoder()

LOOP_REFERENCE = "relational"
"""The type of a reference to what the iterations of a loop gave, which is read back from the log."""


class ReferenceMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    content_type: str = "application/json"
    bytes: int = 0
    sha256: str | None = None
    ttl: str | None = None
    compression: str | None = None


class Reference(Readable, msgspec.Struct, frozen=True, tag_field=MARK, tag="ref"):
    """Where data is stored and how to know it is whole. Authors hold it under names that end in `_ref`."""

    type: str
    locator: Mapping[str, object]
    auth_reference: str | None = None
    meta: ReferenceMeta = ReferenceMeta()

    def read(self, name: str) -> object:
        """A field of the reference itself; the data behind it is reached by `kind: resolve` only."""
        if name not in self.__struct_fields__:
            raise TemplateError(
                f"a reference has no `{name}`: it says where data is stored; fetch it with `kind: resolve`",
                kind="data_by_reference",
            )
        return msgspec.to_builtins(getattr(self, name))

    def text(self) -> str:
        message = "a reference has no text: pass it on whole, or fetch its data with `kind: resolve`"
        raise TemplateError(message, kind="data_by_reference")


class External(Readable, msgspec.Struct, frozen=True, omit_defaults=True, tag_field=MARK, tag="data"):
    """A value that was too large for an event. It is read back where it is used; a server template may not read it.

    `patch` is what was written inside the value since, by paths: whoever reads it back lays that over.
    `holds` is the type of the value: `dict`, `list` or `str`.
    """

    reference: Reference
    patch: Mapping[str, object] = {}
    holds: str = ""

    def read(self, name: str) -> object:
        is_written = name in self.patch and "." not in name
        if is_written and not any(path.startswith(f"{name}.") for path in self.patch):
            return self.patch[name]
        raise self._unreadable(f"`{name}` cannot be read here: it is part of a value that")

    def text(self) -> str:
        raise self._unreadable("this value cannot be read here: it")

    def _unreadable(self, what: str) -> TemplateError:
        size = self.reference.meta.bytes
        where = f"is stored outside the log ({size} bytes)" if size else "is the output of a large loop"
        message = (
            f"{what} {where}. Lift what is needed with `spec.result.select`, or fetch the data with `kind: resolve`"
        )
        return TemplateError(message, kind="data_by_reference")


_STORED_WORDS = {"dict": "a mapping", "list": "a list", "str": "text"}
"""How messages call what a value that is stored outside the log holds."""

_TYPES: dict[object, type[Reference | External | Lifted]] = {"ref": Reference, "data": External, "lifted": Lifted}


def key_of(reference: Reference) -> str:
    """What the data behind a reference is kept under while it is at hand."""
    sha256 = reference.locator.get("sha256")
    return str(sha256) if sha256 is not None else _encoder.encode(reference.locator).decode()


class Loss(msgspec.Struct, frozen=True):
    """Why stored data cannot be had. `why` goes on after `the data of …`; `instead` helps as well as making it anew."""

    why: str
    instead: str = ""
    kind: str = "reference_not_available"
    retryable: bool = False
    can_be_made: bool = True

    def error(self, whose: str, again: str = "run again what made it") -> TemplateError:
        remedy = f"; {self.instead}{again}" if self.can_be_made else ""
        return TemplateError(f"the data of {whose} {self.why}{remedy}", kind=self.kind, retryable=self.retryable)

    def error_of_step(self, step: str) -> TemplateError:
        return self.error(f"step `{step}`", f"run that step again: `noetl rerun … --from {step}`")


class Lost(Exception):
    """A decision asks about data that cannot be had."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss.why)
        self.loss = loss


class Gone(Readable):
    """Stands in the place of data that cannot be had, such as what was kept for a time. Whoever needs it hears so.

    `stored` is what stands there for those who do not.
    """

    def __init__(self, stored: External, error: TemplateError) -> None:
        self.stored = stored
        self.error = error

    def read(self, name: str) -> object:  # noqa: ARG002
        raise self.error

    def text(self) -> str:
        raise self.error


GONE = "$gone"
"""A name in scopes in which something is gone. No template can write it."""


def check_whole(value: object) -> None:
    """Raises the error of what is gone inside a value. It looks at all of it."""
    if isinstance(value, Gone):
        raise value.error
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            check_whole(item)


def word_of(value: object) -> str:
    """The word for a value in a message, also for one that is stored outside the log."""
    if isinstance(value, External):
        return _STORED_WORDS.get(value.holds, "data")
    return "a reference" if isinstance(value, Reference) else word_for(value)


def is_same(one: object, other: object) -> bool:
    """Whether two values are equal, though parts of one may be stored outside the log and those of the other not."""
    if one == other:
        return True
    if isinstance(one, External) or isinstance(other, External):
        digest = _digest(one)
        return digest is not None and digest == _digest(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return False


def _digest(value: object) -> str | None:
    if not isinstance(value, External):
        return sha256(encode_value(value)).hexdigest()
    return value.reference.meta.sha256 if not value.patch else None


def encode_value(value: object) -> bytes:
    """A value, or a record of the engine, as JSON in which nothing but a reference carries the mark."""
    data = _encoder.encode(value)
    return _encoder.encode(_escape(value)) if has_mark(data) else data


def decode_value(data: bytes) -> object:
    """What `encode_value` wrote, as plain data with its references."""
    found: object = msgspec.json.decode(data)
    return revive(found) if has_mark(data) else found


def has_mark(data: bytes) -> bool:
    """Whether JSON may hold references or escaped keys, so that it must be revived."""
    return _FIRST in data and _SIGN in data  # a byte given as a number is found ten times faster


def may_refer(value: object) -> bool:
    """Whether a value or a record holds a reference, or something like one. Far cheaper than to look for it."""
    return has_mark(_encoder.encode(value))


def revive(data: object) -> object:
    """Decoded JSON with marked mappings turned back into references, and escaped keys into what they were."""
    if isinstance(data, dict):
        found = {_unescaped(key): revive(value) for key, value in data.items()}
        return msgspec.convert(found, _TYPES[found[MARK]]) if MARK in data else found
    if isinstance(data, list):
        return [revive(value) for value in data]
    return data


def each_value(value: object, change: Callable[[object], object]) -> object:
    """A record, a mapping or a list with each of its values changed; the same object where none was."""
    if isinstance(value, msgspec.Struct):
        return _each_field(value, change)
    if isinstance(value, dict):
        items = {key: change(item) for key, item in value.items()}
        return items if any(items[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        changed = [change(item) for item in value]
        same = all(one is other for one, other in zip(changed, value, strict=True))
        return value if same else type(value)(changed)
    return value


def _each_field(record: msgspec.Struct, change: Callable[[object], object]) -> msgspec.Struct:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    changes = {name: new for name, old in fields.items() if (new := change(old)) is not old}
    return msgspec.structs.replace(record, **changes) if changes else record


def _escape(value: object) -> object:
    if isinstance(value, dict):
        return {_escaped(key): _escape(item) for key, item in value.items()}
    return each_value(value, _escape)


def _escaped(key: object) -> object:
    """Keys of data are text; those of the engine's own mappings may be numbers."""
    return f"${key}" if isinstance(key, str) and _is_mark(key) else key


def _unescaped(key: str) -> str:
    return key[1:] if key != MARK and _is_mark(key) else key


def _is_mark(key: str) -> bool:
    """The mark, or the mark escaped any number of times."""
    return key.endswith(MARK) and key.lstrip("$") == _WORD
