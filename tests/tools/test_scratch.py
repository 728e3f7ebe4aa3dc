"""Folders of runs: nothing of them is left for good, also where their process was killed. Nothing else is touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from noetl.tools.script.scratch import LOCK, Scratch, sweep

OWNER = """
import signal, sys
from pathlib import Path
from noetl.tools.script.scratch import Scratch

scratch = Scratch(Path(sys.argv[1]))
with scratch.folder() as folder:
    (folder / "script").write_text("echo")
    print(folder, flush=True)
    if sys.argv[2] == "wait":
        signal.pause()
sys.exit(0)
"""


def owner(around: Path, what: str = "wait") -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder of its own, in which a run is under way."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(around), what], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        return process, Path(process.stdout.readline().strip()).parent


def ended(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    process.wait()


def test_one_folder_serves_all_runs_and_keeps_nothing_of_them(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    with scratch.folder() as one, scratch.folder() as other:
        (one / "a" / "b").mkdir(parents=True)
        (other / "c").write_text("c")
        assert (one.parent, one == other) == (other.parent, False)
        (folder,) = tmp_path.iterdir()
        assert (folder, folder.stat().st_mode & 0o777) == (one.parent, 0o700)
    assert [each.name for each in folder.iterdir()] == [LOCK]
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_before_it_is_needed_and_closing_twice_is_harmless(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.close()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_swept_by_the_next_and_no_other(tmp_path: Path) -> None:
    killed, left = owner(tmp_path)
    living, kept = owner(tmp_path)
    ended(killed, signal.SIGKILL)
    assert (left / LOCK).exists()
    scratch = Scratch(tmp_path)
    with scratch.folder() as own:
        assert set(tmp_path.iterdir()) == {kept, own.parent}
        assert [each.name for each in (kept / "1").iterdir()] == ["script"]
    scratch.close()
    ended(living, signal.SIGKILL)
    sweep(tmp_path, os.getuid())
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_ends_by_itself_leaves_no_folder(tmp_path: Path) -> None:
    process, folder = owner(tmp_path, "leave")
    assert process.wait() == 0
    assert (folder.name.startswith("noetl-"), list(tmp_path.iterdir())) == (True, [])


def test_what_others_call_alike_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "noetl-backup").mkdir()
    (tmp_path / "noetl-backup" / "data").write_text("precious")
    (tmp_path / "noetl-notes").write_text("precious")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).touch()
    (tmp_path / "noetl-link").symlink_to(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    sweep(tmp_path, os.getuid())
    assert sorted(tmp_path.rglob("*")) == before


def test_folders_of_other_users_are_left_alone(tmp_path: Path) -> None:
    killed, left = owner(tmp_path)
    ended(killed, signal.SIGKILL)
    sweep(tmp_path, os.getuid() + 1)
    assert left.exists()
    sweep(tmp_path, os.getuid())
    assert not left.exists()


def test_a_folder_that_was_cleaned_away_is_made_anew(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    with scratch.folder() as first:
        pass
    (first.parent / LOCK).unlink()
    first.parent.rmdir()
    with scratch.folder() as second:
        assert second.is_dir()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_two_processes_that_begin_at_once_both_have_a_folder(tmp_path: Path) -> None:
    owners = [owner(tmp_path) for _ in range(8)]
    assert {folder for _, folder in owners} == set(tmp_path.iterdir())
    for process, _ in owners:
        ended(process, signal.SIGKILL)
    sweep(tmp_path, os.getuid())
    assert list(tmp_path.iterdir()) == []
