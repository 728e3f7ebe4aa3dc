"""A process that commits to a database and tells what was acknowledged, one line each, until it is killed or done.

    python -m tests.storage.committing FILE NAME [--commits N] [--shared] [--file-bytes N]

A line is `log WRITER EXECUTION EVENT`, `epoch N`, or at last `trouble KIND MESSAGE`.
"""

import argparse
import asyncio
import os
import resource
import sys
import time
from itertools import count
from pathlib import Path

from noetl.engine.effects import CancelChild, EndAll, OfferWork
from noetl.ports import Append, Appended, Ask, Unavailable
from noetl.storage.errors import StorageError
from noetl.storage.sqlite import Database, SqliteStore

TASKS = 3
"""Executions that are written at once, so that commits have company."""


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def commit_on(store: SqliteStore, writer: str, execution: str, commits: int | None) -> None:
    head = await store.head(execution)
    for number in count() if commits is None else range(commits):
        event = f"{writer}:{execution}:{number}"
        effects = (EndAll(), OfferWork(f"a#{number}"), CancelChild("other"))
        while True:
            append = Append(execution, head, [event.encode()], effects, asks=[Ask(writer, 1, 60.0)])
            (answer,) = await store.commit([append])
            if isinstance(answer, Appended):
                break
            head = await store.head(execution)
        head += 1
        tell(f"log {writer} {execution} {event}")
        for granted in answer.granted:
            tell(f"epoch {granted.lease.epoch}")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    parser.add_argument("--commits", type=int)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--file-bytes", type=int)
    options = parser.parse_args()
    if options.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.file_bytes, options.file_bytes))
    database = Database(options.file)
    try:
        await database.open()
        store = SqliteStore(database, RealClock())
        prefix = "shared" if options.shared else options.name
        names = [f"{prefix}{number}" for number in range(TASKS)]
        await asyncio.gather(*(commit_on(store, options.name, name, options.commits) for name in names))
        await database.close()
    except (Unavailable, StorageError) as trouble:
        tell(f"trouble {type(trouble).__name__} {trouble}")
        os._exit(1)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
