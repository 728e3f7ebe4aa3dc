"""What a sound playbook needs and this machine lacks is told before anything starts, at its place in the file."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.process import noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {name}, path: shop/{name} }}\n"
ROOT = Path(__file__).resolve().parents[2]
NOOP = "workflow: [ { step: a, tool: { kind: noop } } ]\n"


def write(folder: Path, name: str, body: str) -> None:
    (folder / f"{name}.yaml").write_text(HEAD.format(name=name) + body, "utf-8")


def run(folder: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    assert noetl("validate", "-q", f"{name}.yaml", folder=folder).returncode == 0
    return noetl("run", f"{name}.yaml", *words, folder=folder)


def assert_refused(ran: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert ran.returncode == 3, ran.stderr
    assert "nothing was run" in ran.stderr
    assert ran.stdout == ""
    assert not (folder / ".noetl").exists()


@pytest.mark.parametrize(
    ("kind", "rest"), [("postgres", "dsn: d, command: c"), ("duckdb", "command: c"), ("secrets", "provider: p")]
)
def test_a_kind_that_cannot_run_here_is_refused_at_its_line(tmp_path: Path, kind: str, rest: str) -> None:
    write(tmp_path, "load", f"workflow:\n  - step: a\n    tool: {{ kind: {kind}, {rest} }}\n")
    ran = run(tmp_path, "load")
    assert_refused(ran, tmp_path)
    assert f'load.yaml:6:19: error: `noetl run` has no tool for the kind "{kind}" yet [NOE951]' in ran.stderr
    assert "kinds that can: http, noop, playbook, python, resolve, script, workbook" in ran.stderr


def test_a_keychain_kind_that_needs_a_store_is_refused_at_its_line(tmp_path: Path) -> None:
    write(tmp_path, "order", f"keychain:\n  - {{ name: my-shop, kind: bearer }}\n{NOOP}")
    ran = run(tmp_path, "order")
    assert_refused(ran, tmp_path)
    assert 'order.yaml:5:28: error: the keychain entry "my-shop" is of kind "bearer"' in ran.stderr
    assert "expected `env` or `file` [NOE952]" in ran.stderr
    assert "var: MY_SHOP" in ran.stderr


def test_a_credential_that_is_not_declared_is_refused_where_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, "order", 'workflow: [ { step: a, tool: { kind: http, url: "http://x.test", auth: shop } } ]\n')
    ran = run(tmp_path, "order")
    assert_refused(ran, tmp_path)
    assert (
        'order.yaml:4:72: error: "shop" is not in the keychain, and `noetl run` has no credential store' in ran.stderr
    )
    assert "var: SHOP" in ran.stderr


def test_a_credential_that_is_missing_is_named_with_how_to_give_it_and_the_run_is_recorded(tmp_path: Path) -> None:
    write(
        tmp_path,
        "order",
        "keychain:\n  - { name: shop, kind: env, var: NO_SUCH_TOKEN }\n  - { name: key, kind: file, path: a/key }\n"
        + NOOP,
    )
    ran = run(tmp_path, "order", "-o", "json")
    assert ran.returncode == 1
    assert "order.yaml:5:35: error: keychain entry 'shop' needs the environment variable NO_SUCH_TOKEN" in ran.stderr
    assert "= set it and run again: export NO_SUCH_TOKEN=…" in ran.stderr
    assert f"order.yaml:6:36: error: keychain entry 'key' needs the file {tmp_path}/a/key: No such file" in ran.stderr
    assert f"it is looked for in {tmp_path}\n" in ran.stderr
    record = msgspec.json.decode(ran.stdout)
    assert (record["status"], record["error"]["details"]) == ("failed", {"missing": ["key", "shop"]})
    events = noetl("events", "@latest", "-o", "jsonl", folder=tmp_path).stdout.splitlines()
    names = [msgspec.json.decode(line)["name"] for line in events]
    assert "playbook.request.evaluated" in names
    assert "workflow.started" not in names


def test_a_credential_that_is_there_is_no_matter(tmp_path: Path) -> None:
    write(tmp_path, "order", f"keychain:\n  - {{ name: key, kind: file, path: key }}\n{NOOP}")
    (tmp_path / "key").write_text("s3cret\n", "utf-8")
    assert run(tmp_path, "order", "-q").stderr == ""


def test_a_run_goes_on_in_another_folder_with_the_code_and_the_secrets_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write(
        tmp_path / "flows",
        "order",
        """keychain:
  - { name: key, kind: file, path: secrets/key }
workflow:
  - step: a
    tool: { kind: python, file: order.py, input: { key: "{{ keychain.key }}" } }
""",
    )
    (tmp_path / "flows" / "order.py").write_text("result = len(key)", "utf-8")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("s3cret\n", "utf-8")
    (tmp_path / "secrets" / "key").chmod(0o600)
    assert noetl("run", "flows/order.yaml", "-q", folder=tmp_path).stdout == "6\n"
    again = noetl("rerun", "@latest", "--from", "a", folder=tmp_path / "elsewhere")
    assert again.stdout == "6\n", again.stderr
    (tmp_path / "flows" / "order.py").write_text("1 / 0", "utf-8")
    failed = noetl("rerun", "@latest", "--from", "a", folder=tmp_path / "elsewhere")
    assert f"--playbook {tmp_path}/flows/order.yaml" in failed.stderr
    shown = noetl("rerun", "@latest", folder=tmp_path)
    assert "--playbook flows/order.yaml" in shown.stderr


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_secret_that_others_can_read_is_a_warning_that_says_what_to_do(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    write(tmp_path, "order", f"keychain:\n  - {{ name: db, kind: file, path: my db }}\n{NOOP}")
    (tmp_path / "my db").write_text("s3cret\n")
    (tmp_path / "my db").chmod(0o644)
    ran = run(tmp_path, "order", *words)
    assert ran.returncode == 0
    assert "order.yaml:5:35: warning: my db holds a secret, and others than you can read or change it" in ran.stderr
    assert "keep it to yourself: chmod 600 'my db'" in ran.stderr
    assert ran.stderr.count("NOE958") == 1
    (tmp_path / "my db").chmod(0o600)
    assert "warning" not in run(tmp_path, "order", *words).stderr


def test_a_child_that_is_nowhere_is_refused_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, "orders", NOOP)
    write(tmp_path, "parent", "workflow:\n  - step: a\n    tool: { kind: playbook, path: shop/ordres }\n")
    ran = run(tmp_path, "parent")
    assert_refused(ran, tmp_path)
    assert 'parent.yaml:6:35: error: there is no playbook "shop/ordres" in the files of' in ran.stderr
    assert 'did you mean "shop/orders"? [NOE953]' in ran.stderr


def test_what_a_playbook_from_standard_input_needs_is_told_too(tmp_path: Path) -> None:
    text = HEAD.format(name="load") + "workflow: [ { step: a, tool: { kind: duckdb, command: c } } ]\n"
    ran = noetl("run", "-", stdin=text, folder=tmp_path)
    assert_refused(ran, tmp_path)
    assert ':4:38: error: `noetl run` has no tool for the kind "duckdb" yet' in ran.stderr


def test_a_child_with_errors_is_refused_with_its_errors(tmp_path: Path) -> None:
    write(tmp_path, "child", NOOP.replace("noop", "nop"))
    write(tmp_path, "parent", "workflow:\n  - step: a\n    tool: { kind: playbook, path: shop/child }\n")
    ran = run(tmp_path, "parent")
    assert_refused(ran, tmp_path)
    assert 'child.yaml:4:38: error: unknown kind "nop"; did you mean "noop"? [NOE110]' in ran.stderr
    assert 'parent.yaml:6:35: error: playbook "shop/child" is in child.yaml, which has 1 error' in ran.stderr


def test_what_a_child_of_a_child_needs_is_told_too(tmp_path: Path) -> None:
    write(tmp_path, "leaf", "workflow:\n  - step: a\n    tool: { kind: duckdb, command: c }\n")
    for name, called in (("middle", "leaf"), ("top", "middle")):
        write(tmp_path, name, f"workflow:\n  - step: a\n    tool: {{ kind: playbook, path: shop/{called} }}\n")
    ran = run(tmp_path, "top")
    assert_refused(ran, tmp_path)
    assert 'leaf.yaml:6:19: error: `noetl run` has no tool for the kind "duckdb" yet' in ran.stderr


def test_what_a_child_lacks_in_credentials_is_a_warning_where_others_run_before_it(tmp_path: Path) -> None:
    write(tmp_path, "child", f"keychain:\n  - {{ name: shop, kind: env, var: NO_SUCH_TOKEN }}\n{NOOP}")
    tasks = "[ { name: one, kind: noop }, { name: two, kind: playbook, path: shop/child } ]"
    write(tmp_path, "parent", f"workflow:\n  - step: a\n    tool: {tasks}\n")
    ran = run(tmp_path, "parent")
    assert "child.yaml:5:35: warning: keychain entry 'shop' needs the environment variable" in ran.stderr


def test_playbooks_that_call_themselves_or_by_a_template_are_not_looked_for(tmp_path: Path) -> None:
    body = """workflow:
  - step: a
    spec: { policy: { admit: { rules: [ { when: "{{ workload.again | default(false) }}", then: { allow: true } } ] } } }
    tool:
      - { name: again, kind: playbook, path: shop/parent }
      - { name: any, kind: playbook, path: "{{ workload.other }}" }
"""
    write(tmp_path, "parent", body)
    assert run(tmp_path, "parent", "-q").stderr == ""


def test_a_child_whose_file_is_gone_runs_as_it_was_registered(tmp_path: Path) -> None:
    write(tmp_path, "child", "workflow: [ { step: a, tool: { kind: python, code: 'result = 7' } } ]\n")
    write(tmp_path, "parent", "workflow:\n  - step: a\n    tool: { kind: playbook, path: shop/child }\n")
    assert run(tmp_path, "parent", "-q").stdout == "7\n"
    (tmp_path / "child.yaml").unlink()
    assert run(tmp_path, "parent", "-q").stdout == "7\n"
    write(tmp_path, "parent", "workflow:\n  - step: a\n    tool: { kind: playbook, path: shop/child, version: 9 }\n")
    ran = run(tmp_path, "parent", "-q")
    assert ran.returncode == 3
    assert 'playbook "shop/child" has not run here in version 9' in ran.stderr


PYTHON = "{ kind: python, code: 'result = 1', spec: { python: no-such-venv } }"
SCRIPT = "{ kind: script, script: 'echo', interpreter: no-such-shell -x }"
SHEBANG = '{ kind: script, script: "#!/no/such/shell\\necho" }'


@pytest.mark.parametrize(
    ("task", "column", "told"),
    [
        (PYTHON, 63, 'there is no interpreter and no virtual environment "no-such-venv"'),
        (SCRIPT, 56, 'there is no interpreter "no-such-shell" on this machine'),
        (SHEBANG, 35, 'there is no interpreter "/no/such/shell" on this machine'),
    ],
)
def test_an_interpreter_that_is_not_there_is_refused(tmp_path: Path, task: str, column: int, told: str) -> None:
    write(tmp_path, "code", f"workflow:\n  - step: a\n    tool: {task}\n")
    ran = run(tmp_path, "code")
    assert_refused(ran, tmp_path)
    assert f"code.yaml:6:{column}: error: {told} [NOE954]" in ran.stderr


def test_an_interpreter_that_another_task_may_make_is_a_warning(tmp_path: Path) -> None:
    body = f"""workflow:
  - step: a
    tool: {{ kind: script, script: "mkdir -p no-such-venv/bin; ln -s $(command -v python3) no-such-venv/bin/python" }}
    next: {{ arcs: [ {{ step: b }} ] }}
  - step: b
    tool: {PYTHON}
"""
    write(tmp_path, "code", body)
    ran = run(tmp_path, "code")
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr
    assert 'warning: there is no interpreter and no virtual environment "no-such-venv"' in ran.stderr


def test_an_interpreter_that_is_too_old_is_refused(tmp_path: Path) -> None:
    (tmp_path / "python3.7").write_text("#!/bin/sh\ntouch ran\n", "utf-8")
    (tmp_path / "python3.7").chmod(0o755)
    (tmp_path / "no-such-venv" / "bin").mkdir(parents=True)
    (tmp_path / "no-such-venv" / "bin" / "python").symlink_to(tmp_path / "python3.7")
    write(tmp_path, "code", f"workflow:\n  - step: a\n    tool: {PYTHON}\n")
    ran = run(tmp_path, "code")
    assert_refused(ran, tmp_path)
    assert '"no-such-venv" is Python 3.7, and a python task needs 3.8 or newer [NOE954]' in ran.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["python", "script"])
def test_a_file_with_code_that_is_not_there_is_refused(tmp_path: Path, kind: str) -> None:
    task = f"{{ kind: {kind}, file: lib/no-such-file }}"
    write(tmp_path, "code", f"workflow:\n  - step: a\n    tool: {task}\n")
    ran = run(tmp_path, "code")
    assert_refused(ran, tmp_path)
    assert 'error: there is no file "lib/no-such-file" [NOE959]' in ran.stderr
    assert "noetl run: 1 thing is missing, see above" in ran.stderr


def test_a_file_that_another_task_may_write_is_a_warning(tmp_path: Path) -> None:
    body = """workflow:
  - step: a
    tool:
      - { name: make, kind: script, script: "echo 'result = 7' > made.py" }
      - { name: use, kind: python, file: made.py }
"""
    write(tmp_path, "code", body)
    ran = run(tmp_path, "code")
    assert (ran.returncode, ran.stdout) == (0, "7\n"), ran.stderr
    assert 'warning: there is no file "made.py" [NOE959]' in ran.stderr


@pytest.mark.parametrize("place", ["executor: { spec: { python: { python: no-such-venv } } }\n", ""])
def test_an_interpreter_may_be_named_further_out(tmp_path: Path, place: str) -> None:
    step = "" if place else ", spec: { python: { python: no-such-venv } }"
    write(tmp_path, "code", f"{place}workflow: [ {{ step: a{step}, tool: {{ kind: python, code: 'result = 1' }} }} ]\n")
    ran = run(tmp_path, "code")
    assert_refused(ran, tmp_path)
    assert ":4:" in ran.stderr


def test_a_dry_run_tells_the_same_and_says_that_the_run_would_fail(tmp_path: Path) -> None:
    write(tmp_path, "load", "workflow: [ { step: a, tool: { kind: duckdb, command: c } } ]\n")
    assert_refused(run(tmp_path, "load", "--dry-run"), tmp_path)
    write(tmp_path, "order", f"keychain:\n  - {{ name: shop, kind: env, var: NO_SUCH_TOKEN }}\n{NOOP}")
    ran = run(tmp_path, "order", "--dry-run")
    assert ran.returncode == 3
    assert "needs the environment variable NO_SUCH_TOKEN" in ran.stderr
    assert ran.stdout.startswith("shop/order would fail: 1 error, see above; nothing was run\n")


def test_the_example_that_needs_a_database_says_all_that_is_missing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/postgres_load.yaml", tmp_path / "load.yaml")
    ran = run(tmp_path, "load")
    assert_refused(ran, tmp_path)
    assert "noetl run: 3 things are missing, see above; nothing was run" in ran.stderr


@pytest.mark.parametrize("name", ["NOE951", "credential-not-here", "953", "interpreter-not-here"])
def test_every_need_has_a_page(name: str) -> None:
    assert noetl("explain", name).returncode == 0
