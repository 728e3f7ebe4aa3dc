"""The command of the README that installs NoETL and runs a playbook, in a copy of what git would give."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE_S = 600


def test_one_command_installs_and_runs_a_playbook(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"^```bash\n(.*/noetl run .*)\n```$", text, re.MULTILINE)
    assert shown is not None
    _copy(tmp_path)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run(
        ["bash", "-c", shown.group(1)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Hello" in ran.stdout
    assert (tmp_path / ".venv/bin/noetl").exists()


def _copy(to: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in listed.splitlines():
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, target)
