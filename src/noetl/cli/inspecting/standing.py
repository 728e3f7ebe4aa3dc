"""Where an execution stands, from its last snapshot and what came after it: a long log is not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from noetl.cli.console import OK, Console
from noetl.cli.executing import Printed
from noetl.cli.finding import is_interrupted
from noetl.cli.inspecting import children, failures
from noetl.cli.inspecting.opening import found
from noetl.cli.live.progress import Progress, StepLine
from noetl.cli.live.restored import numbers_of, progress_of
from noetl.cli.live.terminal import View, picture
from noetl.cli.live.words import cut
from noetl.cli.origins import short_name, with_names
from noetl.cli.presence import NOBODY, Present, who_is_present
from noetl.cli.reading import loader_of, times_of
from noetl.cli.reports.json import printed
from noetl.control_plane.loading import Loaded, Loader, Unreadable
from noetl.engine.explain.waits import For, Wait, explain_incidents, explain_waits
from noetl.engine.incidents import Incident
from noetl.engine.state import State
from noetl.ports import Store, Summary

if TYPE_CHECKING:
    from noetl.cli.console import Paint

INCIDENTS_MAX = 100
WAITS_SHOWN_MAX = 10
WAIT_WIDTH_MAX = 400
STANDING = (For.OPERATOR, For.TIMER)
"""What is waited for though nobody works on the execution."""

WIDTH = 120


class Standing(msgspec.Struct, frozen=True):
    """`incidents` may end with one that is not stored: why the log cannot be read here."""

    summary: Summary
    progress: Progress
    ctx: object
    waits: Sequence[Wait]
    incidents: Sequence[Incident]
    state: State | None = None


class Told(msgspec.Struct, frozen=True):
    """All that is told of an execution; `is_interrupted` where it has not ended and nobody works on it."""

    standing: Standing
    failed: Sequence[failures.Failed]
    children: children.Children
    is_interrupted: bool


async def show_status(wanted: Printed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    has_times = wanted.output == "text"
    async with found(wanted.id, folder, environment, console) as (local, summary):
        standing = await standing_of(local.store, loader_of(local, local.store), summary, has_times=has_times)
        told = await told_of(local.store, standing, who_is_present(local.home))
        now = local.system.now()
    if wanted.output == "json":
        console.data(printed(record(told)))
    else:
        for line in lines(told, now, console.paint_data()):
            console.data(f"{line}\n")
    return OK


async def told_of(store: Store, standing: Standing, there: Present = NOBODY) -> Told:
    name = standing.summary.execution_id
    failed = await failures.failures_of(store, standing.state) if standing.state is not None else []
    below = await children.children_of(store, name)
    return Told(standing, failed, below, await is_interrupted(store, standing.summary, there))


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
    progress.error = await with_names(loader, state.execution_id, progress.error)
    return Standing(summary, progress, state.ctx, await _waits(store, loaded, incidents), incidents, state)


def _unreadable(summary: Summary, incidents: Sequence[Incident]) -> Standing:
    progress = Progress(summary.path, summary.execution_id, ())
    progress.status = summary.status
    return Standing(summary, progress, {}, explain_incidents(incidents), incidents)


async def _waits(store: Store, loaded: Loaded, incidents: Sequence[Incident]) -> Sequence[Wait]:
    if loaded.state.has_ended or loaded.program is None:
        return ()
    _, rows = await store.rows(loaded.state.execution_id)
    return explain_waits(loaded.program, loaded.state, incidents, rows.work)


def lines(told: Told, now: float, paint: Paint) -> Iterator[str]:
    """Of an execution on which nobody works, as it was when that ended."""
    standing = told.standing
    name, progress = standing.summary.execution_id, standing.progress
    at = standing.summary.changed_at if told.is_interrupted else now
    yield from picture(progress, View(at, WIDTH, paint, is_still=told.is_interrupted))
    origin = _origin(standing)
    rerun = f", a rerun of {short_name(origin)}" if origin is not None else ""
    yield f"  {'interrupted' if told.is_interrupted else progress.status}{rerun}"
    if progress.error is not None:
        yield f"  {paint(progress.error.message, 'error')}"
    yield from _waiting(told)
    yield from failures.told(told.failed, name)
    yield from children.told(told.children, name, is_interrupted=told.is_interrupted)


def _origin(standing: Standing) -> str | None:
    origin = standing.state.origin if standing.state is not None else None
    return origin.execution_id if origin is not None else None


def _waiting(told: Told) -> Iterator[str]:
    name = told.standing.summary.execution_id
    waits = told.standing.waits
    if told.is_interrupted:
        waits = [wait for wait in waits if wait.kind in STANDING]
        root = name.partition(".")[0]
        yield f"  no process works on it; go on with: noetl run --resume {root}"
    for wait in waits[:WAITS_SHOWN_MAX]:
        yield f"  {cut(wait.text, WAIT_WIDTH_MAX)}"
    if len(waits) > WAITS_SHOWN_MAX:
        yield f"  … {len(waits) - WAITS_SHOWN_MAX} more; see: noetl status {name} -o json"


def record(told: Told) -> dict[str, object]:
    standing, progress = told.standing, told.standing.progress
    return {
        "execution_id": standing.summary.execution_id,
        "playbook": standing.summary.path,
        "status": progress.status,
        "interrupted": told.is_interrupted,
        "rerun_of": _origin(standing),
        "error": progress.error,
        "steps": [_step(line) for line in progress.steps.values()],
        "failures": [_failure(step, each) for step in told.failed for each in step.failures],
        "children": [_child(each) for each in told.children.shown],
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


def _failure(step: failures.Failed, each: failures.Failure) -> dict[str, object]:
    return {
        "step": step.step,
        "iteration": each.path or None,
        "item": each.item or None,
        "kind": each.kind,
        "message": each.message,
        "traceback": each.traceback or None,
    }


def _child(each: Summary) -> dict[str, object]:
    return {"execution_id": each.execution_id, "playbook": each.path, "status": each.status}
