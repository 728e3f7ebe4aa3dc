"""Results as files: durable, checked, small on the disk, never whole in memory, and gone when nobody needs them."""

import asyncio
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from noetl.engine.size import Blob
from noetl.ports import Collected, Damaged
from noetl.storage.errors import DiskFull, NoAccess
from noetl.storage.results import FileResults
from noetl.storage.results.collecting import DAMAGED_KEPT_S

NOW = 1_790_000_000.0
GRACE_S = 3600.0
JSON = b'{"name": "value", "number": 1}' * 1000


@asynccontextmanager
async def opened(root: Path) -> AsyncIterator[FileResults]:
    results = FileResults(root)
    yield results
    await results.close()


def blob(data: bytes) -> Blob:
    return Blob(sha256(data).hexdigest(), data)


def objects(root: Path) -> dict[str, Path]:
    return {path.name: path for path in root.glob("??/*")}


def leftovers(root: Path) -> list[str]:
    return [path.name for path in (root / "new").iterdir()]


def age(root: Path, seconds: float) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (NOW - seconds, NOW - seconds))


# ------------------------------------------------------------------------------ on the disk


async def test_objects_stand_under_their_names_for_their_owner_alone_and_nothing_else_is_left(tmp_path: Path) -> None:
    root = tmp_path / "results"
    async with opened(root) as results:
        await results.put([blob(b"small")])
    name = blob(b"small").sha256
    assert [str(path.relative_to(root)) for path in objects(root).values()] == [f"{name[:2]}/{name}"]
    assert leftovers(root) == []
    assert {path.stat().st_mode & 0o777 for path in root.rglob("*") if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (root, *root.iterdir()) if path.is_dir()} == {0o700}


async def test_what_gets_smaller_is_compressed_and_what_does_not_is_left_as_it_is(tmp_path: Path) -> None:
    noise = os.urandom(50_000)
    async with opened(tmp_path) as results:
        await results.put([blob(JSON), blob(noise)])
    found = objects(tmp_path)
    assert found[f"{blob(JSON).sha256}.z"].stat().st_size < len(JSON) / 10
    assert found[blob(noise).sha256].read_bytes() == noise


async def test_a_large_stream_is_never_whole_in_memory(tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for number in range(160):
            yield bytes([number]) * 200_000

    async with opened(tmp_path) as results:
        tracemalloc.start()
        deposit = await results.put_stream(chunks())
        found = await results.open(deposit.sha256)
        assert found is not None
        size = sum([len(chunk) async for chunk in found])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size == deposit.bytes == 32_000_000
    assert peak < 4_000_000


# ------------------------------------------------------------------------------ damage


@pytest.mark.parametrize("data", [JSON, b"plain"])
@pytest.mark.parametrize("cut", [0, 40])
async def test_a_damaged_object_is_told_and_is_kept_aside_until_it_is_put_again(
    tmp_path: Path, data: bytes, cut: int
) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(data)])
        (path,) = objects(tmp_path).values()
        path.write_bytes(path.read_bytes()[:-cut] if cut else b"?" + path.read_bytes()[1:])
        for _ in range(2):
            with pytest.raises(Damaged, match="is damaged, and was put aside for you to look at"):
                await results.get(blob(data).sha256)
        assert objects(tmp_path) == {}
        assert [each.name for each in (tmp_path / "damaged").iterdir()] == [path.name]
        await results.put([blob(data)])
        assert await results.get(blob(data).sha256) == data


@pytest.mark.parametrize("data", [JSON, b"plain"])
async def test_to_put_what_stands_there_damaged_heals_it(tmp_path: Path, data: bytes) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(data)])
        (path,) = objects(tmp_path).values()
        path.write_bytes(b"?" + path.read_bytes()[1:])
        await results.put([blob(data)])
        assert await results.get(blob(data).sha256) == data
    assert [each.name for each in (tmp_path / "damaged").iterdir()] == [path.name]


async def test_a_damaged_object_is_told_at_the_end_of_its_stream(tmp_path: Path) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(b"plain")])
        (path,) = objects(tmp_path).values()
        path.write_bytes(b"other")
        found = await results.open(blob(b"plain").sha256)
        assert found is not None
        assert await anext(found) == b"other"
        with pytest.raises(Damaged, match="is damaged, and was put aside"):
            await anext(found)
        with pytest.raises(Damaged):
            await results.open(blob(b"plain").sha256)


# ------------------------------------------------------------------------------ what may go


async def test_what_nobody_refers_to_goes_when_it_is_old(tmp_path: Path) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(b"held"), blob(b"orphan"), blob(JSON)])
        held = {blob(b"held").sha256, blob(JSON).sha256}
        age(tmp_path, GRACE_S - 1)
        assert await results.collect("", held, NOW - GRACE_S) == Collected()
        age(tmp_path, GRACE_S + 1)
        assert await results.collect("", held, NOW - GRACE_S) == Collected(1, len(b"orphan"))
        assert await results.get(blob(b"held").sha256) == b"held"
        assert await results.get(blob(JSON).sha256) == JSON
        assert await results.get(blob(b"orphan").sha256) is None


async def test_what_is_put_again_counts_as_new(tmp_path: Path) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(b"again")])
        age(tmp_path, GRACE_S + 1)
        await results.put([blob(b"again")])
        assert await results.collect("", (), NOW - GRACE_S) == Collected()


async def test_half_written_objects_go_after_the_grace_period_and_damaged_ones_much_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as results:
        await results.put([])
        (tmp_path / "new" / "half").write_bytes(b"half")
        (tmp_path / "damaged" / "odd").write_bytes(b"odd")
        age(tmp_path, GRACE_S + 1)
        assert await results.collect("00", (), NOW - GRACE_S) == Collected(1, 4)
        age(tmp_path, GRACE_S + DAMAGED_KEPT_S + 1)
        assert await results.collect("00", (), NOW - GRACE_S) == Collected(1, 3)


async def test_nothing_is_lost_where_some_put_and_another_collects(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        blobs = [blob(b"%d" % number) for number in range(50)]
        await one.put(blobs)
        age(tmp_path, GRACE_S + 1)
        await asyncio.gather(
            *(two.put([each]) for each in blobs), *(one.collect("", (), NOW - GRACE_S) for _ in range(5))
        )
        assert [await one.get(each.sha256) for each in blobs] == [each.data for each in blobs]


# ------------------------------------------------------------------------------ trouble


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with opened(tmp_path / "file") as results:
        with pytest.raises(NoAccess, match="give this user a folder of its own"):
            await results.put([blob(b"x")])


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.storage.test_results", str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "DiskFull the results in" in output
    assert "free space and try again" in output
    assert leftovers(tmp_path) == []
    assert [path.read_bytes() for path in objects(tmp_path).values()] == [b"kept"]


async def fill(root: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    async with opened(root) as results:
        await results.put([blob(b"kept")])
        try:
            await results.put([blob(os.urandom(200_000))])
        except DiskFull as full:
            print("DiskFull", full)


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))


async def test_what_is_touched_counts_as_new_and_what_is_not_there_is_no_matter(tmp_path: Path) -> None:
    async with opened(tmp_path) as results:
        await results.put([blob(b"one"), blob(b"two")])
        for path in objects(tmp_path).values():
            os.utime(path, (1_000.0, 1_000.0))
        await results.touch([blob(b"one").sha256, blob(b"other").sha256])
        assert await results.collect("", (), put_before=2_000.0) == Collected(1, 3)
        assert await results.get(blob(b"one").sha256) == b"one"
        assert await results.get(blob(b"two").sha256) is None
