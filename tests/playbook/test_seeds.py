"""Every example of the specifications, newest to oldest, as the compiler and the migration see it."""

from pathlib import Path

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from noetl.playbook.migrate import migrate

EXAMPLES = sorted((Path(__file__).parents[1] / "golden" / "seeds").glob("*.yaml"))
OLDEST = [path for path in EXAMPLES if path.stem.startswith("001_")]
ACCEPTED = [path for path in EXAMPLES if path not in OLDEST]
WITHOUT_SUCCESSOR = "001_6.1_2"


def errors(text: str) -> list[str]:
    found = compile_playbook(text, "example.yaml").diagnostics
    return [each.code for each in found if each.severity is Severity.ERROR]


def old_words(text: str) -> list[str]:
    return [each.code for each in compile_playbook(text, "example.yaml").diagnostics if each.code[3] in "67"]


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_an_example_of_a_dialect_that_runs_compiles(path: Path) -> None:
    assert errors(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", OLDEST, ids=lambda path: path.stem)
def test_an_example_of_the_oldest_dialect_is_refused_and_only_for_its_words(path: Path) -> None:
    codes = errors(path.read_text("utf-8"))
    assert codes
    assert all(code.startswith("NOE7") for code in codes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_after_migration_without_older_words(path: Path) -> None:
    migration = migrate(path.read_text("utf-8"))
    if path.stem == WITHOUT_SUCCESSOR:
        assert [refusal.code for refusal in migration.refused] == ["NOE701", "NOE701"]
        return
    assert migration.refused == ()
    assert errors(migration.text) == []
    assert old_words(migration.text) == []


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem.startswith("004_")], ids=lambda path: path.stem
)
def test_an_example_of_today_stays_as_it_is(path: Path) -> None:
    text = path.read_text("utf-8")
    assert old_words(text) == []
    assert migrate(text).text == text
