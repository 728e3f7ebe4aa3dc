"""What tools answer. The answer of a run depends on its id and the seed alone, never on the order of things."""

from collections.abc import Mapping
from random import Random

from noetl.engine.output import Error, Output, Status
from noetl.engine.program import ReadyTask
from noetl.engine.reference import Reference, ReferenceMeta

BLOCKS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "http": ("http", {"status": 200, "headers": {"etag": "x"}, "request_id": None, "url": "http://api.test"}),
    "postgres": ("pg", {"code": None, "sqlstate": None, "row_count": 1}),
    "python": ("py", {"exception_type": None, "traceback": None}),
    "script": ("process", {"exit_code": 0, "stdout": "", "stderr": ""}),
    "duckdb": ("duckdb", {}),
}
DATA: tuple[object, ...] = (
    None,
    1,
    7,
    "ok",
    [1, 2],
    {"rows": [{"id": 3}], "page": 2},
    {"$noetl": "ref", "type": "fake"},
)
ERRORS = (
    Error("connect", "no connection", retryable=True),
    Error("http_status", "status 404"),
    Error("exception", "it raised", details={"line": 3}),
)


def workload(seed: int) -> dict[str, object]:
    """A large request: what the playbook declares, made larger."""
    rows = [{"id": number, "parts": [1, 2], "pad": "r" * 900} for number in range(5)]
    return {"message": "m" * (1_500 + seed % 1_000)} | ({"rows": rows} if seed % 2 else {})


def outcome(seed: int, execution_id: str, task_run_id: str, task: ReadyTask, *, is_bulky: bool) -> Output:
    chance = Random(f"{seed}/{execution_id}/{task_run_id}")
    name, block = BLOCKS.get(task.task.kind, ("", {}))
    blocks: Mapping[str, object] = {name: block} if name else {}
    if chance.random() < 0.12:
        return Output(status=Status.ERROR, error=chance.choice(ERRORS), blocks=blocks)
    if chance.random() < 0.15 or ".ref" in str(task.task.set):
        stored = Reference("blob", {"key": task_run_id}, meta=ReferenceMeta(bytes=10**6, sha256="0" * 64))
        return Output(ref=stored, blocks=blocks)
    if is_bulky and chance.random() < 0.6:
        return Output(data=_bulk(chance), blocks=blocks)
    return Output(data=chance.choice(DATA), blocks=blocks)


def _bulk(chance: Random) -> object:
    """Data about as large as what an event may hold: alone it may fit, beside other data not."""
    text = "x" * chance.randint(500, 5_000)
    return chance.choice((text, [text, 1], {"rows": [{"id": 3}], "text": text}, {"$noetl": text}))


def kills(seed: int, execution_id: str, key: str) -> bool:
    """Whether a task kills every worker that tries it."""
    return Random(f"{seed}!{execution_id}/{key}").random() < 0.01
