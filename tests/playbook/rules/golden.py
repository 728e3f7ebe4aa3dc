"""Golden pairs: a playbook beside what the linter says of it, to the letter.

`python -m tests.playbook.rules.golden` writes every `.out` anew; read the difference before you keep it.
"""

from pathlib import Path

from noetl.cli.reports.text import render
from noetl.playbook.compile import compile_playbook

FOLDER = Path(__file__).parents[2] / "golden" / "rules"


def pairs() -> list[Path]:
    return sorted(FOLDER.glob("*.yaml"))


def report(path: Path) -> str:
    compilation = compile_playbook(path.read_bytes(), path.name)
    lines = compilation.source.lines
    return "".join(render(path.name, lines, found) + "\n" for found in compilation.diagnostics)


def write() -> None:
    for path in pairs():
        path.with_suffix(".out").write_text(report(path), encoding="utf-8")


if __name__ == "__main__":
    write()
