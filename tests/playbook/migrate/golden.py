"""Golden migrations: a playbook, what becomes of it, and what is refused of it, to the letter.

`python -m tests.playbook.migrate.golden` writes the results anew; read the difference before you keep it.
"""

from pathlib import Path

from noetl.cli.reports.text import render
from noetl.playbook.migrate import Migration, migrate
from noetl.playbook.source.lines import Lines

FOLDER = Path(__file__).parents[2] / "golden" / "migrate"
EXPECTED = ".expected.yaml"


def sources() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.yaml") if not path.name.endswith(EXPECTED))


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def expected(path: Path) -> Path:
    return path.with_suffix(EXPECTED)


def refusals(path: Path, migration: Migration) -> str:
    lines = Lines(text_of(path))
    return "".join(render(path.name, lines, refusal) + "\n" for refusal in migration.refused)


def write() -> None:
    for path in sources():
        migration = migrate(text_of(path))
        expected(path).write_bytes(migration.text.encode("utf-8"))
        path.with_suffix(".out").write_text(refusals(path, migration), encoding="utf-8")


if __name__ == "__main__":
    write()
