"""Runs vulture and leaves out what it cannot judge: fields of records and members of enums.

A field may be there to be written out, a member to be made from text. Both are data, not dead code.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

DATA_BASES = {"Struct", "Enum", "IntEnum", "StrEnum", "Flag", "NamedTuple", "TypedDict"}
VULTURE_CLEAN, VULTURE_FOUND = 0, 3
FINDING = re.compile(r"^(?P<path>.+?):(?P<line>\d+): unused variable ")


def main(folders: Sequence[str]) -> int:
    vulture = [sys.executable, "-m", "vulture", *folders]
    ran = subprocess.run(vulture, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode not in {VULTURE_CLEAN, VULTURE_FOUND}:
        return ran.returncode
    dead = [line for line in ran.stdout.splitlines() if not is_data(line)]
    print("\n".join(dead) or "nothing is unused")
    return 1 if dead else 0


def is_data(finding: str) -> bool:
    found = FINDING.match(finding)
    return found is not None and int(found["line"]) in data_lines(Path(found["path"]).read_text("utf-8"))


def data_lines(text: str) -> set[int]:
    """The lines on which a class of the file declares a field or a member."""
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    holders = [node for node in classes if DATA_BASES & set(_base_names(node, classes))]
    return {part.lineno for node in holders for part in node.body if isinstance(part, ast.AnnAssign | ast.Assign)}


def _base_names(node: ast.ClassDef, classes: Sequence[ast.ClassDef]) -> Iterator[str]:
    """The names of the bases, and of theirs where they stand in the same file."""
    for base in node.bases:
        name = ast.unparse(base).rpartition(".")[2]
        yield name
        yield from (up for parent in classes if parent.name == name for up in _base_names(parent, classes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
