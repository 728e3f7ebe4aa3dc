"""The playbooks that stand in files: golden ones, examples, and the templates of `noetl init`."""

from pathlib import Path

from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import Dialect, Playbook

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/golden", "examples", "src/noetl/cli/templates")


def golden_playbooks() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.yaml"))]


def canonical_playbooks() -> dict[str, Playbook]:
    """Those in today's words that compile, by the name of their file."""
    compiled = {path.stem: compile_playbook(path.read_bytes(), path.name).playbook for path in golden_playbooks()}
    return {name: found for name, found in compiled.items() if found and found.dialect is Dialect.CANONICAL}
