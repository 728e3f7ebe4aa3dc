"""The execution that a person names, in the project's store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from noetl.cli.console import Console
from noetl.cli.embedded import Local, opened
from noetl.cli.finding import find_execution
from noetl.cli.home import home_of
from noetl.cli.reading import required
from noetl.ports import Summary


class Found(NamedTuple):
    local: Local
    summary: Summary


@asynccontextmanager
async def found(given: str, folder: Path, environment: Mapping[str, str], console: Console) -> AsyncIterator[Found]:
    async with opened(required(home_of(folder, environment, console.say)), folder, to_read=True) as local:
        yield Found(local, await find_execution(local.store, given))
