"""Kinds that installed packages add: the example as pip installs it, and packages that are wrong in every way."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from noetl.tools.plugin import Installed
from tests.tools.packages import ECHO, EXAMPLE, TIMEOUT_S, Project, install, install_example

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {name}, path: {name} }}\n"
ROWS = f"""{HEAD.format(name="rows")}
executor: {{ spec: {{ csv: {{ rows_max: 1 }} }} }}
workflow:
  - step: read
    tool:
      - {{ name: rows, kind: csv, input: {{ path: rows.csv }}, set: {{ ctx.n: "{{{{ output.csv.rows }}}}" }} }}
      - {{ name: count, kind: python, code: "result = n", input: {{ n: "{{{{ ctx.n }}}}" }} }}
"""
ONLY_A_BLOCK = HEAD.format(name="block") + "executor: { spec: { csv: { rows_max: 1 } } }\nworkflow: [ { step: a } ]\n"
PARENT = f"""{HEAD.format(name="parent")}
workflow:
  - step: call
    tool: {{ kind: playbook, path: rows }}
"""
ECHOES = f"""{HEAD.format(name="echoes")}
executor: {{ spec: {{ echo: {{ loud: executor }}, csv: {{ rows_max: 3 }}, timeout: 9 }} }}
workflow:
  - step: say
    spec: {{ echo: {{ loud: step }} }}
    tool: {{ kind: echo, say: "{{{{ 1 + 1 }}}}", raw: "{{{{ 1 + 1 }}}}" }}
"""
HELLO = HEAD.format(name="hello") + "workflow: [ { step: a, tool: { kind: noop } } ]\n"


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    install_example(site)
    return site


@pytest.fixture
def project(tmp_path: Path, example: Path) -> Project:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n", "utf-8")
    made = Project(tmp_path, example)
    made.write("rows.yaml", ROWS)
    return made


@pytest.fixture
def bench(tmp_path: Path) -> Project:
    """With a folder for packages that tests make up."""
    made = Project(tmp_path, tmp_path / "site")
    made.site.mkdir()
    made.write("rows.yaml", ROWS)
    made.write("hello.yaml", HELLO)
    return made


def test_a_playbook_with_an_installed_kind_is_valid_and_runs(project: Project) -> None:
    checked = project.noetl("validate", "--strict", "rows.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    ran = project.noetl("run", "rows.yaml", "-q")
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr


def test_a_dry_run_and_a_drawing_know_an_installed_kind(project: Project) -> None:
    planned = project.noetl("run", "rows.yaml", "--dry-run")
    assert (planned.returncode, "csv, python" in planned.stdout) == (0, True), planned.stderr
    drawn = project.noetl("graph", "rows.yaml")
    assert (drawn.returncode, "csv" in drawn.stdout) == (0, True), drawn.stderr


def test_a_block_of_knobs_is_known_without_a_task_of_its_kind(project: Project) -> None:
    project.write("block.yaml", ONLY_A_BLOCK)
    checked = project.noetl("validate", "block.yaml")
    assert checked.returncode == 0, checked.stdout
    project.write("block.yaml", ONLY_A_BLOCK.replace("rows_max: 1", "rows: 1"))
    assert 'unknown key "rows"' in project.noetl("validate", "block.yaml").stdout


def test_the_spec_of_an_installed_kind_is_checked(project: Project) -> None:
    project.write("rows.yaml", ROWS.replace("path: rows.csv", "file: rows.csv"))
    checked = project.noetl("validate", "rows.yaml")
    assert checked.returncode == 3
    assert 'unknown key "file"' in checked.stdout


def test_a_misspelt_installed_kind_and_a_misspelt_word_of_its_block_are_told(project: Project) -> None:
    project.write("rows.yaml", ROWS.replace("kind: csv", "kind: cvs"))
    assert 'did you mean "csv"?' in project.noetl("validate", "rows.yaml").stdout
    project.write("rows.yaml", ROWS.replace("output.csv.rows", "output.csv.row"))
    assert "did you mean `output.csv.rows`?" in project.noetl("validate", "rows.yaml").stdout


def test_fix_and_migrate_leave_an_installed_kind_and_mend_what_is_around_it(project: Project) -> None:
    project.write("rows.yaml", ROWS.replace("input: { path", "args: { path"))
    assert project.noetl("migrate", "rows.yaml").stdout == ROWS
    fixed = project.noetl("fix", "rows.yaml")
    assert (fixed.returncode, fixed.stdout) == (0, ROWS), fixed.stderr


def test_the_schema_has_the_fields_of_an_installed_kind(project: Project) -> None:
    definitions = msgspec.json.decode(project.noetl("schema").stdout)["definitions"]
    assert {"path", "delimiter"} <= definitions["csv_task"]["properties"].keys()


def test_a_child_playbook_may_use_an_installed_kind(project: Project) -> None:
    project.write("parent.yaml", PARENT)
    ran = project.noetl("run", "parent.yaml", "-q")
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr


def test_a_run_again_knows_an_installed_kind(project: Project) -> None:
    (project.folder / "rows.csv").rename(project.folder / "later.csv")
    assert project.noetl("run", "rows.yaml", "-q").returncode == 1
    (project.folder / "later.csv").rename(project.folder / "rows.csv")
    again = project.noetl("rerun", "@latest", "-q")
    assert (again.returncode, again.stdout) == (0, "1\n"), again.stderr


def test_knobs_are_layered_for_their_kind_alone_and_texts_are_no_templates(bench: Project) -> None:
    install_example(bench.site)
    install(bench.site, "noetl-echo", "echo = noetl_echo:PLUGIN", ECHO)
    bench.write("echoes.yaml", ECHOES)
    ran = bench.noetl("run", "echoes.yaml", "-q")
    assert ran.returncode == 0, ran.stderr
    found = msgspec.json.decode(ran.stdout)
    assert found["fields"] == {"say": 2, "raw": "{{ 1 + 1 }}"}
    assert found["spec"] == {"loud": "step", "timeout": 9}
    assert found["key"]


def test_without_the_package_the_kind_is_unknown(bench: Project) -> None:
    checked = bench.noetl("validate", "rows.yaml")
    assert 'unknown kind "csv"' in checked.stdout


BROKEN = [
    ("csv = noetl_bad:PLUGIN", "raise RuntimeError('no luck')", "cannot be imported: RuntimeError: no luck"),
    ("csv = noetl_bad:PLUGIN", "import nowhere_to_be_found", "ModuleNotFoundError: No module named"),
    ("csv = noetl_bad:PLUGIN", "def", "cannot be imported: SyntaxError"),
    ("csv = noetl_bad:NOTHING", "", "has no attribute 'NOTHING'"),
    ("csv = noetl_bad:ECHO", "ECHO = 3", "must be a noetl.tools.plugin.Plugin; found builtins.int"),
    ("csv = noetl_bad:PLUGIN", ECHO, "is a plugin of kind `echo`, and its entry point is called `csv`"),
    ("csv = noetl_bad:PLUGIN", f"{ECHO}\nPLUGIN = Plugin(None, print)", "`kind` must be a noetl.playbook.kinds.Kind"),
    ("csv = noetl_bad:PLUGIN", f"{ECHO}\nPLUGIN = Plugin(KIND, 3)", "`make` must be a function"),
    ("csv = noetl_bad:PLUGIN", f"{ECHO}\nPLUGIN = Plugin(Kind('csv', 'It.', ['path']), print)", "`fields` must be"),
]


@pytest.mark.parametrize(("entry_point", "text", "message"), BROKEN)
def test_a_package_that_cannot_be_used_is_named_where_its_kind_stands_and_nobody_else_minds(
    bench: Project, entry_point: str, text: str, message: str
) -> None:
    install(bench.site, "noetl-bad", entry_point, text)
    checked = bench.noetl("validate", "rows.yaml", "hello.yaml")
    assert checked.returncode == 3
    assert 'rows.yaml:9:29: error: the kind "csv" cannot be used [NOE110]' in checked.stdout
    assert f"noetl-bad 1.2 ({entry_point.partition(' = ')[2]})" in checked.stdout
    assert message in checked.stdout
    assert checked.stderr == "2 files, 1 error\n"
    assert bench.noetl("run", "hello.yaml", "-q").returncode == 0
    assert bench.noetl("run", "rows.yaml", "-q").returncode == 3


def test_two_packages_with_one_kind_are_both_named(bench: Project) -> None:
    install(bench.site, "noetl-one", "csv = noetl_one:PLUGIN", ECHO)
    install(bench.site, "noetl-two", "csv = noetl_two:PLUGIN", ECHO)
    told = "several packages add the kind `csv`: noetl-one 1.2 (noetl_one:PLUGIN) and noetl-two 1.2 (noetl_two:PLUGIN)"
    assert told in bench.noetl("validate", "rows.yaml").stdout
    assert bench.noetl("run", "hello.yaml", "-q").returncode == 0


def test_a_package_does_not_take_over_a_kind_of_ours(bench: Project) -> None:
    install(bench.site, "noetl-bad", "noop = noetl_bad:PLUGIN", ECHO.replace('"echo",', '"noop",', 1))
    schema = bench.noetl("schema")
    assert "noetl-bad 1.2 (noetl_bad:PLUGIN) adds the kind `noop`, which NoETL has itself" in schema.stderr
    assert msgspec.json.decode(schema.stdout)["definitions"]["noop_task"]["description"].startswith("Does nothing.")
    assert bench.noetl("run", "hello.yaml", "-q").stdout == ""


def test_an_entry_point_under_another_name_than_its_kind_is_told_where_the_kind_is_missed(bench: Project) -> None:
    install(bench.site, "noetl-bad", "sheet = noetl_bad:PLUGIN", ECHO)
    checked = bench.noetl("validate", "rows.yaml").stdout
    assert 'unknown kind "csv"' in checked
    assert "not `sheet`: noetl-bad 1.2 (noetl_bad:PLUGIN) is a plugin of kind `echo`" in checked


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ("def make(parts): raise RuntimeError('no luck')", "the tool of the kind `echo` cannot be made: RuntimeError"),
        ("def make(parts): return 3", "must give a tool with `run` and `close`; it gave int"),
    ],
)
def test_a_tool_that_cannot_be_made_fails_its_task(bench: Project, make: str, message: str) -> None:
    install(bench.site, "noetl-echo", "echo = noetl_echo:PLUGIN", f"{ECHO}\n{make}\nPLUGIN = Plugin(KIND, make)\n")
    bench.write("echoes.yaml", ECHOES.replace("csv: { rows_max: 3 }, ", ""))
    ran = bench.noetl("run", "echoes.yaml")
    assert ran.returncode == 1
    assert message in ran.stderr


def test_the_tests_of_the_example_pass_where_it_is_installed(example: Path) -> None:
    """The steps of its page, for the author of a package."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "-c", os.devnull, "."]
    path = os.pathsep.join(filter(None, [str(example), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(
        command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_nothing_is_looked_for_where_no_package_adds_a_kind() -> None:
    installed = Installed()
    assert (installed.names, installed.unusable) == ([], {})


def test_fix_does_not_take_an_installed_kind_for_a_misspelt_one_of_ours(bench: Project) -> None:
    text = HEAD.format(name="large") + "workflow: [ { step: a, tool: { kind: Noop } } ]\n"
    bench.write("large.yaml", text)
    assert "kind: noop }" in bench.noetl("fix", "large.yaml").stdout
    install(bench.site, "noetl-echo", "Noop = noetl_echo:PLUGIN", ECHO.replace('"echo",', '"Noop",', 1))
    fixed = bench.noetl("fix", "large.yaml")
    assert (fixed.returncode, fixed.stdout) == (0, text), fixed.stderr
