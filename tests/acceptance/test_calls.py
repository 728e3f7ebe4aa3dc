"""Playbooks that a playbook calls are found from its own file, wherever the program was started."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.process import noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {name}, path: {path} }}\n"
CHILD = """workload: { id: 1 }
workflow:
  - step: double
    tool: { kind: python, input: { x: "{{ workload.id }}" }, code: "result = x * 2" }
"""
TASK = "{ kind: playbook, path: flows/lib/one, return_step: double, input: { id: 4 } }"


def write(folder: Path, file: str, body: str, path: str = "") -> None:
    named = folder / f"{file}.yaml"
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_text(HEAD.format(name=named.stem, path=path or file) + body, "utf-8")


def write_parent(folder: Path, task: str = TASK) -> None:
    write(folder, "flows/parent", f"workflow:\n  - step: a\n    tool: {task}\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    write(folder, "flows/lib/one", CHILD)
    write_parent(folder)
    (tmp_path / "elsewhere").mkdir()
    return folder


def run_elsewhere(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return noetl("run", str(project / "flows/parent.yaml"), *words, folder=project.parent / "elsewhere")


def test_children_are_found_from_the_file_and_state_is_kept_where_the_program_was_started(project: Path) -> None:
    ran = run_elsewhere(project)
    assert (ran.returncode, ran.stdout) == (0, "8\n"), ran.stderr
    assert (project.parent / "elsewhere" / ".noetl").is_dir()
    assert not (project / ".noetl").exists()
    again = noetl("rerun", "@latest", "--from", "a", "-q", folder=project.parent / "elsewhere")
    assert (again.returncode, again.stdout) == (0, "8\n"), again.stderr


def test_a_folder_above_the_file_is_searched_if_it_is_the_project_or_the_current_one(project: Path) -> None:
    write(project, "lib/top", CHILD)
    write_parent(project, "{ kind: playbook, path: lib/top }")
    missing = run_elsewhere(project)
    assert missing.returncode == 3
    assert f'parent.yaml:6:35: error: there is no playbook "lib/top" in the files of {project}/flows' in missing.stderr
    assert f"found by its `metadata.path`, in {project}/flows and below\n" in missing.stderr
    assert "mark the folder of the project: mkdir FOLDER/.noetl" in missing.stderr
    assert noetl("run", "flows/parent.yaml", "-q", folder=project).stdout == "2\n"
    assert (project / ".noetl").is_dir()
    assert run_elsewhere(project, "-q").stdout == "2\n"
    assert noetl("run", "parent.yaml", "-q", folder=project / "flows").stdout == "2\n"


def test_a_miss_names_where_was_looked_and_what_is_near(project: Path) -> None:
    (project / ".noetl").mkdir()
    write_parent(project, "{ kind: playbook, path: flows/lib/oen }")
    ran = run_elsewhere(project, "--dry-run")
    assert ran.returncode == 3
    assert (
        f'no playbook "flows/lib/oen" in the files of {project}; did you mean "flows/lib/one"? [NOE953]' in ran.stderr
    )
    assert f"in {project}/flows and below, then in each folder above it up to {project}\n" in ran.stderr


def test_a_path_that_the_workload_gives_is_looked_for_too(project: Path) -> None:
    write_parent(project, '{ kind: playbook, path: "{{ workload.child }}" }')
    assert noetl("run", "flows/parent.yaml", "--set", "child=flows/lib/one", "-q", folder=project).stdout == "2\n"
    ran = noetl("run", "flows/parent.yaml", "--set", "child=flows/lib/oen", folder=project)
    assert ran.returncode == 1
    assert 'flows/parent.yaml:6:35: warning: there is no playbook "flows/lib/oen" in the files of' in ran.stderr
    assert "NOE953" not in noetl("run", "flows/parent.yaml", folder=project).stderr
    write_parent(project, '{ kind: playbook, path: "{{ execution_id }}" }')
    ran = noetl("run", "flows/parent.yaml", folder=project)
    assert ran.returncode == 1
    assert "one is found by its `metadata.path`" in ran.stderr


def test_what_is_nearer_to_the_file_is_taken(project: Path) -> None:
    shutil.copytree(project, project.parent / "backup")
    write(project.parent, "flows/lib/one", CHILD.replace("* 2", "* 100"))
    ran = noetl("run", "proj/flows/parent.yaml", folder=project.parent)
    assert (ran.returncode, ran.stdout) == (0, "8\n")
    assert "NOE963" not in ran.stderr


def test_a_link_to_a_playbook_looks_where_the_file_is(project: Path) -> None:
    (project.parent / "elsewhere" / "job.yaml").symlink_to(project / "flows/parent.yaml")
    assert noetl("run", "job.yaml", "-q", folder=project.parent / "elsewhere").stdout == "8\n"


CHECKING = [("run",), ("run", "--dry-run"), ("validate",)]


def checked(project: Path, verb: Sequence[str]) -> tuple[int, str]:
    """How a verb ends with the playbook, and all that it tells."""
    ran = noetl(*verb, "flows/parent.yaml", folder=project)
    return ran.returncode, ran.stdout + ran.stderr


def test_two_files_of_one_path_are_told_at_the_call(project: Path) -> None:
    write(project, "flows/old/copy", CHILD, path="flows/lib/one")
    told = 'flows/parent.yaml:6:35: warning: playbook "flows/lib/one" is taken from flows/lib/one.yaml; '
    for verb in CHECKING:
        code, all_told = checked(project, verb)
        assert code == 0
        assert f"{told}flows/old/copy.yaml has the same path [NOE963]" in all_told
    write(project, "flows/old/again", CHILD, path="flows/lib/one")
    ran = noetl("run", "flows/parent.yaml", folder=project)
    assert f"{told}flows/old/again.yaml, flows/old/copy.yaml have the same path" in ran.stderr


@pytest.mark.parametrize("verb", CHECKING)
def test_a_step_that_the_child_does_not_have_is_an_error(project: Path, verb: Sequence[str]) -> None:
    write_parent(project, TASK.replace("double", "duble"))
    code, told = checked(project, verb)
    assert code == 3
    assert 'flows/parent.yaml:6:63: error: playbook "flows/lib/one" has no step "duble" to return; ' in told
    assert 'did you mean "double"? [NOE961]' in told
    assert "= the steps of flows/lib/one.yaml are: double" in told
    assert not (project / ".noetl").exists()


@pytest.mark.parametrize("verb", CHECKING)
def test_an_input_that_the_child_does_not_take_is_a_warning(project: Path, verb: Sequence[str]) -> None:
    write_parent(project, TASK.replace("id: 4", "idx: 4"))
    code, told = checked(project, verb)
    assert code == 0
    assert 'flows/parent.yaml:6:80: warning: playbook "flows/lib/one" takes no input "idx" [NOE962]' in told
    assert "= the workload of flows/lib/one.yaml has: id" in told


def test_a_child_that_reads_nothing_takes_nothing(project: Path) -> None:
    write(project, "flows/lib/one", "workflow: [ { step: double, tool: { kind: noop } } ]\n")
    assert (
        "= flows/lib/one.yaml reads nothing of its workload" in noetl("run", "flows/parent.yaml", folder=project).stderr
    )


def test_each_call_of_a_child_is_looked_at(project: Path) -> None:
    tasks = f"[ {TASK[:-1]}, name: x }}, {TASK[:-1].replace('double', 'y')}, name: y }} ]"
    write_parent(project, tasks)
    ran = noetl("run", "flows/parent.yaml", folder=project)
    assert ran.returncode == 3
    assert ran.stderr.count("[NOE961]") == 1
    assert "noetl run: 1 thing is missing or wrong, see above; nothing was run" in ran.stderr


def test_validate_leaves_alone_what_it_cannot_see(project: Path) -> None:
    for task in (
        TASK.replace("flows/lib/one", "somewhere/else"),
        TASK.replace("double", '"{{ workload.step }}"'),
        TASK.replace("double", "duble, version: 3"),
        TASK.replace("double, ", '"{{ workload.step }}", ').replace("flows/lib/one", '"{{ workload.path }}"'),
    ):
        write_parent(project, task)
        assert noetl("validate", "-q", "--strict", "flows/parent.yaml", folder=project).stdout == ""
    (project / "flows/lib/one.yaml").write_text("kind: Playbook\n", "utf-8")
    write_parent(project)
    assert noetl("validate", "-q", "--strict", "flows/parent.yaml", folder=project).stdout == ""


def test_a_playbook_from_standard_input_stands_in_the_current_folder(project: Path) -> None:
    text = (project / "flows/parent.yaml").read_text("utf-8")
    assert noetl("run", "-", "-q", stdin=text, folder=project).stdout == "8\n"
    wrong = noetl("validate", "-", stdin=text.replace("double", "duble"), folder=project)
    assert "<stdin>:6:63: error" in wrong.stdout


def test_a_child_that_takes_too_long_is_cancelled_with_all_that_it_runs(project: Path) -> None:
    write(project, "flows/lib/slow", "workflow:\n  - { step: s, tool: { kind: script, script: exec sleep 600 } }\n")
    write_parent(project, "{ kind: playbook, path: flows/lib/slow, spec: { timeout: 0.5 } }")
    ran = noetl("run", "flows/parent.yaml", "-o", "json", folder=project)
    assert ran.returncode == 1
    error = msgspec.json.decode(ran.stdout)["error"]
    assert (error["kind"], error["retryable"]) == ("timeout", True)
    assert "playbook `flows/lib/slow` took longer than 0.5 s (`spec.timeout`) and was cancelled" in error["message"]
    listed = msgspec.json.decode(noetl("executions", "--children", "-o", "json", folder=project).stdout)
    assert [(each["playbook"], each["status"]) for each in listed] == [
        ("flows/parent", "failed"),
        ("flows/lib/slow", "cancelled"),
    ]
