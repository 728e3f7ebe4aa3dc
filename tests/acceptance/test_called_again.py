"""A playbook that was called and did not succeed goes on where it stopped, when its caller is run again."""

from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.process import noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{ name: {0}, path: {0} }}\n"
LEAF = """
workload: { i: 0 }
workflow:
  - step: first
    tool: { kind: script, script: 'echo "first $i" >> ledger.txt', input: { i: "{{ workload.i }}" } }
    next: { arcs: [ { step: second } ] }
  - step: second
    tool:
      kind: script
      script: |
        echo "second $i" >> ledger.txt
        [ "$i" != 1 ] || [ -e open ]
      input: { i: "{{ workload.i }}" }
"""
LOOP = """
workflow:
  - step: each
    loop: { in: [0, 1, 2], iterator: i }
    tool: { kind: playbook, path: leaf, input: { i: "{{ iter.i }}" } }
"""
TOP = """
workflow:
  - step: call
    tool: { kind: playbook, path: loop }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("leaf", LEAF), ("loop", LOOP), ("top", TOP)):
        (tmp_path / f"{name}.yaml").write_text(HEAD.format(name) + text, "utf-8")
    assert noetl("run", "top.yaml", "-q", folder=tmp_path).returncode == 1
    (tmp_path / "open").touch()
    return tmp_path


def ledger(project: Path) -> Counter[str]:
    """How often each was run, as the outside world saw it."""
    return Counter((project / "ledger.txt").read_text("utf-8").splitlines())


def test_only_what_had_not_succeeded_two_levels_below_runs_again(project: Path) -> None:
    ran = noetl("rerun", "@latest", "-q", folder=project)
    assert ran.returncode == 0, ran.stderr
    once = [f"{step} {i}" for step in ("first", "second") for i in range(3)]
    assert ledger(project) == Counter([*once, "second 1"])


def test_a_called_playbook_whose_file_was_changed_begins_anew(project: Path) -> None:
    with (project / "leaf.yaml").open("a") as file:
        file.write("    next: { arcs: [ { step: third } ] }\n  - step: third\n    tool: { kind: noop }\n")
    ran = noetl("rerun", "@latest", "-q", folder=project)
    assert ran.returncode == 0, ran.stderr
    assert [ledger(project)[f"first {i}"] for i in range(3)] == [1, 2, 1]
