"""A run that cannot go on says why and ends; when the cause is mended, a resume brings it to its end."""

from pathlib import Path

import msgspec

from tests.acceptance.process import noetl

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: parked, path: parked }
workflow:
  - step: load
    tool:
      - { name: make, kind: python, code: "result = [{'n': n, 'text': 'x' * 400} for n in range(300)]" }
      - { name: call, kind: playbook, path: below, input: { rows: "{{ make.data }}" } }
"""
BELOW = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: below, path: below }
workload: { rows: [] }
workflow:
  - step: hide
    tool:
      kind: script
      script: |
        test -e away && exit 0
        mkdir away && mv .noetl/results/*/???????????????????* away
        kill -9 $PPID
    next: { arcs: [ { step: each } ] }
  - step: each
    loop: { in: "{{ workload.rows }}", iterator: row, spec: { mode: parallel } }
    tool: { kind: python, input: { n: "{{ iter.row.n }}" }, code: "result = n" }
"""


def test_a_run_whose_data_is_gone_says_so_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    (tmp_path / "parked.yaml").write_text(PLAYBOOK, "utf-8")
    (tmp_path / "below.yaml").write_text(BELOW, "utf-8")
    assert noetl("run", "parked.yaml", folder=tmp_path).returncode == -9
    for _ in range(2):
        ran = noetl("run", "--resume", "@latest", folder=tmp_path)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "cannot go on" in ran.stderr
        assert "noetl run --resume" in ran.stderr
    for file in (tmp_path / "away").iterdir():
        file.rename(tmp_path / ".noetl/results" / file.name[:2] / file.name)
    mended = noetl("run", "--resume", "@latest", "-q", folder=tmp_path)
    assert mended.returncode == 0, mended.stderr
    assert msgspec.json.decode(mended.stdout) == list(range(300))
