"""Writers as child processes, what they were told was committed, and what a database holds of it."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import msgspec

from noetl.storage.sqlite import Database, SqliteStore
from tests.storage.committing import RealClock

READ_MAX = 1_000_000


class Told(msgspec.Struct, frozen=True):
    """What writers heard: `events` are pairs of an execution and an event."""

    events: Sequence[tuple[str, str]]
    epochs: Sequence[int]
    troubles: Sequence[str]


def writer(path: Path, name: str, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.storage.committing", str(path), name, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def told(lines: Iterable[str]) -> Told:
    """Only whole lines count: the last one may have been cut off."""
    words = [line.split() for line in lines if line.endswith("\n")]
    return Told(
        [(each[2], each[3]) for each in words if each[0] == "log"],
        [int(each[1]) for each in words if each[0] == "epoch"],
        [" ".join(each[1:]) for each in words if each[0] == "trouble"],
    )


async def losses(path: Path, heard: Told) -> list[str]:
    """Whatever is wrong with the file: nothing, if the store keeps its word."""
    found = [] if _integrity(path) == "ok" else [f"integrity_check: {_integrity(path)}"]
    database = Database(path)
    await database.open()
    store = SqliteStore(database, RealClock())
    for execution in {execution for execution, _ in heard.events}:
        log = [data.decode() for data in await store.read(execution, 0, READ_MAX)]
        if len(log) != await store.head(execution):
            found.append(f"{execution} has {len(log)} events and ends with {await store.head(execution)}")
        lost = {event for name, event in heard.events if name == execution} - set(log)
        found += [f"lost {event}" for event in sorted(lost)]
        if len(set(log)) != len(log):
            found.append(f"{execution} holds an event twice")
    await database.close()
    if len(set(heard.epochs)) != len(heard.epochs):
        found.append("an epoch came twice")
    return found


def _integrity(path: Path) -> object:
    connection = apsw.Connection(str(path))
    answer: object = connection.execute("PRAGMA integrity_check").get
    connection.close()
    return answer
