"""A process that stores something, and prints the folders that it opens for it: to sync them, for no other reason.

python -m tests.storage.syncing results ROOT TEXT… | database FILE
"""

import asyncio
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from noetl.engine.size import Blob
from noetl.storage.results import FileResults
from noetl.storage.sqlite import Database


def synced(what: str, path: Path, *texts: str) -> list[str]:
    command = [sys.executable, "-m", "tests.storage.syncing", what, str(path), *texts]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


async def put(root: Path, *texts: str) -> None:
    results = FileResults(root)
    for text in texts:
        await results.put([Blob(sha256(text.encode()).hexdigest(), text.encode())])
    await results.close()


async def open_database(path: Path) -> None:
    database = Database(path)
    await database.open()
    await database.close()


def print_folder(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_DIRECTORY == os.O_DIRECTORY:
        print(arguments[0])


if __name__ == "__main__":
    sys.addaudithook(print_folder)
    what, given, *texts = sys.argv[1:]
    asyncio.run(put(Path(given), *texts) if what == "results" else open_database(Path(given)))
