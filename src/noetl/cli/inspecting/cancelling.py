"""The end of an execution by a person's will."""

from __future__ import annotations

from pathlib import Path

from noetl.cli.cancel import Arguments
from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import serving
from noetl.cli.inspecting.opening import found
from noetl.cli.reports.json import printed


async def cancel(wanted: Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with (
        found(wanted.id, folder, environment) as (local, summary),
        serving(local, environment) as runtime,
    ):
        runtime.plane.tend(summary.execution_id)  # a child that was about to start can be cancelled only then
        refused = await runtime.plane.cancel(summary.execution_id, wanted.reason or None)
    if refused is not None:
        raise Stopped(f"noetl cancel: {refused.message}")
    if wanted.output == "json":
        ended = {"execution_id": summary.execution_id, "playbook": summary.path, "status": "cancelled"}
        console.data(printed(ended))
    else:
        console.say(f"cancelled {summary.execution_id}")
    return OK
