import os
from pathlib import Path

import pytest

from noetl.cli.console import Stopped
from noetl.cli.writing import replace_file, write_result


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(str(path), b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_reader_of_the_old_file_still_sees_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        replace_file(str(path), b"new")
        assert reader.read() == b"old"


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "a.yaml", tmp_path / "b.yaml"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with pytest.raises(Stopped) as stopped:
        replace_file(str(link), b"new")
    assert stopped.value.message == f"noetl: cannot write {link}: it is a link; name {target} instead"
    assert (target.read_bytes(), link.is_symlink()) == (b"old", True)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Stopped, match="it is not a regular file"):
        replace_file(str(tmp_path / "pipe"), b"new")


def test_a_file_that_went_away_is_told(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match=r"cannot write .*: no such file or directory"):
        replace_file(str(tmp_path / "gone.yaml"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_result_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(b"a longer old text")
    write_result(str(path), b"new")
    assert path.read_bytes() == b"new"
