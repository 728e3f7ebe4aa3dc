"""Streams that are closed, full, or left by their reader: a clear word, a proper exit code, and no harm to the run."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.live import HEAD, statuses, until
from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl

HELLO = f"""{HEAD}
workflow:
  - step: greet
    tool: {{ kind: python, code: "result = 'hello'" }}
"""
GATE = f"""{HEAD}
workflow:
  - step: gate
    tool: {{ kind: script, script: "echo waiting; while [ ! -e go ]; do sleep 0.05; done" }}
    next: {{ arcs: [ {{ step: after }} ] }}
  - step: after
    tool: {{ kind: python, code: "result = 'whole'" }}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hello.yaml").write_text(HELLO, "utf-8")
    (tmp_path / "gate.yaml").write_text(GATE, "utf-8")
    return tmp_path


def in_shell(project: Path, line: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """A line of a person's shell in which `$N` is the program."""
    return subprocess.run(
        ["sh", "-c", line], cwd=project, env=environment(N=PROGRAM, **changes), capture_output=True,
        text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("closing", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
@pytest.mark.parametrize("form", ["", "-o json"])
def test_a_result_that_cannot_be_written_is_told_in_words_and_kept(
    project: Path, closing: str, why: str, form: str
) -> None:
    ran = in_shell(project, f'"$N" run hello.yaml -q {form} {closing}')
    (name,) = statuses(project)
    assert ran.returncode == 5
    assert ran.stderr == (
        f"noetl: standard output cannot be written: {why}\n  = the run is completed; its result: noetl result {name}\n"
    )
    assert noetl("result", name, folder=project).stdout == "hello\n"


@pytest.mark.parametrize("words", ["--help", "explain", "schema", "executions", "events @latest"])
@pytest.mark.parametrize("closing", [">&-", ">/dev/full"])
def test_data_that_cannot_be_written_is_told_by_every_verb(project: Path, words: str, closing: str) -> None:
    noetl("run", "hello.yaml", "-q", folder=project)
    ran = in_shell(project, f'"$N" {words} {closing}')
    assert ran.returncode == 5
    assert ran.stderr.startswith("noetl: standard output cannot be written: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_data_of_which_only_a_part_can_be_written_is_told(project: Path, unbuffered: str) -> None:
    ran = in_shell(project, '(ulimit -f 16; "$N" schema > part)', PYTHONUNBUFFERED=unbuffered)
    assert 0 < (project / "part").stat().st_size < len(noetl("schema", folder=project).stdout)
    assert (ran.returncode, ran.stderr) == (5, "noetl: standard output cannot be written: File too large\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early_is_no_trouble(project: Path, unbuffered: str) -> None:
    line = '{ "$N" schema; echo $? >code; } | head -1 >/dev/null'
    assert in_shell(project, line, PYTHONUNBUFFERED=unbuffered).stderr == ""
    assert (project / "code").read_text() == "141\n"


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
def test_a_run_does_without_the_other_streams(project: Path, closing: str) -> None:
    ran = in_shell(project, f'"$N" run hello.yaml {closing}')
    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert set(statuses(project).values()) == {"completed"}


def test_a_run_without_any_stream_is_recorded_all_the_same(project: Path) -> None:
    ran = in_shell(project, '"$N" run hello.yaml <&- >&- 2>&-')
    assert (ran.returncode, ran.stdout, ran.stderr) == (5, "", "")
    assert set(statuses(project).values()) == {"completed"}
    assert noetl("result", "@latest", folder=project).stdout == "hello\n"


@pytest.mark.parametrize(("is_shared", "code"), [(False, 0), (True, 141)])
def test_a_reader_that_leaves_does_not_stop_the_work(project: Path, is_shared: bool, code: int) -> None:
    """As `2>&1 | head -1` does. Where the result has no reader either, the end is that of other tools."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [PROGRAM, "run", "gate.yaml"], cwd=project, env=environment(),
        stdout=writer if is_shared else subprocess.PIPE, stderr=writer,
    ) as run:  # fmt: skip
        os.close(writer)
        until(lambda: "waiting" in noetl("logs", "@latest", folder=project).stdout)
        os.close(reader)
        (project / "go").touch()
        told, _ = run.communicate(timeout=TIMEOUT_S)
    assert (run.returncode, told) == (code, None if is_shared else b"whole\n")
    assert set(statuses(project).values()) == {"completed"}
    assert noetl("result", "@latest", folder=project).stdout == "whole\n"


@pytest.mark.parametrize("words", ["run hello.yaml --set name=Zo\\303\\253", "cancel @latest --reason \\377"])
def test_words_that_the_locale_cannot_read_are_told(project: Path, words: str) -> None:
    noetl("run", "hello.yaml", "-q", folder=project)
    ran = in_shell(project, f"\"$N\" $(printf '{words}')", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "an argument is not text in this locale" in ran.stderr
    assert "LC_ALL=C.UTF-8" in ran.stderr
    assert len(statuses(project)) == 1
