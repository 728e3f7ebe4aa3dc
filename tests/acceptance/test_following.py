"""Looking at a live run from another terminal, and naming it."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.live import GATE, HEAD
from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl

SILENT = HEAD + GATE
TALKS = f"""{SILENT}
        echo last words
    set: {{ ctx.seen: true }}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "gate.yaml").write_text(TALKS, "utf-8")
    (tmp_path / "silent.yaml").write_text(SILENT, "utf-8")
    return tmp_path


def begun(*words: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PROGRAM, *words], cwd=folder, env=environment(), text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@contextmanager
def running(project: Path, file: str = "gate.yaml") -> Iterator[subprocess.Popen[str]]:
    """A run whose tool has begun and waits for the file `go`."""
    run = begun("run", file, folder=project)
    ends_at = time.monotonic() + TIMEOUT_S
    try:
        while "waiting" not in noetl("logs", "@latest", folder=project).stdout:
            assert run.poll() is None, run.communicate()
            assert time.monotonic() < ends_at
        yield run
    finally:
        (project / "go").touch()
        run.communicate(timeout=TIMEOUT_S)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """The first line that holds a text; the end of the output is none."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never printed")


@pytest.mark.parametrize(
    ("words", "early", "late"),
    [
        (("events", "@latest", "-f"), "step.started", "playbook.processed"),
        (("events", "@latest", "-f", "-o", "jsonl"), '"step.started"', '"playbook.processed"'),
        (("logs", "@latest", "-f"), "waiting", "last words"),
    ],
)
def test_a_live_run_is_followed_until_it_ends(project: Path, words: tuple[str, ...], early: str, late: str) -> None:
    with running(project):
        follower = begun(*words, folder=project)
        line_with(follower, early)
        assert follower.poll() is None
        (project / "go").touch()
        rest, errors = follower.communicate(timeout=TIMEOUT_S)
    assert late in rest.splitlines()[-1]
    assert (follower.returncode, errors) == (0, "")


def test_an_end_is_told_to_who_follows_only_then(project: Path) -> None:
    with running(project):
        (project / "go").touch()
    for words in (("events", "@latest", "-f"), ("logs", "@latest", "-f")):
        ran = noetl(*words, folder=project)
        assert ran.returncode == 0
        assert ran.stdout == noetl(*words[:2], folder=project).stdout != ""


@pytest.mark.parametrize("verb", ["events", "logs"])
def test_ctrl_c_ends_following_and_not_the_run(project: Path, verb: str) -> None:
    with running(project) as run:
        follower = begun(verb, "@latest", "-f", folder=project)
        line_with(follower, "step.started" if verb == "events" else "waiting")
        follower.send_signal(signal.SIGINT)
        _, errors = follower.communicate(timeout=TIMEOUT_S)
        assert (follower.returncode, errors) == (130, "")
        assert run.poll() is None
    assert run.returncode == 0


@pytest.mark.parametrize("verb", ["events", "logs"])
def test_a_pipe_that_closes_ends_following_quietly_though_nothing_more_is_told(project: Path, verb: str) -> None:
    with running(project, "silent.yaml") as run:
        follower = begun(verb, "@latest", "-f", folder=project)
        line_with(follower, "step.started" if verb == "events" else "waiting")
        assert follower.stdout is not None
        follower.stdout.close()
        assert follower.wait(TIMEOUT_S) == 141
        assert follower.stderr is not None
        assert follower.stderr.read() == ""
        follower.stderr.close()
        assert run.poll() is None


def test_a_live_run_is_looked_at_from_another_process(project: Path) -> None:
    with running(project):
        status = msgspec.json.decode(noetl("status", "@latest", "-o", "json", folder=project).stdout)
        assert (status["status"], status["ctx"], status["error"]) == ("running", {}, None)
        assert status["steps"] == [{"name": "gate", "status": "running", "runs": 1, "iterations": None}]
        (wait,) = status["waiting_for"]
        assert wait.startswith("gate#1 waits for task run gate#1.gate_task/1 on worker ")
        text = noetl("status", "@latest", folder=project).stdout
        assert "gate_task" in text.splitlines()[1]
        listed = noetl("executions", "--status", "running", folder=project).stdout
        assert status["execution_id"] in listed
        ran = noetl("result", "@latest", folder=project)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "has not ended yet" in ran.stderr
    assert msgspec.json.decode(noetl("status", "@latest", "-o", "json", folder=project).stdout)["ctx"] == {"seen": True}
    assert noetl("executions", "--status", "running", folder=project).stdout == ""


def test_an_execution_is_named_by_the_beginning_of_its_id_where_that_is_unique(project: Path) -> None:
    (project / "go").touch()
    for _ in range(2):
        noetl("run", "gate.yaml", "-q", folder=project)
    listed = msgspec.json.decode(noetl("executions", "-o", "json", folder=project).stdout)
    later, earlier = (each["execution_id"] for each in listed)
    assert noetl("status", "@latest", "-o", "json", folder=project).stdout.count(later) == 1
    for name in (later, earlier):
        assert noetl("result", name[:13], folder=project).returncode == 0
    ran = noetl("status", "0", folder=project)
    assert ran.returncode == 2
    assert 'noetl: 2 executions begin with "0"' in ran.stderr
    assert earlier in ran.stderr
    assert later in ran.stderr
    assert "write more of the id" in ran.stderr


def test_the_name_that_a_run_shows_is_enough_to_name_it(project: Path) -> None:
    (project / "go").touch()
    said = [noetl("run", "gate.yaml", folder=project).stderr.splitlines() for _ in range(3)]
    told = [line.split()[-1] for lines in said for line in lines if line.startswith("▶")]
    assert len(set(told)) == 3
    assert [noetl("result", name, folder=project).returncode for name in told] == [0, 0, 0]


def test_a_live_run_is_cancelled_from_another_terminal_and_its_followers_end(project: Path) -> None:
    with running(project) as run:
        followers = [begun(verb, "@latest", "-f", folder=project) for verb in ("events", "logs")]
        ran = noetl("cancel", "@latest", "--reason", "enough", "-o", "json", folder=project)
        assert msgspec.json.decode(ran.stdout)["status"] == "cancelled"
        assert (run.wait(TIMEOUT_S), ran.returncode, ran.stderr) == (4, 0, "")
        told = [follower.communicate(timeout=TIMEOUT_S)[0] for follower in followers]
        assert [follower.returncode for follower in followers] == [0, 0]
    assert "execution.cancelled" in told[0]
    assert told[1].endswith("| waiting\n")
    again = noetl("cancel", "@latest", folder=project)
    assert again.returncode == 2
    assert "has ended: cancelled" in again.stderr


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_list_of_no_length_is_refused(project: Path, limit: str) -> None:
    ran = noetl("executions", f"--limit={limit}", folder=project)
    assert ran.returncode == 2
    assert f'found "{limit}"' in ran.stderr
