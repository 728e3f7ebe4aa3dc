"""What the tools of an execution printed, and then those of the executions below it, each for itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from noetl.cli.console import OK, Console
from noetl.cli.finding import live_within
from noetl.cli.inspecting.children import in_order, name_below
from noetl.cli.inspecting.opening import found
from noetl.cli.inspecting.reader import while_read
from noetl.cli.logs import Arguments
from noetl.ports import LogChunk, Store

PAGE = 500
FOLLOW_S = 0.3
LATE_S = 1.0
"""Workers tell what tools printed now and then, and so perhaps after the end."""


async def show_logs(wanted: Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with found(wanted.id, folder, environment, console) as (local, summary):
        printing = Printing(local.store, summary.execution_id, console, wanted)
        if wanted.follow:
            await while_read(console, printing.follow())
        else:
            await printing.print_all()
    return OK


class Printing:
    """`told` says of each execution how much of it was printed so far."""

    def __init__(self, store: Store, root: str, console: Console, wanted: Arguments) -> None:
        self._store = store
        self._root = root
        self._console = console
        self._wanted = wanted
        self._told: dict[str, int] = {}

    async def follow(self) -> None:
        while not await self._has_ended():
            for name in await self._live():
                await self._print(name)
            await asyncio.sleep(FOLLOW_S)
        await self.print_all()
        await asyncio.sleep(LATE_S)
        await self.print_all()

    async def print_all(self) -> None:
        """What was not printed before."""
        await self._print(self._root)
        if not self._wanted.only:
            async for each in in_order(self._store, self._root):
                await self._print(each.execution_id)

    async def _live(self) -> list[str]:
        """Those of which more may come. What is printed at the very end of one is printed at the end of all."""
        if self._wanted.only:
            return [self._root]
        return [each.execution_id async for each in live_within(self._store, self._root)]

    async def _has_ended(self) -> bool:
        summary = await self._store.summary(self._root)
        return summary is None or summary.has_ended

    async def _print(self, name: str) -> None:
        while chunks := await self._store.logs(name, self._told.get(name, 0), PAGE):
            for chunk in chunks:
                self._console.data(self._shown(chunk))
            self._told[name] = self._told.get(name, 0) + len(chunks)
            self._console.flush()

    def _shown(self, chunk: LogChunk) -> str:
        if self._wanted.output == "jsonl":
            return f"{msgspec.json.encode(chunk).decode()}\n"
        called = f"{name_below(chunk.execution_id, self._root)} > " if chunk.execution_id != self._root else ""
        return "".join(f"{called}{chunk.task_run_id} | {line}\n" for line in chunk.text.splitlines())
