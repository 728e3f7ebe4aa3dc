"""What an execution gave."""

from __future__ import annotations

from pathlib import Path

from noetl.cli.console import Console, Stopped
from noetl.cli.executing import Printed
from noetl.cli.inspecting.opening import found
from noetl.cli.inspecting.standing import standing_of
from noetl.cli.reading import loader_of
from noetl.cli.running.ending import report_end


async def show_result(wanted: Printed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with found(wanted.id, folder, environment, console) as (local, summary):
        name = summary.execution_id
        if not summary.has_ended:
            raise Stopped(f"noetl: {name} has not ended yet\n  = see: noetl status {name}")
        standing = await standing_of(local.store, loader_of(local, local.store), summary)
        if standing.progress.output is None:
            raise Stopped(f"noetl: the result of {name} cannot be read\n  = see: noetl status {name}")
        return await report_end(local, standing.progress, summary.path, console, as_json=wanted.output == "json")
