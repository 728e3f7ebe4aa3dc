"""Executions as a list."""

from __future__ import annotations

from pathlib import Path

from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import Local, opened
from noetl.cli.executions import Arguments
from noetl.cli.live.words import duration, moment
from noetl.cli.project import home_of
from noetl.cli.reading import required
from noetl.cli.reports.json import printed
from noetl.ports import Summary

PAGE = 500
ROLES = {"completed": "good", "failed": "error", "cancelled": "warning"}


async def list_executions(wanted: Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    if not wanted.limit.isdigit() or wanted.limit == "0":
        raise Stopped(f'noetl executions: --limit takes a whole number above 0; found "{wanted.limit}"')
    async with opened(required(home_of(folder, environment)), folder) as local:
        found = await _found(local, wanted.status, int(wanted.limit))
    if wanted.output == "json":
        console.data(printed([_record(each) for each in found]))
        return OK
    paint = console.paint_data()
    width = max((len(each.path) for each in found), default=0)
    for each in found:
        took = duration(each.changed_at - each.started_at)
        status = paint(f"{each.status:<9}", ROLES.get(each.status, "hint"))
        console.data(f"{each.execution_id}  {status}  {each.path:<{width}}  {moment(each.started_at)}  {took}\n")
    return OK


async def _found(local: Local, status: str, limit: int) -> list[Summary]:
    found: list[Summary] = []
    before = ""
    while len(found) < limit and (page := await local.store.recent(before, PAGE)):
        found += [each for each in page if not status or each.status == status]
        before = page[-1].execution_id
    return found[:limit]


def _record(each: Summary) -> dict[str, object]:
    return {
        "execution_id": each.execution_id,
        "playbook": each.path,
        "status": each.status,
        "started_at": moment(each.started_at),
        "changed_at": moment(each.changed_at),
        "events": each.head,
    }
