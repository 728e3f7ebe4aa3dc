"""Folders that are made for a store are there for good before anything in them is answered."""

from hashlib import sha256
from pathlib import Path

from tests.storage.syncing import synced


def test_the_names_of_all_folders_above_an_object_are_synced_whoever_made_them(tmp_path: Path) -> None:
    root = tmp_path / "home" / "results"
    part = root / sha256(b"one").hexdigest()[:2]
    above = [str(tmp_path / "home"), str(root), str(part)]
    assert synced("results", root, "one", "one") == [*above, str(part)]
    (part / sha256(b"one").hexdigest()).unlink()
    assert synced("results", root, "one") == above


def test_the_names_of_new_folders_above_a_database_are_synced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "noetl.db"
    assert synced("database", path) == [str(tmp_path / "a"), str(tmp_path)]
    assert synced("database", path) == []
    assert path.parent.stat().st_mode & 0o777 == 0o700
