"""Which Python runs an author's code: ours, another interpreter, or that of a virtual environment."""

import os
import shutil
from pathlib import Path


def find_interpreter(wanted: str, folder: Path, path: str) -> str | None:
    """A program or a virtual environment, looked for beside the playbook first; a bare name then on `PATH`."""
    beside = folder / Path(wanted).expanduser()
    if beside.is_dir():
        return _program(beside / "bin" / "python")
    return _program(beside) or (shutil.which(wanted, path=path) if os.sep not in wanted else None)


def _program(path: Path) -> str | None:
    return str(path.absolute()) if path.is_file() and os.access(path, os.X_OK) else None
