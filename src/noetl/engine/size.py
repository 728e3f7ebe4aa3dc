"""The one place that keeps events small: large values are stored elsewhere and a reference travels instead.

`fit` comes before a fact is applied and appended, so that state and log hold the same. The blobs it names are
stored first. Where data is used, `hydrate` puts it back.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import TypeVar

import msgspec

from noetl.engine import view
from noetl.engine.events import ExecutionCancelled, Fact, IterationDone, LoopDone, LoopStarted, Seed, TaskDone
from noetl.engine.gathering import Gathered, Write
from noetl.engine.holds import Lasting, extend, needed
from noetl.engine.layering import knob
from noetl.engine.lifted import Lifted
from noetl.engine.names import step_of
from noetl.engine.output import Error, Output
from noetl.engine.parts import parts_of
from noetl.engine.reference import (
    External,
    Gone,
    Reference,
    ReferenceMeta,
    decode_value,
    each_value,
    encode_value,
    has_mark,
    key_of,
)
from noetl.engine.scopes import patched
from noetl.errors import TemplateError

PAYLOAD_BYTES_MAX = 64 * 1024
PAYLOAD_BYTES_MIN = 4 * 1024
"""A payload may always be this large: its ids and references need room, however small an author wants data to be."""

SPILL_BYTES_MIN = 1024
"""What is smaller is not worth a reference, which takes up about half of this where an output shows it too."""

TEXT_CHARS_MAX = 2_000
"""How much of a message or a traceback is kept where an event would be too large."""

_REFERENCE_BYTES = 600
_WHOLE = {(Output, "data"), (Error, "details"), (LoopStarted, "collection"), (Write, "value")}
"""Fields whose value is stored as one; of other mappings and lists each element may be."""

_NESTED = {(Output, "blocks"), (Seed, "outputs")}
"""Mappings whose values are small records with large fields."""

_TOGETHER = {(IterationDone, "reduced"), (Gathered, "reduced"), (Output, "selected")}
"""What the server itself goes on calculating with, so that it stays in the fact."""

_TEXTS = {(Error, "message"), (ExecutionCancelled, "reason")}

NOTHING_GONE: Mapping[str, TemplateError] = {}

T = TypeVar("T")
Change = Callable[[object], object]


class Blob(msgspec.Struct, frozen=True):
    """Bytes to store under their digest."""

    sha256: str
    data: bytes


class Fitted(msgspec.Struct, frozen=True):
    """A fact as it is applied and recorded, its payload in JSON, and what must be stored before."""

    fact: Fact
    payload: bytes
    blobs: tuple[Blob, ...] = ()


class Stored(msgspec.Struct, frozen=True):
    """A task's output once its data is stored: `output` as the pipeline sees it, `data` as events carry it."""

    output: Output
    data: object
    blobs: tuple[Blob, ...] = ()


def fit(fact: Fact, limit_bytes: int = PAYLOAD_BYTES_MAX) -> Fitted:
    """The fact with as few values stored elsewhere as it takes, the largest first.

    A fact that is too large for its structure alone, such as one with very many tokens, is stored whole.
    """
    payload = encode_value(fact)
    limit = max(limit_bytes, PAYLOAD_BYTES_MIN)
    if len(payload) <= limit:
        return Fitted(fact, payload)
    short = _each_place(fact, _same)
    blobs, change = _spill(short, len(encode_value(short)) - limit)
    fitted = _each_place(short, change)
    payload = encode_value(fitted)
    if len(payload) <= limit:
        return Fitted(fitted, payload, blobs)
    whole = _blob(payload)
    return Fitted(fitted, encode_value(External(_reference(whole))), (*blobs, whole))


class Spill:
    """Fits the facts of one transaction in order; `payloads` and `blobs` are what the shell then stores.

    `needs` are the objects that the facts refer to, those that they referred to before they were fitted included.
    """

    def __init__(self, limit_bytes: int = PAYLOAD_BYTES_MAX, kept_steps: frozenset[str] = frozenset()) -> None:
        self.limit_bytes = limit_bytes
        self.kept_steps = kept_steps
        self.payloads: list[bytes] = []
        self.blobs: dict[str, Blob] = {}
        self.needs: Lasting = {}

    def __call__(self, fact: Fact) -> Fact:
        if isinstance(fact, LoopDone) and not fact.path and step_of(fact.step_run_id) in self.kept_steps:
            stored = store(fact.output, limit_bytes=self.limit_bytes, always=True)
            fact = msgspec.structs.replace(fact, output=stored.output)
            self._keep(stored.blobs)
        fitted = fit(fact, self.limit_bytes)
        self._keep(fitted.blobs)
        self.payloads.append(fitted.payload)
        if has_mark(fitted.payload):
            for sha256, ttl_s in needed(fact):
                extend(self.needs, sha256, ttl_s)
        return fitted.fact

    def over(self, stored: view.Stored) -> view.Stored:
        return _Fresh(self.blobs, stored)

    def _keep(self, blobs: tuple[Blob, ...]) -> None:
        for blob in blobs:
            self.blobs[blob.sha256] = blob
            extend(self.needs, blob.sha256, None)


class _Fresh:
    """What a transaction is about to store, and under it what is stored."""

    def __init__(self, blobs: Mapping[str, Blob], stored: view.Stored) -> None:
        self.blobs, self.stored = blobs, stored

    def length(self, stored: External | Reference) -> int | None:
        blob = self._blob(_referred(stored))
        if blob is None:
            return self.stored.length(stored)
        found = decode_value(blob.data)
        return len(found) if isinstance(found, list) else None

    def element(self, stored: External | Reference, index: int) -> object:
        blob = self._blob(_referred(stored))
        if blob is None:
            return self.stored.element(stored, index)
        found = decode_value(blob.data)
        assert isinstance(found, list)
        return hydrate(found[index], self.fetch)

    def fetch(self, reference: Reference) -> bytes:
        blob = self._blob(reference)
        return self.stored.fetch(reference) if blob is None else blob.data

    def _blob(self, reference: Reference) -> Blob | None:
        return self.blobs.get(reference.meta.sha256 or "")


def _referred(stored: External | Reference) -> Reference:
    return stored.reference if isinstance(stored, External) else stored


def store(output: Output, *, limit_bytes: int, always: bool, ttl: str | None = None) -> Stored:
    """Data over the limit, or data whose reference is read, goes to the store; a tool's own reference stays."""
    data = encode_value(output.data)
    is_large = len(data) > limit_bytes
    if not is_large and (not always or output.ref is not None):
        return Stored(output, output.data)
    blob = _blob(data)
    reference = _reference(blob, ttl)
    referred = msgspec.structs.replace(output, ref=output.ref or reference)
    carried = _external(blob, output.data, ttl) if is_large else output.data
    return Stored(referred, carried, (blob,))


def recorded(done: TaskDone, stored: Stored) -> TaskDone:
    """A task's end as events carry it."""
    return msgspec.structs.replace(done, output=msgspec.structs.replace(done.output, data=stored.data))


def hydrate(
    value: object, fetch: Callable[[Reference], bytes], gone: Mapping[str, TemplateError] = NOTHING_GONE
) -> object:
    """A value, or a record such as a cursor, with all data put back. References that authors hold stay.

    In the place of objects that are `gone` stands what says so.
    """
    if isinstance(value, External):
        error = gone.get(key_of(value.reference))
        if error is not None:
            return Gone(value, error)
        data = fetch(value.reference)
        found = decode_value(data)
        if has_mark(data):  # to walk through data takes ten times as long as to decode it
            found = hydrate(found, fetch, gone)
        return _patched(found, hydrate(value.patch, fetch, gone)) if value.patch else found
    if isinstance(value, Reference):
        return value
    return each_value(value, lambda item: hydrate(item, fetch, gone))


def as_stored(value: T) -> T:
    """A value or a record in which what is gone is a stored value again, as it was before it was hydrated."""
    return value.stored if isinstance(value, Gone) else each_value(value, as_stored)  # type: ignore[return-value]


def owner_of(reference: Reference, outputs: Mapping[str, object]) -> str | None:
    """The step whose output is stored there."""
    key = key_of(reference)
    return next((name for name, output in outputs.items() if key in map(key_of, stored_in(output))), None)


def _patched(value: object, patch: object) -> object:
    assert isinstance(patch, dict)
    return patched(value if isinstance(value, dict) else {}, patch)


def stored_in(value: object) -> Iterator[Reference]:
    """What `hydrate` would fetch first, for those who fetch ahead. What is fetched may name more."""
    if isinstance(value, External):
        yield value.reference
        yield from stored_in(value.patch)
    else:
        for part in parts_of(value):
            yield from stored_in(part)


def inline_bytes_max(spec: Mapping[str, object]) -> int:
    """How large the data of a task may be inside an event, by its layered spec."""
    found = knob(spec, "result", "inline_max_bytes")
    return min(found, PAYLOAD_BYTES_MAX) if isinstance(found, int) else PAYLOAD_BYTES_MAX


def ttl_of(spec: Mapping[str, object]) -> str | None:
    """How long the stored data of a task is kept, by its layered spec; None is for good."""
    found = knob(spec, "result", "ttl")
    return str(found) if found is not None else None


def _spill(fact: Fact, over_bytes: int) -> tuple[tuple[Blob, ...], Change]:
    """What to store, the largest first, until the excess is gone; and the change that puts references in its place."""
    encoded: dict[int, bytes] = {}

    def weigh(value: object) -> object:
        if isinstance(value, str | dict | list):
            encoded[id(value)] = encode_value(value)
        return value

    _each_place(fact, weigh)
    chosen: dict[int, Blob] = {}
    for key, data in sorted(encoded.items(), key=lambda item: -len(item[1])):
        if over_bytes <= 0 or len(data) < SPILL_BYTES_MIN:
            break
        chosen[key] = _blob(data)
        over_bytes -= len(data) - _REFERENCE_BYTES

    def change(value: object) -> object:
        return _external(chosen[id(value)], value) if id(value) in chosen else value

    return tuple(chosen.values()), change


def _each_place(fact: Fact, change: Change) -> Fact:
    """A fact with every value changed that may be stored elsewhere, and with its messages cut."""
    return _record(fact, change)  # type: ignore[return-value]


def _record(record: msgspec.Struct, change: Change) -> msgspec.Struct:
    if isinstance(record, Reference | External):
        return record
    changes: dict[str, object] = {}
    for name in record.__struct_fields__:
        old = getattr(record, name)
        new = _field(record, name, old, change)
        if new is not old:
            changes[name] = new
    data = changes.get("data")
    if isinstance(record, Output) and record.ref is None and isinstance(data, External):
        changes["ref"] = data.reference
    return msgspec.structs.replace(record, **changes) if changes else record


def _field(record: msgspec.Struct, name: str, value: object, change: Change) -> object:
    place = (type(record), name)
    if place in _TOGETHER:
        return value
    if place in _WHOLE:
        return change(value)
    if place in _NESTED:
        return each_value(value, lambda inner: _nested(inner, change))
    if isinstance(value, str):
        return _cut(value) if place in _TEXTS else value
    return _record(value, change) if isinstance(value, msgspec.Struct) else _elements(value, change)


def _elements(value: object, change: Change) -> object:
    return each_value(value, lambda item: _element(item, change))


def _element(value: object, change: Change) -> object:
    return _record(value, change) if isinstance(value, msgspec.Struct) else change(value)


def _nested(record: object, change: Change) -> object:
    """A block of an output, such as `py` with its traceback, or an output as other steps read it."""
    if isinstance(record, Lifted):
        return msgspec.structs.replace(record, value=_elements(record.value, change))
    trace = record.get("traceback") if isinstance(record, dict) else None
    if isinstance(record, dict) and isinstance(trace, str) and len(trace) > TEXT_CHARS_MAX:
        record = record | {"traceback": _cut(trace, keeps_end=True)}
    return _elements(record, change)


def _cut(text: str, *, keeps_end: bool = False) -> str:
    if len(text) <= TEXT_CHARS_MAX:
        return text
    note = f"[{len(text)} characters in all]"
    room = TEXT_CHARS_MAX - len(note) - 1
    return f"{note} {text[-room:]}" if keeps_end else f"{text[:room]} {note}"


def _same(value: object) -> object:
    return value


def _blob(data: bytes) -> Blob:
    return Blob(sha256(data).hexdigest(), data)


def _external(blob: Blob, value: object, ttl: str | None = None) -> External:
    return External(_reference(blob, ttl), holds=type(value).__name__)


def _reference(blob: Blob, ttl: str | None = None) -> Reference:
    meta = ReferenceMeta(bytes=len(blob.data), sha256=blob.sha256, ttl=ttl)
    return Reference("blob", {"sha256": blob.sha256}, meta=meta)
