import os
import subprocess
import sys
from pathlib import Path

from noetl.cli.presence import FOLDER, is_gone, present, worked_on, worker_name

KILLED = """
import os, sys
from pathlib import Path
from noetl.cli.presence import present, worker_name
with present(Path(sys.argv[1]), "x"):
    print(worker_name(), flush=True)
    os.kill(os.getpid(), 9)
"""


def test_an_execution_is_worked_on_for_as_long_as_a_process_is_present(tmp_path: Path) -> None:
    assert worked_on(tmp_path) == frozenset()
    with present(tmp_path, "a" * 1000), present(tmp_path, "b"):
        assert worked_on(tmp_path) == {"a" * 1000, "b"}
    assert worked_on(tmp_path) == frozenset()


def test_a_process_that_was_killed_is_not_present_and_what_it_left_goes(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == -9
    assert len(os.listdir(tmp_path / FOLDER)) == 1
    assert is_gone(ran.stdout.strip())
    assert worked_on(tmp_path) == frozenset()
    assert os.listdir(tmp_path / FOLDER) == []


def test_a_process_that_is_dead_and_not_yet_reaped_is_gone(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(name)
        assert worked_on(tmp_path) == frozenset()


def test_a_worker_of_another_machine_may_be_alive() -> None:
    assert not is_gone("elsewhere:1:2")
    assert not is_gone(worker_name())


def test_a_file_that_says_nothing_yet_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1-x").touch()
    assert worked_on(tmp_path) == frozenset()
    assert os.listdir(tmp_path / FOLDER) == ["1-x"]
