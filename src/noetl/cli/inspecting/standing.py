"""Where an execution stands, from its last snapshot and what came after it: a long log is not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from noetl.cli.console import OK, Console
from noetl.cli.executing import Printed
from noetl.cli.inspecting.opening import found
from noetl.cli.live.progress import Progress, StepLine
from noetl.cli.live.restored import numbers_of, progress_of
from noetl.cli.live.terminal import View, picture
from noetl.cli.reading import loader_of, times_of
from noetl.cli.reports.json import printed
from noetl.control_plane.loading import Loaded, Loader, Unreadable
from noetl.engine.explain.waits import Wait, explain_incidents, explain_waits
from noetl.engine.incidents import Incident
from noetl.ports import Store, Summary

INCIDENTS_MAX = 100
WAITS_SHOWN_MAX = 10
WIDTH = 120


class Standing(msgspec.Struct, frozen=True):
    """`incidents` may end with one that is not stored: why the log cannot be read here."""

    summary: Summary
    progress: Progress
    ctx: object
    waits: Sequence[Wait]
    incidents: Sequence[Incident]


async def show_status(wanted: Printed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    has_times = wanted.output == "text"
    async with found(wanted.id, folder, environment) as (local, summary):
        standing = await standing_of(local.store, loader_of(local, local.store), summary, has_times=has_times)
        now = local.system.now()
    if wanted.output == "json":
        console.data(printed(record(standing)))
    else:
        for line in _lines(standing, now, console):
            console.data(f"{line}\n")
    return OK


async def standing_of(store: Store, loader: Loader, summary: Summary, *, has_times: bool = False) -> Standing:
    """What people ask an execution. Without a state it is known by its summary and its incidents alone."""
    incidents = await store.incidents(summary.execution_id, INCIDENTS_MAX)
    try:
        loaded = await loader.load(summary.execution_id)
    except Unreadable as trouble:
        return _unreadable(summary, [*incidents, trouble.incident])
    state, program = loaded.state, loaded.program
    assert program is not None, "an execution with a summary has a log"
    times = await times_of(store, state.execution_id, numbers_of(state)) if has_times else {}
    progress = progress_of(program, state, summary, times)
    return Standing(summary, progress, state.ctx, await _waits(store, loaded, incidents), incidents)


def _unreadable(summary: Summary, incidents: Sequence[Incident]) -> Standing:
    progress = Progress(summary.path, summary.execution_id, ())
    progress.status = summary.status
    return Standing(summary, progress, {}, explain_incidents(incidents), incidents)


async def _waits(store: Store, loaded: Loaded, incidents: Sequence[Incident]) -> Sequence[Wait]:
    if loaded.state.has_ended or loaded.program is None:
        return ()
    _, rows = await store.rows(loaded.state.execution_id)
    return explain_waits(loaded.program, loaded.state, incidents, rows.work)


def _lines(standing: Standing, now: float, console: Console) -> Iterator[str]:
    paint = console.paint_data()
    yield from picture(standing.progress, View(now, WIDTH, paint))
    yield f"  {standing.progress.status}"
    if standing.progress.error is not None:
        yield f"  {paint(standing.progress.error.message, 'error')}"
    for wait in standing.waits[:WAITS_SHOWN_MAX]:
        yield f"  {wait.text}"
    if len(standing.waits) > WAITS_SHOWN_MAX:
        more = len(standing.waits) - WAITS_SHOWN_MAX
        yield f"  … {more} more; see: noetl status {standing.summary.execution_id} -o json"


def record(standing: Standing) -> dict[str, object]:
    progress = standing.progress
    return {
        "execution_id": standing.summary.execution_id,
        "playbook": standing.summary.path,
        "status": progress.status,
        "error": progress.error,
        "steps": [_step(line) for line in progress.steps.values()],
        "ctx": standing.ctx,
        "waiting_for": [wait.text for wait in standing.waits],
        "incidents": [
            {"kind": each.kind, "message": each.message, "remedy": each.remedy} for each in standing.incidents
        ],
    }


def _step(line: StepLine) -> dict[str, object]:
    counts = {"done": line.done, "failed": line.failed, "total": line.total}
    return {
        "name": line.name,
        "status": line.mark,
        "runs": line.runs,
        "iterations": counts if line.total is not None else None,
    }
