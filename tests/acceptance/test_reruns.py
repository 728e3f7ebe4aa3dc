"""What had succeeded does not run again, whatever text runs; and people are told what is kept."""

import os
import shlex
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl

RESUME_S_MAX = 15.0
"""Half of the time after which a lease runs out by itself."""

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
SCRIPT = """
    tool:
      kind: script
      script: |
        echo "$i" >> ledger.txt
        if [ "$i" = 2 ] && [ ! -e open ]; then touch blocked; exec sleep 600; fi
        echo "done $i"
      input: { i: "{{ %s }}" }
"""
LOOPED = """
workload: { n: 4 }
workflow:
  - step: first
    tool: { kind: script, script: echo first >> ledger.txt }
    next: { arcs: [ { step: each } ] }
  - step: each
    loop: { in: "{{ range(workload.n) | list }}", iterator: i }"""
LOOP = f"{HEAD}metadata: {{ name: loop, path: loop }}{LOOPED}{SCRIPT % 'iter.i'}"
CHILD = f"""{HEAD}metadata: {{ name: child, path: child }}
workload: {{ i: 0 }}
workflow:
  - step: work{SCRIPT % "workload.i"}
"""
PARENT = f"""{HEAD}metadata: {{ name: parent, path: parent }}
workflow:
  - step: each
    loop: {{ in: [0, 1, 2, 3, 4], iterator: i }}
    tool: {{ kind: playbook, path: child, input: {{ i: "{{{{ iter.i }}}}" }} }}
"""
BROKEN = f"""{HEAD}metadata: {{ name: broken, path: broken }}{LOOPED}
    tool:
      kind: python
      code: |
        with open("ledger.txt", "a") as ledger:
            print(i, file=ledger)
        result = 6 / (2 - i)
      input: {{ i: "{{{{ iter.i }}}}" }}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("loop", LOOP), ("child", CHILD), ("parent", PARENT), ("broken", BROKEN)):
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    return tmp_path


def ledger(project: Path) -> Counter[str]:
    """How often each was run, as the outside world saw it."""
    return Counter((project / "ledger.txt").read_text("utf-8").split())


@contextmanager
def blocked(project: Path, file: str) -> Iterator[subprocess.Popen[str]]:
    """A run whose third iteration does not go on, once it has come to that."""
    process = subprocess.Popen(
        [PROGRAM, "run", file, "-q"], cwd=project, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not (project / "blocked").exists():
        assert process.poll() is None, process.communicate()
        noetl("executions", folder=project)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
    (project / "open").touch()


def cancelled(project: Path, file: str) -> None:
    with blocked(project, file) as process:
        noetl("cancel", "@latest", folder=project)
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 4


def killed(project: Path, file: str) -> None:
    with blocked(project, file) as process:
        os.kill(process.pid, signal.SIGKILL)


def test_a_loop_that_was_cancelled_goes_on_after_its_last_iteration(project: Path) -> None:
    cancelled(project, "loop.yaml")
    ran = noetl("rerun", "@latest", folder=project)
    assert ran.returncode == 0, ran.stderr
    assert ledger(project) == {"first": 1, "0": 1, "1": 1, "2": 2, "3": 1}
    assert "kept: first\neach: 2 of 4 iterations kept, 2 to run\n" in ran.stderr
    assert "done 0" in ran.stdout


def test_child_playbooks_that_had_ended_do_not_run_again(project: Path) -> None:
    cancelled(project, "parent.yaml")
    ran = noetl("rerun", "@latest", folder=project)
    assert ran.returncode == 0, ran.stderr
    assert ledger(project) == {"0": 1, "1": 1, "2": 2, "3": 1, "4": 1}
    assert "each: 2 of 5 iterations kept, 3 to run" in ran.stderr


def test_from_the_step_itself_all_iterations_run(project: Path) -> None:
    cancelled(project, "loop.yaml")
    ran = noetl("rerun", "@latest", "--from", "each", "--set", "n=3", folder=project)
    assert ran.returncode == 0, ran.stderr
    assert ledger(project) == {"first": 1, "0": 2, "1": 2, "2": 2}
    assert "kept: first\nbegins with: each\n" in ran.stderr


def test_a_killed_run_of_child_playbooks_is_resumed_at_once_and_says_from_where(project: Path) -> None:
    killed(project, "parent.yaml")
    began_at = monotonic()
    ran = noetl("run", "--resume", "@latest", folder=project)
    assert ran.returncode == 0, ran.stderr
    assert monotonic() - began_at < RESUME_S_MAX
    assert ledger(project) == {"0": 1, "1": 1, "2": 2, "3": 1, "4": 1}
    assert ran.stderr.startswith("goes on: each (2 of 5 iterations done)\n")


def test_a_resume_without_a_secret_is_refused_and_changes_nothing(project: Path) -> None:
    """Of the run itself, and of a playbook that it has called."""
    entries = {"parent": "kind: env, var: TERM", "child": "kind: file, path: child.key"}
    for name, text in (("parent", PARENT), ("child", CHILD)):
        keychain = f"\nkeychain: [ {{ name: key, {entries[name]} }} ]\nwork"
        (project / f"{name}.yaml").write_text(text.replace("\nwork", keychain, 1), "utf-8")
    key = project / "child.key"
    key.touch(0o600)
    key.write_text("s3cret", "utf-8")
    killed(project, "parent.yaml")
    before = noetl("events", "@latest", "-o", "jsonl", folder=project).stdout
    key.unlink()
    command = [PROGRAM, "run", "--resume", "@latest"]
    bare = {name: value for name, value in environment().items() if name != "TERM"}
    refused = subprocess.run(command, cwd=project, env=bare, capture_output=True, text=True, check=False)
    assert refused.returncode == 3
    assert refused.stderr.splitlines()[:-1] == [
        "parent.yaml: error: keychain entry 'key' needs the environment variable TERM, which is not set [NOE952]",
        "  = set it: export TERM=…",
        f"child.yaml: error: keychain entry 'key' needs the file {key}: No such file or directory [NOE952]",
        "  = write the secret to that file, readable by you alone (chmod 600)",
        "noetl run: 2 secrets are missing, see above; nothing was run",
    ]
    assert noetl("events", "@latest", "-o", "jsonl", folder=project).stdout == before
    key.touch(0o600)
    key.write_text("s3cret", "utf-8")
    assert noetl("run", "--resume", "@latest", "-q", folder=project).returncode == 0
    assert ledger(project) == {"0": 1, "1": 1, "2": 2, "3": 1, "4": 1}


def test_a_run_that_has_not_ended_is_not_rerun_and_a_second_process_works_along(project: Path) -> None:
    with blocked(project, "loop.yaml") as process:
        refused = noetl("rerun", "@latest", folder=project)
        assert refused.returncode == 2
        assert "has not ended\n  = if it was interrupted, go on with it: noetl run --resume " in refused.stderr
        along = subprocess.Popen(
            [PROGRAM, "run", "--resume", "@latest"], cwd=project, env=environment(), text=True, stderr=subprocess.PIPE
        )
        assert along.stderr is not None
        assert along.stderr.readline() == "another process works on it already; this one works along\n"
        noetl("cancel", "@latest", folder=project)
        along.communicate(timeout=TIMEOUT_S)
        process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, along.returncode) == (4, 4)
    assert ledger(project)["2"] == 1


def test_a_run_that_has_ended_is_not_resumed_but_told_with_its_exit_code(project: Path) -> None:
    (project / "open").touch()
    whole = noetl("run", "loop.yaml", "-q", folder=project)
    again = noetl("run", "--resume", "@latest", folder=project)
    assert (again.stdout, again.returncode) == (whole.stdout, 0)
    assert "has ended already and is not resumed; nothing runs\n  = its result: noetl result " in again.stderr
    assert "started" not in again.stderr
    noetl("run", "broken.yaml", "-q", folder=project)
    failed = noetl("run", "--resume", "@latest", folder=project)
    assert (failed.stdout, failed.returncode) == ("", 1)
    assert "ZeroDivisionError" in failed.stderr
    assert "  = what is left: noetl rerun " in failed.stderr
    (project / "open").unlink()
    cancelled(project, "loop.yaml")
    stopped = noetl("run", "--resume", "@latest", "-q", folder=project)
    assert stopped.returncode == 4
    assert "has ended" not in stopped.stderr


def mend(project: Path, old: str, new: str) -> None:
    file = project / "broken.yaml"
    assert old in file.read_text("utf-8")
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")


def test_a_file_that_was_mended_is_taken_when_it_is_asked_for_and_told_of_when_not(project: Path) -> None:
    first = noetl("run", "broken.yaml", folder=project)
    assert first.returncode == 1
    hint = next(line for line in first.stderr.splitlines() if "run the rest" in line).partition("noetl ")[2].split()
    mend(project, "6 / (2 - i)", "6 / (2.5 - i)")
    old = noetl("rerun", "@latest", folder=project)
    assert old.returncode == 1
    assert old.stderr.startswith("broken.yaml has changed since that run; this runs the text of then\n")
    asked = old.stderr.splitlines()[1].partition("noetl ")[2].split()
    assert asked[-2:] == ["--playbook", "broken.yaml"]
    new = noetl(*hint, folder=project)
    assert new.returncode == 0, new.stderr
    assert "has changed" not in new.stderr
    assert ledger(project) == {"first": 1, "0": 1, "1": 1, "2": 3, "3": 1}
    assert msgspec.json.decode(new.stdout) == [3.0, 6.0, 12.0, -12.0]


def test_a_comment_in_the_file_changes_nothing(project: Path) -> None:
    noetl("run", "broken.yaml", folder=project)
    mend(project, "workflow:", "# what is to be done\nworkflow:")
    assert "has changed" not in noetl("rerun", "@latest", folder=project).stderr


def test_a_file_that_cannot_go_on_is_refused_with_what_differs(project: Path) -> None:
    noetl("run", "broken.yaml", "-q", folder=project)
    mend(project, "step: each", "step: every")
    ran = noetl("rerun", "@latest", "--playbook", "broken.yaml", folder=project)
    assert ran.returncode == 2
    assert "cannot run broken.yaml: step `each` is to run, and is not there any more" in ran.stderr
    assert "noetl run broken.yaml" in ran.stderr
    mend(project, "kind: python", "kind: pyton")
    assert noetl("rerun", "@latest", "--playbook", "broken.yaml", folder=project).returncode == 3


def test_a_value_that_comes_too_late_for_a_loop_is_told(project: Path) -> None:
    noetl("run", "broken.yaml", "-q", folder=project)
    for words in (["--set", "n=2"], ["--set", "n=2", "--failed-iterations"]):
        ran = noetl("rerun", "@latest", *words, folder=project)
        assert "warning: each goes on with its 4 items and its input, for which --set n comes too late" in ran.stderr
        assert "--from each --set …" in ran.stderr
    assert noetl("rerun", "@latest", "--set", "n=2", "-q", folder=project).stderr.startswith("failed")


def test_a_step_that_did_not_run_is_told_with_those_that_did(project: Path) -> None:
    noetl("run", "broken.yaml", "-q", folder=project)
    ran = noetl("rerun", "@latest", "--from", "frist", folder=project)
    assert ran.returncode == 2
    assert "no run of step `frist` to run from; it ran: first, each; did you mean `first`?" in ran.stderr


KEYED = f"""{HEAD}metadata: {{ name: keyed, path: keyed }}
keychain: [ {{ name: key, kind: file, path: "{{{{ workload.key }}}}" }} ]
workload: {{ key: my key }}
workflow:
  - step: a
    tool: {{ kind: script, script: echo a >> ledger.txt }}
    next: {{ arcs: [ {{ step: b }} ] }}
  - step: b
    tool: {{ kind: script, script: test -e open, auth: key }}
"""


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    (tmp_path / "keyed.yaml").write_text(KEYED, "utf-8")
    return tmp_path


def give_key(project: Path, name: str = "my key") -> Path:
    key = project / name
    key.touch(0o600)
    key.write_text("s3cret", "utf-8")
    return key


def told_command(said: str) -> list[str]:
    """What the last line tells to do, as a shell reads it."""
    command = shlex.split(said.splitlines()[-1].rpartition(": ")[2])
    assert command[0] == "noetl"
    return command[1:]


def test_a_run_that_lacked_a_secret_before_its_first_step_names_the_command_that_starts_it_anew(keyed: Path) -> None:
    failed = noetl("run", "keyed.yaml", "--set", "key=other key", folder=keyed)
    assert failed.returncode == 1
    assert failed.stderr.endswith(
        "\n  = mend what went wrong and run it anew: noetl run keyed.yaml --set 'key=other key'\n"
    )
    assert noetl("run", "--resume", "@latest", folder=keyed).stderr.endswith("= what is left: noetl run keyed.yaml\n")
    give_key(keyed, "other key")
    (keyed / "open").touch()
    assert noetl(*told_command(failed.stderr), folder=keyed).returncode == 0


@pytest.mark.parametrize("options", [(), ("--playbook", "keyed.yaml"), ("--from", "b", "--set", "key=my key")])
def test_a_rerun_without_a_secret_is_refused_and_nothing_is_recorded(keyed: Path, options: tuple[str, ...]) -> None:
    key = give_key(keyed)
    assert noetl("run", "keyed.yaml", "-q", folder=keyed).returncode == 1
    before = noetl("executions", "-o", "json", folder=keyed).stdout
    key.unlink()
    refused = noetl("rerun", "@latest", *options, folder=keyed)
    assert refused.returncode == 3
    assert f"keychain entry 'key' needs the file {key}: No such file or directory [NOE952]" in refused.stderr
    assert "missing, see above; nothing was run" in refused.stderr
    assert noetl("executions", "-o", "json", folder=keyed).stdout == before
    give_key(keyed)
    (keyed / "open").touch()
    command = told_command(refused.stderr) if "--playbook" not in options else ["rerun", "@latest", *options]
    assert noetl(*command, folder=keyed).returncode == 0
    assert ledger(keyed) == {"a": 1}


def test_a_rerun_finds_the_name_of_a_secret_in_a_large_workload(keyed: Path) -> None:
    give_key(keyed, "other key")
    many = {f"k{number}": "x" * 1_000 for number in range(1_000)}
    (keyed / "workload.json").write_bytes(msgspec.json.encode(many | {"key": "other key"}))
    assert noetl("run", "keyed.yaml", "-q", "--payload", "@workload.json", folder=keyed).returncode == 1
    (keyed / "open").touch()
    assert noetl("rerun", "@latest", "-q", folder=keyed).returncode == 0


def test_a_rerun_of_a_rerun_names_the_runs_that_it_came_from(project: Path) -> None:
    (project / "open").touch()
    noetl("run", "loop.yaml", "-q", folder=project)
    noetl("rerun", "@latest", "--from", "each", "-q", folder=project)
    rerun, origin = msgspec.json.decode(noetl("executions", "-o", "json", folder=project).stdout)
    assert (rerun["rerun_of"], origin["rerun_of"]) == (origin["execution_id"], None)
    name = origin["execution_id"][:13]
    first, second = noetl("executions", folder=project).stdout.splitlines()
    assert first.endswith(f"  rerun of {name}")
    assert "rerun" not in second
    assert f"\n  completed, a rerun of {name}\n" in noetl("status", "@latest", folder=project).stdout
    shown = msgspec.json.decode(noetl("status", "@latest", "-o", "json", folder=project).stdout)
    assert shown["rerun_of"] == origin["execution_id"]
    refused = noetl("rerun", "@latest", "--from", "first", "--set", "n=2", folder=project)
    assert refused.returncode == 2
    told = f"\n  = `first` ran in {name}, and was kept: noetl rerun {name} --from first --set n=2\n"
    assert refused.stderr.endswith(told)
    assert noetl(*told_command(refused.stderr), folder=project).returncode == 0
