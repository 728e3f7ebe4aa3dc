"""A kind that an installed package adds: the example, installed the way pip does it, validated and run."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/plugin"
PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: rows, path: rows }
workflow:
  - step: read
    tool: { kind: csv, input: { path: rows.csv }, spec: { rows_max: 1 } }
"""


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """A folder on the path with what pip would write for the example."""
    return with_entry_point(tmp_path, "csv = noetl_csv:PLUGIN")


def with_entry_point(folder: Path, line: str) -> Mapping[str, str]:
    about = folder / "site/noetl_csv-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: noetl-csv\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text(f"[noetl.tools]\n{line}\n")
    (folder / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    (folder / "rows.yaml").write_text(PLAYBOOK)
    path = os.pathsep.join([str(about.parent), str(EXAMPLE / "src")])
    return {**os.environ, "PYTHONPATH": path, "NOETL_HOME": str(folder / "home")}


def noetl(*words: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "noetl", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_playbook_with_an_installed_kind_is_valid_and_runs(tmp_path: Path, environment: Mapping[str, str]) -> None:
    checked = noetl("validate", "--strict", "rows.yaml", folder=tmp_path, environment=environment)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    ran = noetl("run", "rows.yaml", "-o", "json", folder=tmp_path, environment=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert '"a":' in ran.stdout


def test_the_spec_of_an_installed_kind_is_checked(tmp_path: Path, environment: Mapping[str, str]) -> None:
    (tmp_path / "rows.yaml").write_text(PLAYBOOK.replace("path: rows.csv", "file: rows.csv"))
    checked = noetl("validate", "rows.yaml", folder=tmp_path, environment=environment)
    assert checked.returncode != 0
    assert 'unknown key "file"' in checked.stdout + checked.stderr


def test_without_the_package_the_kind_is_unknown(tmp_path: Path, environment: Mapping[str, str]) -> None:
    assert "PYTHONPATH" in environment
    checked = noetl("validate", "rows.yaml", folder=tmp_path, environment=dict(os.environ))
    assert 'unknown kind "csv"' in checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("csv = noetl_csv:KIND", "must name a Plugin, and noetl_csv:KIND is not one"),
        ("tsv = noetl_csv:PLUGIN", "names a plugin of kind `csv`; give both the same name"),
        ("csv = noetl_csv:NOTHING", "cannot be loaded from noetl_csv:NOTHING"),
        ("csv = noetl_nowhere:PLUGIN", "cannot be loaded from noetl_nowhere:PLUGIN"),
    ],
)
def test_a_package_that_is_no_plugin_is_told(tmp_path: Path, line: str, message: str) -> None:
    environment = with_entry_point(tmp_path, line)
    checked = noetl("validate", "rows.yaml", folder=tmp_path, environment=environment)
    assert checked.returncode != 0
    assert message in checked.stdout + checked.stderr


def test_the_tests_of_the_example_pass(environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "-c", os.devnull, "."]
    ran = subprocess.run(
        command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
