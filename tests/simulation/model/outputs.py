"""Outputs as the model knows them: of a task, a step, a loop or a child; and how templates see them."""

from collections.abc import Mapping

import msgspec

from noetl.engine.output import Error, Loop, Output
from noetl.playbook.model import Dialect
from tests.simulation.model.values import UNSURE, Unsure


class Out(msgspec.Struct, frozen=True):
    """`ref` is UNSURE where the runtime makes the reference itself; `error` is what templates see of it."""

    status: str = "ok"
    data: object = None
    ref: object = None
    error: Mapping[str, object] | None = None
    blocks: Mapping[str, object] = {}
    loop: Loop | Unsure | None = None

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"


NOTHING = Out()


def from_tool(output: Output) -> Out:
    error = msgspec.structs.asdict(output.error) if output.error is not None else None
    return Out(str(output.status), output.data, output.ref, error, output.blocks, output.loop)


def mistake(kind: str) -> Mapping[str, object]:
    """An error of the runtime's own. How it is worded is not the model's business."""
    return {**msgspec.structs.asdict(Error(kind, "")), "message": UNSURE, "details": UNSURE}


def failure(kind: str) -> Out:
    return Out("error", error=mistake(kind))


def with_error(output: Out, kind: str) -> Out:
    return msgspec.structs.replace(output, status="error", error=mistake(kind))


def kind_of(output: Out) -> object:
    return output.error["kind"] if output.error is not None else None


def kept(output: Out) -> dict[str, object]:
    """What `{{ name.data }}` and its like read."""
    return {"data": output.data, "ref": output.ref, "status": output.status}


def result(output: Out, kind: str, dialect: Dialect) -> object:
    """What `_prev` becomes."""
    if dialect is not Dialect.V10 or kind != "http":
        return output.data
    block = output.blocks.get("http")
    http = block if isinstance(block, Mapping) else {}
    return {"data": output.data, "status_code": http.get("status"), "headers": http.get("headers")}


def seen(output: Out, kind: str, dialect: Dialect, attempt: int | Unsure = UNSURE) -> dict[str, object]:
    """`output`, and in v10 documents `outcome`."""
    shown: dict[str, object] = {
        "status": output.status,
        "data": output.data,
        "ref": output.ref,
        "error": output.error,
        "meta": {"attempt": attempt, "duration_ms": UNSURE, "started_at": UNSURE, "ts": UNSURE},
        **output.blocks,
    }
    if output.loop is not None:
        shown["loop"] = msgspec.structs.asdict(output.loop) if isinstance(output.loop, Loop) else UNSURE
    if dialect is not Dialect.V10:
        return {"output": shown}
    shown["result"] = result(output, kind, dialect)
    return {"output": shown, "outcome": shown}
