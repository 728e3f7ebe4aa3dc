"""The end of an execution by a person's will."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import opened, serving
from noetl.cli.finding import find_execution
from noetl.cli.project import home_of
from noetl.cli.reading import required


class Wanted(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def reason(self) -> str: ...


async def cancel(wanted: Wanted, console: Console, folder: Path, environment: dict[str, str]) -> int:
    home = required(home_of(folder, environment))
    async with opened(home, folder) as local, serving(local, environment) as runtime:
        summary = await find_execution(local.store, wanted.id)
        refused = await runtime.plane.cancel(summary.execution_id, wanted.reason or None)
    if refused is not None:
        raise Stopped(f"noetl cancel: {refused.message}")
    console.say(f"cancelled {summary.execution_id}")
    return OK
