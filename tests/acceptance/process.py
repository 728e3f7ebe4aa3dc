"""Runs the installed program as a process of its own, as a person's shell does."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "noetl")
TIMEOUT_S = 60


def environment(**changes: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    return kept | {"TERM": "xterm", "PYTHONUTF8": "1"} | changes


def noetl(*words: str, stdin: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *words],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
