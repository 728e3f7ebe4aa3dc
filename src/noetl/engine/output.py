"""The output of a task, a step or an execution: one envelope everywhere, and how templates see it."""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256

import msgspec

from noetl.engine.lifted import DATA, Way, with_names
from noetl.engine.reference import Reference
from noetl.playbook.model import Dialect


class Status(StrEnum):
    OK = "ok"
    ERROR = "error"


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: str
    message: str
    retryable: bool = False
    details: object = None

    @property
    def named(self) -> Mapping[str, object]:
        """The details by their names. Those of tools may have any form, and then none has a name."""
        return self.details if isinstance(self.details, Mapping) else {}


class Meta(msgspec.Struct, frozen=True, omit_defaults=True):
    attempt: int = 1
    duration_ms: float = 0.0
    started_at: float | None = None
    ts: float | None = None
    task_run_id: str | None = None
    delivery: int = 1
    trace_id: str | None = None


class Loop(msgspec.Struct, frozen=True):
    """How the iterations of a loop step ended; `skipped` ones never started."""

    total: int
    succeeded: int
    failed: int
    skipped: int


class Output(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`blocks` holds what the kind adds: `{"http": {"status": 200, …}}`.

    `selected` are the small values that were lifted out of the data, and that templates read as `output.data.<name>`.
    """

    status: Status = Status.OK
    data: object = None
    ref: Reference | None = None
    error: Error | None = None
    meta: Meta = Meta()
    blocks: Mapping[str, object] = {}
    loop: Loop | None = None
    selected: Mapping[str, object] = {}


NOTHING = Output()

_NULL_SHA256 = sha256(b"null").hexdigest()
"""A reference to null is that of an output without data, stored because its text reads the reference."""


def is_of_tool(output: Output) -> bool:
    """Whether a tool stored the data itself, so that its reference stands for it."""
    return output.data is None and output.ref is not None and output.ref.meta.sha256 != _NULL_SHA256


def failed(kind: str, message: str, *, retryable: bool = False, details: object = None) -> Output:
    return Output(status=Status.ERROR, error=Error(kind, message, retryable, details))


def view(output: Output, kind: str, dialect: Dialect) -> object:
    """What templates read as `output` (and, in v10 documents, as `outcome`)."""
    seen = fields(output)
    if dialect is Dialect.CANONICAL:
        return with_names(seen, output.selected, DATA)
    seen["result"] = result(output, kind)
    return with_names(seen, output.selected, DATA, ("result", *_way(kind)))


def fields(output: Output) -> dict[str, object]:
    """An output as a mapping."""
    seen: dict[str, object] = {
        "status": output.status.value,
        "data": output.data,
        "ref": output.ref,
        "error": msgspec.structs.asdict(output.error) if output.error is not None else None,
        "meta": msgspec.structs.asdict(output.meta),
    }
    if output.loop is not None:
        seen["loop"] = msgspec.structs.asdict(output.loop)
    seen.update(output.blocks)
    return seen


def previous(output: Output, kind: str, dialect: Dialect) -> object:
    """What later templates read as `_prev`."""
    if dialect is Dialect.CANONICAL:
        return with_names(output.data, output.selected, ())
    return with_names(result(output, kind), output.selected, _way(kind))


def result(output: Output, kind: str) -> object:
    """v10's reading of the data: for http the body stands beside the status code and the headers."""
    if kind != "http":
        return output.data
    http = output.blocks.get("http")
    block = http if isinstance(http, dict) else {}
    return {"data": output.data, "status_code": block.get("status"), "headers": block.get("headers")}


def _way(kind: str) -> Way:
    """How v10's `result` leads to the data."""
    return DATA if kind == "http" else ()
