"""Where an execution stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import Local, opened
from noetl.cli.finding import find_execution
from noetl.cli.live.progress import Progress
from noetl.cli.live.terminal import picture
from noetl.cli.project import home_of
from noetl.cli.reading import events, required
from noetl.engine.envelope import Event
from noetl.engine.evolve import fold
from noetl.engine.explain.waits import Wait, explain_waits
from noetl.engine.incidents import Incident
from noetl.engine.program import Program
from noetl.ports import Summary
from noetl.supply.programs import made_ready

INCIDENTS_MAX = 100
WIDTH, HEIGHT = 120, 10_000


class Wanted(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def output(self) -> str: ...


class Standing(msgspec.Struct, frozen=True):
    summary: Summary
    progress: Progress
    ctx: object
    waits: Sequence[Wait]
    incidents: Sequence[Incident]


async def show_status(wanted: Wanted, console: Console, folder: Path, environment: dict[str, str]) -> int:
    home = required(home_of(folder, environment))
    async with opened(home, folder) as local:
        found = await standing(local, await find_execution(local.store, wanted.id))
        now = local.system.now()
    if wanted.output == "json":
        console.data(msgspec.json.format(msgspec.json.encode(_record(found)), indent=2).decode() + "\n")
    else:
        for line in _lines(found, now, console):
            console.data(f"{line}\n")
    return OK


async def standing(local: Local, summary: Summary) -> Standing:
    program = await _program(local, summary)
    log = [event async for event in events(local, summary.execution_id)]
    progress = Progress(program.playbook.metadata.name, summary.execution_id, list(program.steps))
    for event in log:
        progress.see(event)
    state = fold(program, summary.execution_id, (event.fact for event in log))
    incidents = await local.store.incidents(summary.execution_id, INCIDENTS_MAX)
    return Standing(summary, progress, state.ctx, _waits(program, summary, log, incidents), incidents)


async def _program(local: Local, summary: Summary) -> Program:
    playbook = await local.catalog.by_digest(summary.digest)
    if playbook is None:
        raise Stopped(f"noetl: the playbook of {summary.execution_id} is not in this project's store")
    return made_ready(playbook)


def _waits(program: Program, summary: Summary, log: Sequence[Event], incidents: Sequence[Incident]) -> Sequence[Wait]:
    return () if summary.has_ended else explain_waits(program, summary.execution_id, log, incidents)


def _lines(found: Standing, now: float, console: Console) -> Iterator[str]:
    paint = console.paint_data()
    yield from picture(found.progress, now, 0, (WIDTH, HEIGHT), paint)
    yield f"  {found.summary.status}"
    if found.progress.error is not None:
        yield f"  {paint(found.progress.error.message, 'error')}"
    for wait in found.waits:
        yield f"  {wait.text}"


def _record(found: Standing) -> dict[str, object]:
    progress = found.progress
    return {
        "execution_id": found.summary.execution_id,
        "playbook": found.summary.path,
        "status": found.summary.status,
        "error": progress.error,
        "steps": [
            {
                "name": line.name,
                "status": line.mark,
                "runs": line.runs,
                "iterations": None
                if line.total is None
                else {"done": line.done, "failed": line.failed, "total": line.total},
            }
            for line in progress.steps.values()
        ],
        "ctx": found.ctx,
        "waiting_for": [wait.text for wait in found.waits],
        "incidents": [{"kind": each.kind, "message": each.message, "remedy": each.remedy} for each in found.incidents],
    }
