"""A retry that is far away survives `kill -9`, holds no worker, and goes on when its time has come."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl

HOUR_S = 3_600
LOOKS_MAX = 100
ITERATIONS = 30
PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: wait, path: wait }
workload: { delay: 3600, count: 1 }
workflow:
  - step: work
    loop:
      in: "{{ range(workload.count) | list }}"
      iterator: i
      spec: { mode: parallel, max_in_flight: 100 }
    tool:
      kind: script
      script: |
        echo "$NOETL_IDEMPOTENCY_KEY" >> ledger.txt
        test -e ready.txt
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: { do: retry, attempts: 2, delay: "{{ workload.delay }}" }
            - else: { then: { do: continue } }
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "wait.yaml").write_text(PLAYBOOK, "utf-8")
    return tmp_path


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    """Starts runs that are killed at the end, whatever happened."""
    begun: list[subprocess.Popen[str]] = []

    def started(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [PROGRAM, "run", *words], cwd=project, env=environment(), text=True, stderr=subprocess.PIPE
        )
        begun.append(process)
        return process

    yield started
    for process in begun:
        killed(process)


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=TIMEOUT_S)


def waits(project: Path, execution_id: str = "@latest") -> list[str]:
    """What an execution waits for, once it waits for a timer."""
    for _ in range(LOOKS_MAX):
        shown = noetl("status", execution_id, "-o", "json", folder=project).stdout
        found: list[str] = msgspec.json.decode(shown)["waiting_for"] if shown else []
        if any("timer" in each for each in found):
            return found
    raise AssertionError(f"{execution_id} never waited for a timer")


def due_at(project: Path, execution_id: str = "@latest") -> float:
    (text,) = re.findall(r"due at (\S+)", " ".join(waits(project, execution_id)))
    return datetime.fromisoformat(text).timestamp()


def calls(project: Path) -> list[str]:
    return (project / "ledger.txt").read_text("utf-8").splitlines()


def executions(project: Path) -> list[str]:
    listed = msgspec.json.decode(noetl("executions", "-o", "json", folder=project).stdout)
    return [each["execution_id"] for each in listed]


def test_a_retry_in_an_hour_survives_a_kill_and_is_waited_for_again(project: Path, start: Start) -> None:
    process = start("wait.yaml", "-q")
    due = due_at(project)
    assert due > datetime.now(UTC).timestamp() + HOUR_S / 2
    killed(process)
    (execution_id,) = executions(project)

    another = start("wait.yaml")
    assert another.stderr is not None
    told = another.stderr.readline()
    killed(another)
    assert f"was interrupted: noetl run --resume {execution_id[:8]}" in told

    before = calls(project)
    start("--resume", execution_id, "-q")
    assert due_at(project, execution_id) == due
    assert calls(project) == before


def test_a_retry_whose_time_came_while_nothing_ran_goes_on_at_once(project: Path, start: Start) -> None:
    process = start("wait.yaml", "-q", "--set", "delay=4")
    due = due_at(project)
    killed(process)
    (project / "ready.txt").touch()
    (execution_id,) = executions(project)
    while datetime.now(UTC).timestamp() <= due:
        assert "due at" in noetl("status", execution_id, folder=project).stdout
    ran = noetl("run", "--resume", execution_id, "-q", folder=project)
    assert ran.returncode == 0, ran.stderr
    first, second = calls(project)
    assert first == second


def test_what_waits_holds_no_worker(project: Path, start: Start) -> None:
    """One slot for all iterations: each comes to its first call, since none of those that wait is in the way."""
    start("wait.yaml", "-q", "--slots", "1", "--set", f"count={ITERATIONS}")
    for _ in range(LOOKS_MAX):
        if waits(project) and len(calls(project)) == ITERATIONS:
            break
    assert len(set(calls(project))) == ITERATIONS


def test_a_run_that_waits_in_another_process_was_not_interrupted(project: Path, start: Start) -> None:
    start("wait.yaml", "-q")
    due_at(project)
    another = start("wait.yaml")
    assert another.stderr is not None
    assert another.stderr.readline().startswith("▶ wait")
    os.kill(another.pid, signal.SIGKILL)
