"""How a run ended: the result for programs, a word for people, an exit code for both."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from noetl.cli.console import OK, Console
from noetl.cli.embedded import Local
from noetl.cli.live.progress import Progress
from noetl.cli.live.words import moment, short_id
from noetl.cli.origins import with_names
from noetl.cli.reading import loader_of
from noetl.cli.reports.json import printed
from noetl.engine.blame import callers_shown, cause_of, origin_of, step_to_blame
from noetl.engine.output import NOTHING, Error, Output, fields
from noetl.supply.manifest import iterations_of
from noetl.supply.shelf import Missing, Shelf

FAILED = 1
CANCELLED = 4
SHELF_BYTES_MAX = 256 * 1024 * 1024


async def report_end(local: Local, progress: Progress, path: str, console: Console, *, as_json: bool) -> int:
    output = await whole_output(local, progress.output or NOTHING)
    progress.error = await with_names(loader_of(local, local.store), progress.execution_id, progress.error)
    if as_json:
        console.data(printed(_record(progress, path, output)))
    elif progress.status == "completed":
        _print(output.data, console)
    if progress.status != "completed" and not as_json:
        console.say("\n".join(_told(progress.status, progress.error)))
    return {"completed": OK, "cancelled": CANCELLED}.get(progress.status, FAILED)


def failed_iterations(progress: Progress) -> str | None:
    """Of a run that was completed all the same, because its loops go on after a failure."""
    lines = [line for line in progress.steps.values() if line.failed and progress.status == "completed"]
    if not lines:
        return None
    counts = ", ".join(f"{line.failed} of {line.total} iterations of step `{line.name}`" for line in lines)
    run = short_id(progress.execution_id)
    return f"completed, and {counts} failed\n  = see: noetl status {run}; again: noetl rerun {run} --failed-iterations"


async def whole_output(local: Local, output: Output) -> Output:
    """The output with its data, wherever that is stored; what is gone stays a reference."""
    shelf = Shelf(local.results, SHELF_BYTES_MAX, iterations_of(local.store))
    try:
        found = await shelf.hydrated(output)
    except Missing:
        return output
    assert isinstance(found, Output)
    return found


def _told(status: str, error: Error | None) -> Iterator[str]:
    """The cause first; where it lies in a playbook that was called, the way there."""
    origin = origin_of(error) if error is not None else None
    if error is None or origin is None:
        yield status if error is None else f"{status}: {error.message}"
        return
    yield f"{status}: {cause_of(error)}"
    task = f"task `{origin['task']}` of " if origin.get("task") else ""
    step = f"step `{origin['step']}` of " if origin.get("step") else ""
    yield f"  in {task}{step}playbook {origin.get('playbook')}"
    yield from (f"  called by playbook {caller}{times}" for caller, times in callers_shown(origin))
    if (own := step_to_blame(error)) is not None:
        yield f"  called by step `{own}`, and no arc takes its failure"
    yield f"  = look: noetl status {shlex.quote(str(origin.get('execution_id')))}"


def _record(progress: Progress, path: str, output: Output) -> dict[str, object]:
    started, ended = progress.started_at or 0.0, progress.ended_at or 0.0
    return {
        "execution_id": progress.execution_id,
        "playbook": path,
        "status": progress.status,
        "output": fields(output),
        "error": progress.error,
        "started_at": moment(started),
        "finished_at": moment(ended),
        "duration_ms": round((ended - started) * 1000, 3),
    }


def _print(data: object, console: Console) -> None:
    """Text as it is, anything else as JSON; nothing where there is nothing."""
    if data is None:
        return
    if isinstance(data, str):
        console.data(data if data.endswith("\n") else f"{data}\n")
        return
    console.data(printed(data))
