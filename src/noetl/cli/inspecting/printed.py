"""What tools printed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from noetl.cli.console import OK, Console
from noetl.cli.embedded import Local
from noetl.cli.executing import Followed
from noetl.cli.inspecting.opening import found
from noetl.cli.inspecting.reader import while_read
from noetl.ports import LogChunk

PAGE = 500
FOLLOW_S = 0.3
LATE_S = 1.0
"""Workers tell what tools printed now and then, and so perhaps after the end."""


async def show_logs(wanted: Followed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with found(wanted.id, folder, environment) as (local, summary):
        name = summary.execution_id
        if wanted.follow:
            await while_read(console, _follow(local, name, console, wanted.output))
        else:
            await _print(local, name, 0, console, wanted.output)
    return OK


async def _follow(local: Local, name: str, console: Console, output: str) -> None:
    told = 0
    while not await _has_ended(local, name):
        told = await _print(local, name, told, console, output)
        await asyncio.sleep(FOLLOW_S)
    told = await _print(local, name, told, console, output)
    await asyncio.sleep(LATE_S)
    await _print(local, name, told, console, output)


async def _has_ended(local: Local, name: str) -> bool:
    summary = await local.store.summary(name)
    return summary is None or summary.has_ended


async def _print(local: Local, name: str, told: int, console: Console, output: str) -> int:
    while found := await local.store.logs(name, told, PAGE):
        for chunk in found:
            console.data(_shown(chunk, output))
        told += len(found)
        console.flush()
    return told


def _shown(chunk: LogChunk, output: str) -> str:
    if output == "jsonl":
        return f"{msgspec.json.encode(chunk).decode()}\n"
    return "".join(f"{chunk.task_run_id} | {line}\n" for line in chunk.text.splitlines())
