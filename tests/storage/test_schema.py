"""The schema of the SQLite file: made once, known by its number, reached by indexes."""

from pathlib import Path

import apsw
import pytest
from apsw.ext import query_info

from noetl.storage.sqlite import Database, SqliteStore
from noetl.storage.sqlite.queries import _texts, query
from noetl.storage.sqlite.schema import VERSION, _scripts
from tests.conformance.homes import HandClock

HOT = (
    "find_open",
    "find_expired",
    "find_poisoned",
    "first_timers",
    "timers_under",
    "timers_named",
    "live",
    "recent",
    "below",
    "held",
)
"""Searches over everything, which must not get slower with what has ended."""


async def made(path: Path) -> apsw.Connection:
    database = Database(path)
    await database.open()
    await database.close()
    return apsw.Connection(str(path))


async def test_migrations_are_recorded_by_number_and_name_and_run_once(tmp_path: Path) -> None:
    for _ in range(2):
        connection = await made(tmp_path / "noetl.db")
        found = connection.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
        connection.close()
        assert found == [(number, script.name) for number, script in _scripts()]
    assert max(number for number, _ in _scripts()) == VERSION


async def test_the_file_is_in_wal_mode(tmp_path: Path) -> None:
    connection = await made(tmp_path / "noetl.db")
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    connection.close()


async def test_every_table_that_has_a_key_has_the_namespace_in_it(tmp_path: Path) -> None:
    connection = await made(tmp_path / "noetl.db")
    listed = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'migrations'"
    ).fetchall()
    for (table,) in listed:
        columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
        assert ("namespace",) in columns
    connection.close()


async def test_every_query_fits_the_schema_for_one_row_and_for_several(tmp_path: Path) -> None:
    connection = await made(tmp_path / "noetl.db")
    for name in _texts():
        assert (
            query_info(connection, query(name)).bindings_count <= query_info(connection, query(name, 4)).bindings_count
        )
    connection.close()


async def test_of_executions_older_than_the_holds_nothing_is_ever_removed(tmp_path: Path) -> None:
    """What their events refer to was not written down."""
    path = tmp_path / "noetl.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    connection.execute(next(_scripts())[1].read_text("utf-8"))
    connection.execute("INSERT INTO migrations VALUES (1, '0001_store.sql')")
    connection.execute("INSERT INTO executions (namespace, execution_id, head) VALUES ('default', 'e1', 1)")
    connection.close()
    clock = HandClock()
    for namespace, parts in (("default", [None] * 3), ("other", [None, 0, 1])):
        database = Database(path, namespace=namespace)
        await database.open()
        found: list[int | None] = []
        for _ in range(3):
            found.append(await SqliteStore(database, clock).next_part(256, 100.0))
            clock.pass_s(200.0)
        assert found == parts
        await database.close()


@pytest.mark.parametrize("name", HOT)
async def test_searches_over_everything_use_an_index(tmp_path: Path, name: str) -> None:
    connection = await made(tmp_path / "noetl.db")
    text = query(name)
    plan = connection.execute(
        f"EXPLAIN QUERY PLAN {text}", (None,) * query_info(connection, text).bindings_count
    ).fetchall()
    steps = [str(step[3]) for step in plan]
    assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == []
    assert not any("TEMP B-TREE" in step for step in steps)
    connection.close()
