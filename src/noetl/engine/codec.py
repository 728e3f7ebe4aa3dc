"""Events to JSON and back: one encode an event, unknown fields ignored, unknown names answered by a value."""

import msgspec

from noetl.engine.envelope import NAMES, Event
from noetl.engine.events import EVENT_VERSION, Body
from noetl.engine.reference import MARK, revive
from noetl.engine.upcast import upcast

_TYPES: dict[str, type[Body]] = {name: type_ for type_, (name, _) in NAMES.items()}
_MARK = f'"{MARK}"'.encode()
_ESCAPED = f'"${MARK}'.encode()
_encoder = msgspec.json.Encoder()


class UnknownEvent(msgspec.Struct, frozen=True):
    """An event that this version cannot read: of a name it does not know, or of a form newer than its own."""

    name: str
    seq: int
    reason: str


class _Sealed(msgspec.Struct, frozen=True):
    """An envelope whose payload is not opened yet."""

    event_id: str
    execution_id: str
    seq: int
    timestamp: float
    source: str
    name: str
    entity_type: str
    entity_id: str
    status: str
    payload: msgspec.Raw
    step_run_id: str | None = None
    iteration_id: str | None = None
    task_run_id: str | None = None
    task_label: str | None = None
    attempt: int | None = None
    parent_execution_id: str | None = None
    version: int = EVENT_VERSION


_sealed = msgspec.json.Decoder(_Sealed)
_bodies: dict[str, msgspec.json.Decoder[Body]] = {name: msgspec.json.Decoder(type_) for name, type_ in _TYPES.items()}


def encode(event: Event) -> bytes:
    return _encoder.encode(event)


def decode(data: bytes) -> Event | UnknownEvent:
    sealed = _sealed.decode(data)
    decoder = _bodies.get(sealed.name)
    if decoder is None:
        return UnknownEvent(sealed.name, sealed.seq, "this version knows no event of that name")
    if sealed.version > EVENT_VERSION:
        return UnknownEvent(sealed.name, sealed.seq, f"its form {sealed.version} is newer than {EVENT_VERSION}")
    if sealed.version == EVENT_VERSION and _MARK not in data and _ESCAPED not in data:
        return _opened(sealed, decoder.decode(sealed.payload))
    raw = upcast(sealed.name, sealed.version, msgspec.json.decode(sealed.payload))
    return _opened(sealed, msgspec.convert(revive(raw), _TYPES[sealed.name]))


def _opened(sealed: _Sealed, body: Body) -> Event:
    return Event(
        sealed.event_id,
        sealed.execution_id,
        sealed.seq,
        sealed.timestamp,
        sealed.source,
        sealed.name,
        sealed.entity_type,
        sealed.entity_id,
        sealed.status,
        body,
        sealed.step_run_id,
        sealed.iteration_id,
        sealed.task_run_id,
        sealed.task_label,
        sealed.attempt,
        sealed.parent_execution_id,
        sealed.version,
    )
