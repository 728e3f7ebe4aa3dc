"""What is wrong with a file is told in words, and nothing that was acknowledged is lost by it."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import mkdtemp

import apsw
import pytest

from noetl.ports import Append, Appended, Unavailable
from noetl.storage.errors import (
    Damaged,
    DiskFailed,
    DiskFull,
    Gone,
    Locked,
    NewerSchema,
    NoAccess,
    NotOurs,
    ReadOnly,
    StorageError,
)
from noetl.storage.sqlite import Database, SqliteStore
from noetl.storage.sqlite.schema import VERSION
from noetl.storage.sqlite.session import PATH_BYTES_MAX
from tests.storage.children import losses, told, writer
from tests.storage.committing import RealClock

NOBODY = 65534


@asynccontextmanager
async def opened(path: Path, busy_s: float = 1.0) -> AsyncIterator[tuple[Database, SqliteStore]]:
    database = Database(path, busy_s=busy_s)
    try:
        await database.open()
        yield database, SqliteStore(database, RealClock())
    finally:
        await database.close()


async def filled(path: Path, events: int = 200) -> None:
    async with opened(path) as (_, store):
        await store.commit([Append("e1", 0, [b"x" * 500] * events)])


# ------------------------------------------------------------------------------ no room


async def test_a_full_disk_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    async with opened(tmp_path / "noetl.db") as (database, store):
        await store.commit([Append("e1", 0, [b"kept"])])
        await limit_pages(database, 60)
        with pytest.raises(DiskFull, match=r"the disk is full.*free space and try again"):
            await store.commit([Append("e1", 1, [b"x" * 60_000] * 20)])
        assert list(await store.read("e1", 0, 99)) == [b"kept"]
        await limit_pages(database, 1_000_000)
        assert [type(each) for each in await store.commit([Append("e1", 1, [b"later"])])] == [Appended]
        assert list(await store.read("e1", 0, 99)) == [b"kept", b"later"]


async def limit_pages(database: Database, pages: int) -> None:
    await database.write(lambda unit: unit.session.connection.execute(f"PRAGMA max_page_count = {pages}").fetchall())


async def test_a_limit_on_the_size_of_files_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    child = writer(path, "w", "--file-bytes", "400000")
    output = child.communicate(timeout=60)[0]
    heard = told(output.splitlines(keepends=True))
    assert [trouble.split()[0] for trouble in heard.troubles] == ["DiskFailed"]
    assert heard.events
    assert await losses(path, heard) == []


# ------------------------------------------------------------------------------ no access


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions mean nothing to the superuser, so it is someone else for a while."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("mode", "trouble", "cure"),
    [
        (0o444, ReadOnly, "give this user write permission to the file and its folder"),
        (0o000, NoAccess, "folder that this user may write to"),
    ],
)
async def test_a_file_that_cannot_be_written_or_read_is_told(mode: int, trouble: type[Exception], cure: str) -> None:
    folder = Path(mkdtemp())
    await filled(folder / "noetl.db")
    (folder / "noetl.db").chmod(mode)
    folder.chmod(0o555)
    with as_nobody(), pytest.raises(trouble, match=cure):
        await filled(folder / "noetl.db")
    folder.chmod(0o700)


async def test_what_can_only_be_read_is_read_by_those_who_only_look() -> None:
    folder = Path(mkdtemp())
    await filled(folder / "noetl.db")
    (folder / "noetl.db").chmod(0o444)
    folder.chmod(0o555)
    database = Database(folder / "noetl.db")
    with as_nobody():
        await database.open_to_read()
        found = await SqliteStore(database, RealClock()).read("e1", 0, 999)
        await database.close()
    folder.chmod(0o700)
    assert len(found) == 200


async def test_who_only_looks_waits_for_no_writer(tmp_path: Path) -> None:
    await filled(tmp_path / "noetl.db")
    writing = apsw.Connection(str(tmp_path / "noetl.db"))
    writing.execute("BEGIN IMMEDIATE")
    database = Database(tmp_path / "noetl.db", busy_s=0.1)
    await database.open_to_read()
    found = await SqliteStore(database, RealClock()).read("e1", 0, 999)
    await database.close()
    writing.close()
    assert len(found) == 200


async def test_a_file_that_cannot_be_created_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoAccess, match="cannot be created: File exists; name a file in a folder of yours"):
        await filled(tmp_path / "file" / "noetl.db")


async def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoAccess, match="it must be a file"):
        await filled(tmp_path)


def path_of(size: int, top: Path) -> Path:
    """A path of so many bytes."""
    left = size - len(os.fsencode(top / "noetl.db"))
    return top.joinpath("x" * (1 + left % 2), *["x"] * (left // 2 - 1), "noetl.db")


async def test_a_path_that_is_too_long_for_sqlite_is_told_as_such(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    await filled(path_of(PATH_BYTES_MAX, top), 1)
    told = f"its path has {PATH_BYTES_MAX + 1} bytes, and SQLite takes {PATH_BYTES_MAX}; name a folder with a shorter"
    with pytest.raises(NoAccess, match=told):
        await filled(path_of(PATH_BYTES_MAX + 1, top / "new"), 1)
    (tmp_path / "link").symlink_to(path_of(PATH_BYTES_MAX + 1, top).parent)
    with pytest.raises(NoAccess, match=told):
        await filled(tmp_path / "link" / "noetl.db", 1)
    assert not (top / "new").exists()


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_file_that_is_removed_or_replaced_under_way_is_told_and_takes_nothing_more(
    tmp_path: Path, is_replaced: bool
) -> None:
    path, aside = tmp_path / "home" / "noetl.db", tmp_path / "aside"
    async with opened(path) as (_, store):
        await store.commit([Append("e1", 0, [b"before"])])
        path.parent.rename(aside)
        if is_replaced:
            await filled(path, 1)
        for _ in range(2):
            with pytest.raises(Gone, match="is gone: it was removed, moved or replaced while it was in use"):
                await store.commit([Append("e1", 1, [b"lost"])])
        if is_replaced:
            path.parent.rename(tmp_path / "other")
        aside.rename(path.parent)
        await store.commit([Append("e1", 1, [b"after"])])
        assert list(await store.read("e1", 0, 99)) == [b"before", b"after"]


async def test_the_file_and_a_new_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "noetl.db"
    async with opened(path):
        assert {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {
            "noetl.db": 0o600,
            "noetl.db-wal": 0o600,
            "noetl.db-shm": 0o600,
        }
    assert path.parent.stat().st_mode & 0o777 == 0o700


# ------------------------------------------------------------------------------ not what it should be


async def test_a_file_that_is_no_database_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    path.write_bytes(b"some text that someone needs" * 100)
    with pytest.raises(Damaged, match="is not a database, or is damaged; move it away or name another file"):
        await filled(path)
    assert path.read_bytes() == b"some text that someone needs" * 100


async def test_a_damaged_page_is_told_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    await filled(path)
    data = bytearray(path.read_bytes())
    data[4096 * 4 :] = b"\xff" * (len(data) - 4096 * 4)
    path.write_bytes(bytes(data))
    with pytest.raises(Damaged, match="is damaged; move it away or restore a backup"):
        async with opened(path) as (_, store):
            await store.read("e1", 0, 1000)


async def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (id)")
    with pytest.raises(NotOurs, match="database of another program"):
        await filled(path)
    assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    other.close()


async def test_a_schema_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    await filled(path)
    other = apsw.Connection(str(path))
    other.execute("INSERT INTO migrations VALUES (999, 'of tomorrow')")
    other.close()
    told = f"has schema 999, and this version of NoETL knows schemas up to {VERSION}; use the"
    with pytest.raises(NewerSchema, match=told):
        await filled(path)


async def test_a_schema_that_a_newer_version_changes_meanwhile_is_refused_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    async with opened(path) as (_, store):
        await store.commit([Append("e1", 0, [b"before"])])
        other = apsw.Connection(str(path))
        other.execute("INSERT INTO migrations VALUES (?, 'later.sql')", (VERSION + 1,))
        for _ in range(2):
            with pytest.raises(NewerSchema, match=f"has schema {VERSION + 1}, and this version of NoETL knows"):
                await store.commit([Append("e1", 1, [b"after"])])
        assert list(await store.read("e1", 0, 99)) == [b"before"]


class Failing(apsw.VFS):
    """Files on a disk that cannot be read while it `fails`."""

    def __init__(self) -> None:
        self.fails = False
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: object, flags: list[int]) -> "FailingFile":  # noqa: N802 — SQLite's word
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: Failing, name: object, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)  # type: ignore[arg-type]

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 — SQLite's word
        if self._disk.fails:
            raise apsw.IOError("the disk does not answer")
        return super().xRead(amount, offset)


async def test_a_disk_that_cannot_be_read_for_a_while_is_told_and_tried_again(tmp_path: Path) -> None:
    await filled(tmp_path / "noetl.db", events=10_000)
    disk = Failing()
    try:
        async with opened(tmp_path / "noetl.db") as (_, store):
            assert len(await store.read("e1", 0, 10)) == 10
            disk.fails = True
            with pytest.raises(DiskFailed, match="cannot be read or written"):
                await store.read("e1", 5_000, 4_000)
            disk.fails = False
            assert len(await store.read("e1", 5_000, 4_000)) == 4_000
            disk.fails = True
    finally:
        disk.unregister()


async def test_a_file_that_another_process_holds_is_told_and_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    await filled(path)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    async with opened_later(path) as (database, store):
        with pytest.raises(Locked, match="is held by another process; try again"):
            await store.commit([Append("e2", 0, [b"1"])])
        assert await store.head("e1") == 200
        other.execute("ROLLBACK")
        other.close()
        assert [type(each) for each in await store.commit([Append("e2", 0, [b"1"])])] == [Appended]
        await database.open()


@asynccontextmanager
async def opened_later(path: Path) -> AsyncIterator[tuple[Database, SqliteStore]]:
    database = Database(path, busy_s=0.05)
    yield database, SqliteStore(database, RealClock())
    await database.close()


def test_only_what_may_pass_is_worth_another_try() -> None:
    assert issubclass(Locked, Unavailable)
    assert issubclass(DiskFull, Unavailable)
    lasting = (ReadOnly, NoAccess, Gone, Damaged, NotOurs, NewerSchema)
    assert not any(issubclass(each, Unavailable) for each in lasting)
    assert all(issubclass(each, StorageError) for each in lasting)
