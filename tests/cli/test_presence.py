import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noetl.cli.presence import FOLDER, NOBODY, Present, present, who_is_present, worker_name

HERE = worker_name()
ELSEWHERE = f"{socket.gethostname()}/1:{os.getpid()}:0"
"""A worker in another container of this machine: its number means another process here."""

STAYING = """
import sys
from pathlib import Path
from noetl.cli.presence import present
with present(Path(sys.argv[1]), "x", sys.argv[2]):
    print("there", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another(home: Path, worker: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that is present until it is killed, and then not yet reaped."""
    words = [sys.executable, "-c", STAYING, str(home), worker]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        yield process


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def test_an_execution_is_worked_on_for_as_long_as_a_process_is_present(tmp_path: Path) -> None:
    assert who_is_present(tmp_path) == NOBODY
    with present(tmp_path, "a" * 1000, HERE), present(tmp_path, "b", HERE):
        assert who_is_present(tmp_path) == Present(frozenset({"a" * 1000, "b"}), frozenset({HERE}))
    assert who_is_present(tmp_path) == NOBODY
    assert os.listdir(tmp_path / FOLDER) == []


@pytest.mark.parametrize(
    "worker", [HERE, ELSEWHERE, "another-machine:1:2"], ids=["here", "another container", "another machine"]
)
def test_a_worker_is_there_until_it_is_killed_whatever_its_number_means_here(tmp_path: Path, worker: str) -> None:
    with another(tmp_path, worker) as process:
        there = who_is_present(tmp_path)
        assert (there.executions, there.is_gone(worker)) == (frozenset({"x"}), False)
        kill(process)
        there = who_is_present(tmp_path)
        assert (there.executions, there.is_gone(worker)) == (frozenset(), True)


def test_what_a_killed_process_left_goes_when_another_begins(tmp_path: Path) -> None:
    with another(tmp_path, ELSEWHERE) as process:
        kill(process)
    (left,) = os.listdir(tmp_path / FOLDER)
    with present(tmp_path, "y", HERE):
        (own,) = os.listdir(tmp_path / FOLDER)
        assert own != left


def test_those_who_look_at_the_same_time_do_not_see_each_other(tmp_path: Path) -> None:
    with another(tmp_path, ELSEWHERE) as process:
        kill(process)
    with who_looks(tmp_path):
        assert who_is_present(tmp_path).is_gone(ELSEWHERE)


@contextmanager
def who_looks(home: Path) -> Iterator[None]:
    """Somebody in the middle of a look at the only file."""
    looking = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_SH); print(flush=True); sys.stdin.read()"
    )
    (file,) = (home / FOLDER).iterdir()
    words = [sys.executable, "-c", looking, str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield


def test_of_a_worker_without_a_file_its_number_tells_but_only_where_it_was_given() -> None:
    place, pid, born_at = HERE.split(":")
    assert not NOBODY.is_gone(HERE)
    assert NOBODY.is_gone(f"{place}:{pid}:{int(born_at) + 1}")
    assert not NOBODY.is_gone(ELSEWHERE)
    assert not NOBODY.is_gone("another-machine:1:2")


def test_a_process_that_is_dead_and_not_yet_reaped_is_gone_by_its_number() -> None:
    naming = "from noetl.cli.presence import worker_name; print(worker_name(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", naming], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert NOBODY.is_gone(name)


def test_a_file_that_says_nothing_tells_of_nobody(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1-x").touch()
    assert who_is_present(tmp_path) == NOBODY


def test_where_nothing_can_be_written_the_work_goes_on(tmp_path: Path) -> None:
    (tmp_path / FOLDER).touch()
    with present(tmp_path, "x", HERE):
        assert who_is_present(tmp_path) == NOBODY
