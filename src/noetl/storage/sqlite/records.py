"""Rows of the tables, and records as their bytes. Data of authors in them is marked as it is in events."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from noetl.engine.commands import Continue, EndWait, ExpireStep
from noetl.engine.effects import CancelChild, SetTimer, StartChild, TellParent
from noetl.engine.events import Parent, Path
from noetl.engine.incidents import Incident, Kind
from noetl.engine.leases import Work
from noetl.engine.reference import encode_value, has_mark, revive
from noetl.ports import LogChunk, Message, Registered, Summary, Timer
from noetl.storage.granting import Key

T = TypeVar("T")
TimerCommand = EndWait | ExpireStep | Continue
Body = StartChild | CancelChild | TellParent

_COMMANDS: Mapping[str, type[TimerCommand]] = {type_.__name__: type_ for type_ in (EndWait, ExpireStep, Continue)}
_BODIES: Mapping[str, type[Body]] = {type_.__name__: type_ for type_ in (StartChild, CancelChild, TellParent)}

_work = msgspec.json.Decoder(Work)
_encoder = msgspec.json.Encoder()


def path_text(path: Path) -> str:
    """`3/0/` for iteration 0 inside iteration 3: the text of what is inside begins with that of what is around it."""
    return "".join(f"{index}/" for index in path)


def path_of(text: str) -> Path:
    return tuple(map(int, text.split("/")[:-1]))


def encode_work(work: Work) -> bytes:
    return _encoder.encode(work)


def encode_record(record: TimerCommand | Body | Parent) -> bytes:
    return encode_value(record)


def _decoded(data: bytes, type_: type[T]) -> T:
    if has_mark(data):
        return msgspec.convert(revive(msgspec.json.decode(data)), type_, str_keys=True)
    return msgspec.json.decode(data, type=type_)


class NameRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str


class ObjectRow(msgspec.Struct, frozen=True, array_like=True):
    sha256: str


class HeadRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    head: int


class NumberRow(msgspec.Struct, frozen=True, array_like=True):
    number: int


class DataRow(msgspec.Struct, frozen=True, array_like=True):
    data: bytes


class SnapshotRow(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    data: bytes


class KeyRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    run: str
    path: str

    @property
    def key(self) -> Key:
        return self.execution_id, (self.run, path_of(self.path))


class WorkRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    run: str
    path: str
    record: bytes
    place: int | None
    told: int | None

    @property
    def key(self) -> Key:
        return self.execution_id, (self.run, path_of(self.path))

    @property
    def work(self) -> Work:
        return _work.decode(self.record)


class TimerRow(msgspec.Struct, frozen=True, array_like=True):
    id: int
    execution_id: str
    timer_id: str
    due_at: float
    kind: str
    command: bytes

    @property
    def timer(self) -> Timer:
        command = _decoded(self.command, _COMMANDS[self.kind])
        return Timer(self.id, self.execution_id, SetTimer(self.timer_id, self.due_at, command))


class MessageRow(msgspec.Struct, frozen=True, array_like=True):
    id: int
    sender: str
    execution_id: str
    kind: str
    body: bytes

    @property
    def message(self) -> Message:
        return Message(self.id, self.sender, self.execution_id, _decoded(self.body, _BODIES[self.kind]))


class SummaryRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    path: str
    digest: str
    status: str
    started_at: float
    changed_at: float
    head: int
    parent: bytes | None

    @property
    def summary(self) -> Summary:
        parent = _decoded(self.parent, Parent) if self.parent is not None else None
        known = (self.execution_id, self.path, self.digest, self.status, self.started_at, self.changed_at, self.head)
        return Summary(*known, parent)


class IncidentRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    kind: Kind
    message: str
    since: float
    place: str
    remedy: str

    @property
    def incident(self) -> Incident:
        return Incident(self.execution_id, self.kind, self.message, self.since, self.place, self.remedy)


class LogRow(msgspec.Struct, frozen=True, array_like=True):
    execution_id: str
    task_run_id: str
    number: int
    at: float
    stream: str
    text: str

    @property
    def chunk(self) -> LogChunk:
        return LogChunk(self.execution_id, self.task_run_id, self.number, self.at, self.stream, self.text)


class PlaybookRow(msgspec.Struct, frozen=True, array_like=True):
    path: str
    version: str
    digest: str
    model: bytes
    file: str
    places: bytes

    @property
    def registered(self) -> Registered:
        return Registered(self.path, self.version, self.digest, self.model, self.file, self.places)
