"""What runs store is kept as long as somebody needs it, and no longer."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from time import time

import apsw
import msgspec
import pytest

from noetl.control_plane.collector import Collector
from noetl.control_plane.limits import Limits
from noetl.storage.results import FileResults
from noetl.storage.sqlite import Database, SqliteStore
from tests.acceptance.process import noetl

HOUR_S, DAY_S = 3_600.0, 86_400.0

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: old, path: old }
workflow:
  - step: kept
    tool: { kind: python, code: "result = ['kept'] * 20000" }
    next: { arcs: [ { step: timed } ] }
  - step: timed
    tool: { kind: python, code: "result = ['timed'] * 20000", spec: { result: { ttl: 36h } } }
    next: { arcs: [ { step: read } ] }
  - step: read
    tool: { kind: python, code: "result = [len(a), len(b)]", input: { a: "{{ kept.data }}", b: "{{ timed.data }}" } }
"""
SLOW = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: slow, path: slow }
workflow:
  - step: wait
    tool: { kind: script, script: "sleep 3" }
"""
SHORT = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: short, path: short }
workflow:
  - step: nothing
    tool: { kind: noop }
"""
KILLED = """\
import asyncio, os, signal, sys
from hashlib import sha256
from pathlib import Path
from noetl.engine.size import Blob
from noetl.storage.results import FileResults

async def main():
    data = sys.argv[2].encode()
    await FileResults(Path(sys.argv[1])).put([Blob(sha256(data).hexdigest(), data)])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
KEPT, TIMED = (sha256(msgspec.json.encode([word] * 20_000)).hexdigest() for word in ("kept", "timed"))


class Shifted:
    """The machine's clock, some time from now."""

    def __init__(self, by_s: float) -> None:
        self.by_s = by_s

    def now(self) -> float:
        return time() + self.by_s

    monotonic = now


@asynccontextmanager
async def store_of(folder: Path, clock: Shifted) -> AsyncIterator[SqliteStore]:
    database = Database(folder / ".noetl" / "noetl.db")
    await database.open()
    yield SqliteStore(database, clock)
    await database.close()


def run(folder: Path, text: str) -> str:
    """The id of an execution that has completed."""
    (folder / "playbook.yaml").write_text(text, "utf-8")
    ran = noetl("run", "playbook.yaml", "-o", "json", folder=folder)
    assert ran.returncode == 0, ran.stderr
    return str(msgspec.json.decode(ran.stdout)["execution_id"])


def leave_orphan(folder: Path, text: str) -> str:
    """A run is killed after it has stored something, and before its event is written."""
    results = str(folder / ".noetl" / "results")
    killed = subprocess.run([sys.executable, "-c", KILLED, results, text], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    return sha256(text.encode()).hexdigest()


def names(folder: Path) -> set[str]:
    return {path.name.removesuffix(".z") for path in (folder / ".noetl" / "results").glob("??/*")}


async def collect(folder: Path, *ages_s: float) -> list[set[str]]:
    """What is there after a search for what nobody needs, at each of these times from now."""
    found: list[set[str]] = []
    clock = Shifted(0.0)
    async with store_of(folder, clock) as store:
        results = FileResults(folder / ".noetl" / "results")
        collector = Collector(store, results, clock, Limits(collect_every_s=HOUR_S))
        await collector._collect_next()
        for age_s in ages_s:
            clock.by_s = age_s
            while await collector._collect_next():
                continue
            found.append(names(folder))
        await results.close()
    return found


def test_orphans_go_after_a_day_results_after_their_time_and_the_rest_stays(tmp_path: Path) -> None:
    name = run(tmp_path, PLAYBOOK)
    orphan = leave_orphan(tmp_path, "orphan")
    assert names(tmp_path) == {KEPT, TIMED, orphan}
    soon, later, last = asyncio.run(collect(tmp_path, 23 * HOUR_S, 25 * HOUR_S, 37 * HOUR_S))
    assert soon == {KEPT, TIMED, orphan}
    assert later == {KEPT, TIMED}
    assert last == {KEPT}

    again = noetl("rerun", name, "--from", "read", "-o", "json", folder=tmp_path)
    error = msgspec.json.decode(again.stdout)["error"]
    assert error["kind"] == "reference_not_available"
    assert "was kept for 36h" in error["message"]
    mended = noetl("rerun", name, "--from", "timed", "-q", folder=tmp_path)
    assert (mended.returncode, msgspec.json.decode(mended.stdout)) == (0, [20_000, 20_000]), mended.stderr


@pytest.mark.parametrize("text", [SLOW, SHORT])
def test_a_run_collects_in_passing_where_it_is_time(tmp_path: Path, text: str) -> None:
    """The first part that is looked through is `00`."""
    run(tmp_path, PLAYBOOK)
    data = next(data for data in map(str, range(100_000)) if sha256(data.encode()).hexdigest().startswith("00"))
    orphan = leave_orphan(tmp_path, data)
    with apsw.Connection(str(tmp_path / ".noetl" / "noetl.db")) as database:
        database.execute("UPDATE rounds SET began_at = ?", (time() - 3 * DAY_S,))
    database.close()
    (place,) = (tmp_path / ".noetl" / "results" / "00").glob(f"{orphan}*")
    os.utime(place, (time() - 2 * DAY_S,) * 2)
    run(tmp_path, text)
    assert names(tmp_path) == {KEPT, TIMED}


NESTED = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: nested, path: nested }
workflow:
  - step: load
    tool: { kind: python, code: "result = ['row'] * 20000" }
    next: { arcs: [ { step: use } ] }
  - step: use
    tool: { kind: noop, set: { ctx.all: "{{ {'rows': [load]} }}" } }
    next: { arcs: [ { step: count } ] }
  - step: count
    tool: { kind: python, code: "result = len(rows)", input: { rows: "{{ ctx.all.rows[0].data }}" } }
"""


def test_a_file_that_was_removed_or_damaged_is_told_at_once_and_can_be_put_back(tmp_path: Path) -> None:
    name = run(tmp_path, NESTED)
    digest = sha256(msgspec.json.encode(["row"] * 20_000)).hexdigest()
    (place,) = (tmp_path / ".noetl" / "results").glob(f"??/{digest}*")
    whole = place.read_bytes()
    for damage, kind in ((None, "reference_not_available"), (whole[: len(whole) // 2], "checksum_mismatch")):
        place.unlink()
        if damage is not None:
            place.write_bytes(damage)
        again = noetl("rerun", name, "--from", "use", "-o", "json", folder=tmp_path)
        error = msgspec.json.decode(again.stdout)["error"]
        assert (again.returncode, error["kind"]) == (1, kind), again.stderr
        assert "playbook.yaml:9:" in error["message"]
        assert "the data of step `load` is " in error["message"]
        remedy = f"`noetl rerun {name[:13]} --from load`"
        assert remedy in error["message"]
        assert remedy in noetl("status", "@latest", folder=tmp_path).stdout
        assert remedy in noetl("rerun", "@latest", folder=tmp_path).stderr, "a rerun of the rerun"
        place.write_bytes(whole)
    mended = noetl("rerun", name, "--from", "use", "-q", folder=tmp_path)
    assert (mended.returncode, mended.stdout.strip()) == (0, "20000"), mended.stderr
