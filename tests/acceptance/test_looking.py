"""Looking at runs at three in the morning: what ran, what failed and why, what was left behind."""

import shlex
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.live import GATE, Live
from tests.acceptance.process import PROGRAM, environment, noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {0}, path: {0} }}\n"
PARENT = """workflow:
  - step: all
    loop: { in: [1, 2, 3], iterator: n, spec: { mode: parallel } }
    spec: { policy: { failure: { mode: best_effort } } }
    tool: { kind: playbook, path: child, input: { n: "{{ iter.n }}" } }
    next: { arcs: [ { step: own } ] }
  - step: own
    tool: { kind: script, script: echo the parent }
"""
CHILD = """workload: { n: 0 }
workflow:
  - step: one
    tool:
      kind: python
      input: { n: "{{ workload.n }}" }
      code: |
        print("number", n)
        result = {1: "a", 3: "c"}[n]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("parent", PARENT), ("child", CHILD), ("gate", GATE)):
        (tmp_path / f"{name}.yaml").write_text(HEAD.format(name) + text, "utf-8")
    return tmp_path


def out(project: Path, *words: str) -> str:
    ran = noetl(*words, folder=project)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_children_are_listed_named_and_heard_from_their_parent(project: Path) -> None:
    noetl("run", "parent.yaml", "-q", folder=project)
    assert len(out(project, "executions").splitlines()) == 1
    assert len(out(project, "executions", "--children").splitlines()) == 4
    cut = noetl("executions", "--children", "-n", "3", folder=project)
    assert (len(cut.stdout.splitlines()), cut.stderr) == (3, "these are 3, and there are more; -n N lists N\n")
    assert noetl("executions", "--children", "-n", "4", folder=project).stderr == ""
    below = out(project, "executions", "--of", "@latest").splitlines()
    assert [line.split()[1] for line in below] == ["failed", "completed", "completed"]
    assert "child.yaml" in out(project, "status", shlex.split(below[0])[0])

    lines = out(project, "status", "@latest").splitlines()
    start = lines.index("  below it: 3 executions, 1 failed")
    status, path, name = shlex.split(lines[start + 1])
    assert (status, path) == ("failed", "child")
    assert "KeyError: 2" in out(project, "status", name)

    printed = out(project, "logs", "@latest")
    assert printed.startswith("own#1.own_task/1 | the parent\nall#1[0].all_task/1 > one#1.one_task/1 | number 1\n")
    assert printed.count(" | number ") == 3
    assert out(project, "logs", "@latest", "--only") == "own#1.own_task/1 | the parent\n"
    assert out(project, "logs", "@latest", "-f") == printed
    assert out(project, "logs", "@latest", "-f", "--only") == "own#1.own_task/1 | the parent\n"


def test_a_traceback_is_where_people_look(project: Path) -> None:
    assert noetl("run", "child.yaml", "--set", "n=2", "-q", folder=project).returncode == 1
    trace = ['File "child.yaml", line 12, in <module>', 'result = {1: "a", 3: "c"}[n]', "KeyError: 2"]
    for verb in ("status", "logs"):
        shown = out(project, verb, "@latest")
        assert [line for line in trace if line not in shown] == []


def test_events_tell_when_and_why_and_failures_are_found_by_their_word(project: Path) -> None:
    noetl("run", "child.yaml", "--set", "n=2", "-q", folder=project)
    lines = out(project, "events", "@latest").splitlines()
    failed = [line.split()[2] for line in lines if "failed: " in line and "KeyError: 2" in line]
    assert failed == ["task.done", "step.failed", "workflow.finished"]
    events = [msgspec.json.decode(line) for line in out(project, "events", "@latest", "-o", "jsonl").splitlines()]
    assert [line.split()[1][:19] for line in lines] == [event["timestamp"][:19] for event in events]
    assert lines[-1].endswith("error  failed")


def test_why_a_run_was_cancelled_is_in_its_events(project: Path) -> None:
    with Live("run", "gate.yaml", folder=project) as run:
        run.until_printed("waiting")
        noetl("cancel", "@latest", "--reason", "enough", folder=project)
        assert run.end() == 4
    assert "error  cancelled: enough" in out(project, "events", "@latest")


def test_a_run_whose_process_was_killed_is_told_as_interrupted_until_it_goes_on(project: Path) -> None:
    with Live("run", "gate.yaml", folder=project) as run:
        run.until_printed("waiting")
        assert " running " in out(project, "executions")
        run.signal(signal.SIGKILL)
        run.end()
    listed = noetl("executions", folder=project)
    name = listed.stdout.split()[0]
    assert " interrupted " in listed.stdout
    assert f"noetl run --resume {name}\n" in listed.stderr
    (entry,) = msgspec.json.decode(out(project, "executions", "-o", "json"))
    assert (entry["status"], entry["interrupted"]) == ("running", True)
    shown = out(project, "status", "@latest")
    assert "  interrupted\n" in shown
    resume = next(line for line in shown.splitlines() if "--resume" in line).partition("go on with: noetl ")[2]
    (project / "go").touch()
    assert resume == f"run --resume {name}"
    assert noetl(*resume.split(), "-q", folder=project).returncode == 0
    assert "interrupted" not in out(project, "executions") + out(project, "status", "@latest")


def test_what_a_child_prints_is_followed_from_its_parent(project: Path) -> None:
    text = HEAD.format("caller") + "workflow:\n  - step: ask\n    tool: { kind: playbook, path: gate }\n"
    (project / "caller.yaml").write_text(text, "utf-8")
    with Live("run", "caller.yaml", folder=project) as run:
        run.until_printed("waiting")
        with subprocess.Popen(
            [PROGRAM, "logs", "@latest", "-f"], cwd=project, env=environment(), text=True, stdout=subprocess.PIPE
        ) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == "ask#1.ask_task/1 > gate#1.gate_task/1 | waiting\n"
            assert follower.poll() is None
            (project / "go").touch()
            assert follower.stdout.read() == ""
        assert (follower.returncode, run.end()) == (0, 0)
