"""Executions as a list."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import opened
from noetl.cli.executions import Arguments
from noetl.cli.finding import find_execution, is_interrupted
from noetl.cli.home import home_of
from noetl.cli.inspecting.children import in_order
from noetl.cli.live.words import duration, moment
from noetl.cli.origins import origin_of, short_name
from noetl.cli.presence import Present, who_is_present
from noetl.cli.reading import required
from noetl.cli.reports.json import printed
from noetl.ports import Store, Summary

PAGE = 500
INTERRUPTED = "interrupted"
ROLES = {"completed": "good", "failed": "error", "cancelled": "warning", INTERRUPTED: "warning"}


class Listed(msgspec.Struct, frozen=True):
    """`origin` is the execution of which it is a rerun."""

    summary: Summary
    is_interrupted: bool = False
    origin: str | None = None

    @property
    def status(self) -> str:
        """As people say it."""
        return INTERRUPTED if self.is_interrupted else self.summary.status


async def list_executions(wanted: Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    if not wanted.limit.isdigit() or wanted.limit == "0":
        raise Stopped(f'noetl executions: --limit takes a whole number above 0; found "{wanted.limit}"')
    async with opened(required(home_of(folder, environment, console.say)), folder, to_read=True) as local:
        listing = await listed(local.store, wanted, who_is_present(local.home))
        now = local.system.now()
    found = listing[: int(wanted.limit)]
    if wanted.output == "json":
        console.data(printed([_record(each) for each in found]))
    else:
        _print(found, now, console)
        if len(listing) > len(found):
            console.say(f"these are {len(found)}, and there are more; -n N lists N")
    return OK


async def listed(store: Store, wanted: Arguments, there: Present) -> list[Listed]:
    """As many as are wanted, and one more where there are more."""
    found: list[Listed] = []
    async for summary in _asked(store, wanted):
        each = Listed(summary, await is_interrupted(store, summary, there))
        if not wanted.status or wanted.status in (summary.status, each.status):
            found.append(msgspec.structs.replace(each, origin=await origin_of(store, summary.execution_id)))
        if len(found) > int(wanted.limit):
            break
    return found


async def _asked(store: Store, wanted: Arguments) -> AsyncIterator[Summary]:
    if wanted.of:
        root_id = (await find_execution(store, wanted.of)).execution_id
        async for each in in_order(store, root_id, failed_first=True):
            yield each
        return
    before = ""
    while page := await store.recent(before, PAGE):
        for root in page:
            yield root
            if wanted.children:
                async for each in in_order(store, root.execution_id):
                    yield each
        before = page[-1].execution_id


def _print(found: Sequence[Listed], now: float, console: Console) -> None:
    paint = console.paint_data()
    widths = [max((len(text) for text in column), default=0) for column in zip(*map(_columns, found), strict=True)]
    for each in found:
        name, status, path = (f"{text:<{width}}" for text, width in zip(_columns(each), widths, strict=True))
        began = each.summary.started_at
        took = duration((now if each.status == "running" else each.summary.changed_at) - began)
        console.data(
            f"{name}  {paint(status, ROLES.get(each.status, 'hint'))}  {path}  {moment(began)}  {took}{_rerun(each)}\n"
        )
    left = next((each.summary.execution_id for each in found if each.is_interrupted), None)
    if left is not None:
        console.say(
            f"no process works on what was interrupted; go on with: noetl run --resume {left.partition('.')[0]}"
        )


def _rerun(each: Listed) -> str:
    return f"  rerun of {shlex.quote(short_name(each.origin))}" if each.origin is not None else ""


def _columns(each: Listed) -> tuple[str, str, str]:
    return shlex.quote(each.summary.execution_id), f"{each.status:<9}", each.summary.path


def _record(each: Listed) -> dict[str, object]:
    summary = each.summary
    return {
        "execution_id": summary.execution_id,
        "playbook": summary.path,
        "status": summary.status,
        "interrupted": each.is_interrupted,
        "rerun_of": each.origin,
        "parent": summary.parent.execution_id if summary.parent is not None else None,
        "started_at": moment(summary.started_at),
        "changed_at": moment(summary.changed_at),
        "events": summary.head,
    }
