"""What an execution gave."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from noetl.cli.console import Console, Stopped
from noetl.cli.embedded import opened
from noetl.cli.finding import find_execution
from noetl.cli.inspecting.standing import standing
from noetl.cli.project import home_of
from noetl.cli.reading import required
from noetl.cli.running.ending import report_end


class Wanted(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def output(self) -> str: ...


async def show_result(wanted: Wanted, console: Console, folder: Path, environment: dict[str, str]) -> int:
    home = required(home_of(folder, environment))
    async with opened(home, folder) as local:
        summary = await find_execution(local.store, wanted.id)
        if not summary.has_ended:
            raise Stopped(
                f"noetl: {summary.execution_id} has not ended yet\n  = see: noetl status {summary.execution_id}"
            )
        found = await standing(local, summary)
        return await report_end(local, found.progress, summary.path, console, as_json=wanted.output == "json")
