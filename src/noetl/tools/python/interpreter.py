"""Which Python runs an author's code: ours, another interpreter, or that of a virtual environment."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

OLDEST = (3, 8)
"""The program of a child process can be read from this version on."""

PROBE = "import sys; print('Python %d.%d' % sys.version_info[:2])"
PROBE_S = 10.0

Version = tuple[int, int]


def find_interpreter(wanted: str, folder: Path, path: str) -> str | None:
    """A program or a virtual environment, looked for beside the playbook first; a bare name then on `PATH`."""
    beside = folder / Path(wanted).expanduser()
    if beside.is_dir():
        return _program(beside / "bin" / "python")
    return _program(beside) or (shutil.which(wanted, path=path) if os.sep not in wanted else None)


def _program(path: Path) -> str | None:
    return str(path.absolute()) if path.is_file() and os.access(path, os.X_OK) else None


def version_by_name(program: str) -> Version | None:
    """As the file says that the program is in the end, such as `python3.7`. Nothing is run for it."""
    return _version(r"python(\d+)\.(\d+)", Path(program).resolve().name)


def fault_of(program: str, environment: Mapping[str, str]) -> str | None:
    """Why a program cannot run an author's code, as it says itself; None where that is not the reason."""
    try:
        asked = subprocess.run(
            [program, "-c", PROBE],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _version(r"Python (\d+)\.(\d+)", asked.stdout.decode("utf-8", "replace").strip())
    if version is not None and version >= OLDEST:
        return None
    what = f"Python {shown(version)}" if version is not None else "no Python"
    return f"{program} is {what}, and a python task needs Python {shown(OLDEST)} or newer"


def shown(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _version(pattern: str, text: str) -> Version | None:
    found = re.fullmatch(pattern, text)
    return (int(found[1]), int(found[2])) if found is not None else None
