"""Ctrl-C once cancels, twice stops; SIGTERM and SIGHUP stop. What was stopped can be resumed, and no tool is left."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.live import HEAD, Live, has_process_with, statuses, until
from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl
from tests.acceptance.terminal import ON_TERMINAL

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
GATE = f"""{HEAD}
workload: {{ mark: none }}
workflow:
  - step: gate
    tool:
      kind: script
      input: {{ mark: "{{{{ workload.mark }}}}" }}
      script: |
        sh -c 'while [ ! -e go ]; do sleep 0.05; done' "$mark" &
        echo waiting
        wait
    next: {{ arcs: [ {{ step: after }} ] }}
  - step: after
    tool: {{ kind: python, code: "result = 'whole'" }}
"""
"""Its tool has a child of its own, known by the mark, that has to end with it."""

FIRST = "echo first >> begun; echo waiting; while [ ! -e go ]; do sleep 0.05; done"
NEXT_ITERATION = f"""
workflow:
  - step: each
    loop: {{ in: [1, 2, 3], iterator: i, spec: {{ mode: sequential }} }}
    tool: {{ kind: script, script: "{FIRST}" }}
"""
NEXT_TASK = f"""
workflow:
  - step: one
    tool:
      - first: {{ kind: script, script: "{FIRST}" }}
      - second: {{ kind: script, script: "echo second >> begun" }}
"""
NEXT_STEP = f"""
workflow:
  - step: one
    tool: {{ kind: script, script: "{FIRST}" }}
    next: {{ arcs: [ {{ step: two }} ] }}
  - step: two
    tool: {{ kind: script, script: "echo second >> begun" }}
"""

TALKS = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: "{{{{ range(5000) | list }}}}", iterator: i }}
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    tool: {{ kind: python, code: "raise ValueError('x' * 500)" }}
"""
PIPE_BYTES = 4096
"""The least that a pipe holds."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "gate.yaml").write_text(GATE, "utf-8")
    return tmp_path


def resumed(project: Path) -> str:
    (project / "go").touch()
    return noetl("run", "--resume", "@latest", "-q", folder=project).stdout


@pytest.mark.parametrize(
    ("signals", "code", "told"),
    [
        ((INT, INT), 130, "stopped; go on with: noetl run --resume"),
        ((TERM,), 143, "stopped by SIGTERM; go on with: noetl run --resume"),
        ((HUP,), 129, "stopped by SIGHUP; go on with: noetl run --resume"),
        ((INT, TERM), 143, "stopped by SIGTERM; go on with: noetl run --resume"),
    ],
)
def test_a_run_that_is_stopped_leaves_no_tool_and_can_be_resumed(
    project: Path, signals: tuple[signal.Signals, ...], code: int, told: str
) -> None:
    mark = str(uuid4())
    with Live("run", "gate.yaml", "--set", f"mark={mark}", folder=project) as run:
        run.until_printed("waiting")
        run.signal(signals[0])
        if len(signals) > 1:
            run.until_said("cancelling; Ctrl-C again stops at once, and the run can be resumed")
            run.signal(*signals[1:])
        assert run.end() == code
        assert told in run.said
    (name,) = re.findall(r"--resume (\S+)", run.said)
    assert statuses(project) == {name: "running"}
    until(lambda: not has_process_with(mark))
    assert resumed(project) == "whole\n"


def test_one_ctrl_c_cancels_the_run_for_good(project: Path) -> None:
    mark = str(uuid4())
    with Live("run", "gate.yaml", "--set", f"mark={mark}", folder=project) as run:
        run.until_printed("waiting")
        run.signal(INT)
        assert run.end() == 4
    assert set(statuses(project).values()) == {"cancelled"}
    until(lambda: not has_process_with(mark))


@pytest.mark.parametrize("shape", [NEXT_ITERATION, NEXT_TASK, NEXT_STEP])
def test_no_task_begins_after_the_first_ctrl_c(project: Path, shape: str) -> None:
    (project / "begun.yaml").write_text(f"{HEAD}{shape}", "utf-8")
    with Live("run", "begun.yaml", folder=project) as run:
        run.until_printed("waiting")
        run.signal(INT)
        run.until_said("cancelling")
        (project / "go").touch()
        assert run.end() == 4
    assert (project / "begun").read_text("utf-8") == "first\n"


def test_a_run_that_is_stopped_before_its_tool_began_can_be_resumed(project: Path) -> None:
    with Live("run", "gate.yaml", folder=project) as run:
        run.until_said("▶ sample")
        run.signal(TERM)
        assert run.end() == 143
    assert set(statuses(project).values()) == {"running"}
    assert resumed(project) == "whole\n"


def test_a_signal_that_is_ignored_stays_so(project: Path) -> None:
    """As `nohup` asks for, and a shell that starts something in the background."""
    ignoring = f"trap '' HUP INT; exec '{PROGRAM}' run gate.yaml -q"
    with subprocess.Popen(["sh", "-c", ignoring], cwd=project, env=environment(), stdout=subprocess.PIPE) as run:
        until(lambda: "waiting" in noetl("logs", "@latest", folder=project).stdout)
        run.send_signal(HUP)
        run.send_signal(INT)
        (project / "go").touch()
        told, _ = run.communicate(timeout=TIMEOUT_S)
    assert (run.returncode, told) == (0, b"whole\n")


def test_a_terminal_that_is_closed_leaves_a_run_that_can_be_resumed(project: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, PROGRAM, "run", "gate.yaml"], cwd=project, env=environment(),
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    ) as run:  # fmt: skip
        os.close(theirs)
        until(lambda: "waiting" in noetl("logs", "@latest", folder=project).stdout)
        os.close(ours)
        assert run.wait(TIMEOUT_S) == 129
    assert set(statuses(project).values()) == {"running"}
    assert resumed(project) == "whole\n"


def test_a_run_whose_talk_nobody_reads_can_be_stopped(project: Path) -> None:
    (project / "talks.yaml").write_text(TALKS, "utf-8")
    ours, theirs = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with subprocess.Popen([PROGRAM, "run", "talks.yaml"], cwd=project, env=environment(), stderr=theirs) as run:
        os.close(theirs)
        until(lambda: waiting_in(ours) > PIPE_BYTES // 2)
        run.send_signal(TERM)
        assert run.wait(TIMEOUT_S) == 143
    os.close(ours)
    assert set(statuses(project).values()) == {"running"}


def waiting_in(pipe: int) -> int:
    """Bytes that were written and not read."""
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0])
