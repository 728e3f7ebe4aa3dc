from collections import Counter
from pathlib import Path

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.migrate import migrate
from tests.playbook.migrate.golden import expected, refusals, sources, text_of


def comments(text: str) -> Counter[str]:
    """What stands behind each number sign that begins a comment, as far as lines show it."""
    return Counter(
        line.partition(" #")[2].strip() for line in f" {text}".replace("\n", "\n ").splitlines() if " #" in line
    )


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_a_playbook_becomes_what_the_golden_file_holds(path: Path) -> None:
    migration = migrate(text_of(path))
    assert migration.text == text_of(expected(path))
    assert refusals(path, migration) == text_of(path.with_suffix(".out"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_what_was_migrated_stays_as_it_is(path: Path) -> None:
    once = migrate(text_of(path))
    again = migrate(once.text)
    assert again.text == once.text
    assert not again.changed


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_every_older_word_that_is_left_is_told(path: Path) -> None:
    migration = migrate(text_of(path))
    left = [found.code for found in compile_playbook(migration.text, path.name).diagnostics]
    told = Counter(refusal.code for refusal in migration.refused)
    assert Counter(code for code in left if code.startswith("NOE7")) - told == Counter()


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_every_comment_is_kept(path: Path) -> None:
    assert comments(migrate(text_of(path)).text) == comments(text_of(path))


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_windows_line_ends_stay_what_they_are(path: Path) -> None:
    text = text_of(path)
    assert migrate(text.replace("\n", "\r\n")).text == migrate(text).text.replace("\n", "\r\n")


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_a_last_line_without_a_break_is_no_hindrance(path: Path) -> None:
    text = text_of(path)
    assert migrate(text.rstrip("\n")).text.rstrip("\n") == migrate(text).text.rstrip("\n")
