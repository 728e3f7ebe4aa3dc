import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl
from tests.tools.calling import is_running

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: sample, path: sample }\n"
HELLO = f"""{HEAD}
workload: {{ name: world, deep: {{ n: 1 }} }}
workflow:
  - step: greet
    tool:
      kind: python
      code: |
        print("greeting", name)
        result = dict(text="Hello, " + name, n=n)
      input: {{ name: "{{{{ workload.name }}}}", n: "{{{{ workload.deep.n }}}}" }}
"""
FAILS = f"""{HEAD}
workload: {{ broken: true }}
workflow:
  - step: first
    tool: {{ kind: noop }}
    next: {{ arcs: [ {{ step: second }} ] }}
  - step: second
    tool:
      kind: python
      code: |
        if broken:
            raise ValueError("no luck")
        result = "mended"
      input: {{ broken: "{{{{ workload.broken }}}}" }}
"""
WAITS = f"""{HEAD}
workflow:
  - step: wait
    tool:
      kind: script
      script: |
        echo started $$
        exec sleep 600
"""


class Ended(msgspec.Struct, frozen=True):
    """The contract of `noetl run -o json`."""

    execution_id: str
    playbook: str
    status: str
    output: dict[str, object]
    error: dict[str, object] | None
    started_at: str
    finished_at: str
    duration_ms: float


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("hello", HELLO), ("fails", FAILS), ("waits", WAITS)):
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    return tmp_path


def ended(ran: subprocess.CompletedProcess[str]) -> Ended:
    assert ran.stdout, ran.stderr
    return msgspec.json.decode(ran.stdout, type=Ended)


def test_the_result_goes_to_standard_output_and_nothing_else_does(project: Path) -> None:
    ran = noetl("run", "hello.yaml", folder=project)
    assert msgspec.json.decode(ran.stdout) == {"text": "Hello, world", "n": 1}
    assert ran.returncode == 0
    assert "greet done" in ran.stderr


def test_values_are_laid_over_the_payload_and_that_over_the_workload(project: Path) -> None:
    words = ["run", "hello.yaml", "-q", "--payload", '{"name": "Ann", "deep": {"n": 2}}', "--set", "deep.n=3"]
    ran = noetl(*words, folder=project)
    assert msgspec.json.decode(ran.stdout) == {"text": "Hello, Ann", "n": 3}
    assert ran.stderr == ""


def test_a_payload_comes_from_a_file_or_from_standard_input(project: Path) -> None:
    (project / "w.json").write_text('{"name": "file"}', "utf-8")
    assert "Hello, file" in noetl("run", "hello.yaml", "-q", "--payload", "@w.json", folder=project).stdout
    ran = noetl("run", "hello.yaml", "-q", "--payload", "-", stdin='{"name": "stdin"}', folder=project)
    assert "Hello, stdin" in ran.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hello.yaml", "--payload", "[1]"], "must be an object"),
        (["hello.yaml", "--payload", "{"], "is not JSON"),
        (["hello.yaml", "--payload", "@nowhere.json"], "cannot be read"),
        (["hello.yaml", "--set", "name"], "KEY=VALUE"),
        (["hello.yaml", "--slots", "0"], "whole number"),
        ([], "expected a playbook to run"),
        (["hello.yaml", "--resume", "x"], "found both hello.yaml and --resume x"),
        (["--resume", "nothing"], "nothing"),
    ],
)
def test_a_mistake_in_the_command_is_told_and_nothing_runs(project: Path, words: list[str], told: str) -> None:
    ran = noetl("run", *words, folder=project)
    assert ran.returncode == 2
    assert told in ran.stderr
    assert ran.stdout == ""


def test_an_invalid_playbook_is_not_run(project: Path) -> None:
    (project / "bad.yaml").write_text(HELLO.replace("kind: python", "kind: pyton"), "utf-8")
    ran = noetl("run", "bad.yaml", folder=project)
    assert ran.returncode == 3
    assert 'did you mean "python"' in ran.stderr
    assert not (project / ".noetl").exists()


def test_a_run_that_fails_ends_with_1_and_says_where(project: Path) -> None:
    ran = noetl("run", "fails.yaml", "-o", "json", folder=project)
    found = ended(ran)
    assert ran.returncode == 1
    assert found.status == "failed"
    assert found.error is not None
    assert "fails.yaml:15: ValueError: no luck" in str(found.error["message"])


def test_what_failed_runs_again_and_what_succeeded_does_not(project: Path) -> None:
    noetl("run", "fails.yaml", "-q", folder=project)
    ran = noetl("rerun", "@latest", "--set", "broken=false", "-q", folder=project)
    assert (ran.stdout, ran.returncode) == ("mended\n", 0)
    log = noetl("events", "@latest", folder=project).stdout
    assert "second#2" in log
    assert "first#" not in log


def test_a_dry_run_shows_the_net_and_stores_nothing(project: Path) -> None:
    ran = noetl("run", "hello.yaml", "--dry-run", "--set", "name=Ann", folder=project)
    assert ran.returncode == 0
    assert 'name: "Ann"' in ran.stdout
    assert "flowchart" in ran.stdout
    assert not (project / ".noetl").exists()


@pytest.mark.parametrize(("spec", "limit"), [("", 100_000), ("spec: { limits: { task_runs_max: 40 } }", 40)])
def test_a_dry_run_knows_that_no_pipeline_runs_for_ever(project: Path, spec: str, limit: int) -> None:
    (project / "round.yaml").write_text(
        f"""apiVersion: noetl.io/v2
kind: Playbook
metadata: {{ name: round, path: round }}
workflow:
  - step: turn
    {spec}
    tool:
      - {{ name: again, while: {{ when: "{{{{ step.n is not defined }}}}", tool: [ {{ name: one, kind: noop }} ] }} }}
""",
        "utf-8",
    )
    ran = noetl("run", "round.yaml", "--dry-run", folder=project)
    assert f"worst case {limit} task runs (`spec.limits.task_runs_max`) and 0 ms of waiting\n" in ran.stdout


def test_executions_are_listed_and_looked_at_without_a_server(project: Path) -> None:
    name = ended(noetl("run", "hello.yaml", "-o", "json", folder=project)).execution_id
    listed = msgspec.json.decode(noetl("executions", "-o", "json", folder=project).stdout)
    assert [each["execution_id"] for each in listed] == [name]
    status = msgspec.json.decode(noetl("status", name[:12], "-o", "json", folder=project).stdout)
    assert (status["status"], status["waiting_for"], status["incidents"]) == ("completed", [], [])
    assert [(step["name"], step["status"], step["runs"]) for step in status["steps"]] == [("greet", "done", 1)]
    lines = noetl("events", "@latest", "-o", "jsonl", folder=project).stdout.splitlines()
    assert [msgspec.json.decode(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert "greeting world" in noetl("logs", "@latest", folder=project).stdout
    assert "Hello, world" in noetl("result", "@latest", folder=project).stdout


def test_an_execution_that_is_not_there_is_told(project: Path) -> None:
    ran = noetl("status", "zzz", folder=project)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "nothing has run here yet" in ran.stderr
    noetl("run", "hello.yaml", "-q", folder=project)
    assert 'no execution begins with "zzz"' in noetl("status", "zzz", folder=project).stderr


def test_state_is_for_its_owner_alone(project: Path) -> None:
    noetl("run", "hello.yaml", "-q", folder=project)
    assert (project / ".noetl").stat().st_mode & 0o777 == 0o700
    assert (project / ".noetl/noetl.db").stat().st_mode & 0o777 == 0o600


def test_a_damaged_store_ends_with_5_and_a_word_what_to_do(project: Path) -> None:
    (project / ".noetl").mkdir(mode=0o700)
    (project / ".noetl/noetl.db").write_bytes(b"not a database at all" * 100)
    ran = noetl("run", "hello.yaml", folder=project)
    assert ran.returncode == 5
    assert "move it away" in ran.stderr


def started(project: Path) -> subprocess.Popen[str]:
    """A run that waits, once its tool is really running."""
    process = subprocess.Popen(
        [PROGRAM, "run", "waits.yaml"], cwd=project, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while "started" not in noetl("logs", "@latest", folder=project).stdout:
        assert process.poll() is None, process.communicate()
    return process


def pid_of_the_tool(project: Path) -> int:
    return int(noetl("logs", "@latest", folder=project).stdout.split()[-1])


def test_a_cancel_from_another_terminal_reaches_a_live_run_and_stops_its_tools(project: Path) -> None:
    process = started(project)
    tool = pid_of_the_tool(project)
    assert is_running(tool)
    assert noetl("cancel", "@latest", "--reason", "enough", folder=project).returncode == 0
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 4
    assert "cancelled: enough" in errors
    assert not is_running(tool)


def test_ctrl_c_cancels_the_run(project: Path) -> None:
    process = started(project)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 4
    assert "cancelled" in errors


def test_two_runs_share_a_folder_and_each_ends_with_its_own_result(project: Path) -> None:
    words = [PROGRAM, "run", "hello.yaml", "-q", "--set"]
    both = [
        subprocess.Popen([*words, f"name={name}"], cwd=project, env=environment(), text=True, stdout=subprocess.PIPE)
        for name in ("Ann", "Bob")
    ]
    told = [process.communicate(timeout=TIMEOUT_S)[0] for process in both]
    assert ["Hello, Ann" in told[0], "Hello, Bob" in told[1]] == [True, True]
    assert [process.returncode for process in both] == [0, 0]


def test_a_run_that_was_killed_is_told_of_and_can_be_resumed(project: Path) -> None:
    process = started(project)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_S)
    (project / "waits.yaml").write_text(HELLO, "utf-8")
    again = noetl("run", "waits.yaml", folder=project)
    assert "was interrupted: noetl run --resume" in again.stderr


LARGE = f"""{HEAD}
workflow:
  - step: make
    tool: {{ kind: python, code: "result = dict(rows=['x' * 1000] * 200)" }}
    next: {{ arcs: [ {{ step: use }} ] }}
  - step: use
    tool:
      kind: python
      code: result = [len(rows), len(whole["rows"])]
      input: {{ rows: "{{{{ make.data.rows }}}}", whole: "{{{{ make.data }}}}" }}
"""
EMPTY = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: "{{{{ [1, 2] }}}}", iterator: i }}
    tool: {{ kind: noop, set: {{ step.s_ref: "{{{{ output.ref }}}}" }} }}
"""


@pytest.mark.parametrize(("text", "result"), [(LARGE, [200, 200]), (EMPTY, [None, None])])
def test_data_that_is_stored_elsewhere_reads_as_if_it_were_not(project: Path, text: str, result: object) -> None:
    (project / "stored.yaml").write_text(text, "utf-8")
    ran = noetl("run", "stored.yaml", "-q", folder=project)
    assert msgspec.json.decode(ran.stdout) == result


def test_the_one_worker_of_a_run_does_the_work_of_every_pool(project: Path) -> None:
    (project / "pools.yaml").write_text(
        f"{HEAD}workflow:\n  - step: s\n    spec: {{ pool: gpu }}\n    tool: {{ kind: python, code: result = 7 }}\n",
        "utf-8",
    )
    assert noetl("run", "pools.yaml", "-q", folder=project).stdout == "7\n"


def test_where_state_is_kept_is_said_once(project: Path) -> None:
    told = f"the state of runs is kept in {project / '.noetl'}\n"
    assert told in noetl("run", "hello.yaml", folder=project).stderr
    assert told not in noetl("run", "hello.yaml", folder=project).stderr


def test_iterations_that_failed_in_a_completed_run_are_counted_at_its_end(project: Path) -> None:
    (project / "loop.yaml").write_text(
        """apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: loop, path: loop }
workflow:
  - step: all
    spec: { policy: { failure: { mode: best_effort } } }
    loop: { in: "{{ [1, 0, 0] }}", iterator: i }
    tool: { kind: python, input: { x: "{{ iter.i }}" }, code: "result = 1 / x" }
    next: { arcs: [ { step: then, when: "{{ event.name == 'loop.done' }}" } ] }
  - step: then
    tool: { kind: noop }
""",
        "utf-8",
    )
    ran = noetl("run", "loop.yaml", folder=project)
    assert ran.returncode == 0
    *_, counted, hint = ran.stderr.splitlines()
    assert counted == "completed, and 2 of 3 iterations of step `all` failed"
    assert "again: noetl rerun " in hint
    assert "iterations" not in noetl("run", "loop.yaml", "-q", folder=project).stderr


def test_state_that_cannot_be_kept_is_told_with_where_it_could_be(project: Path) -> None:
    (project / ".noetl").mkdir()
    (project / ".noetl" / "noetl.db").mkdir()
    ran = noetl("run", "hello.yaml", folder=project)
    assert ran.returncode == 5
    assert "= keep the state in a folder that you may write to: NOETL_HOME=FOLDER noetl …" in ran.stderr
