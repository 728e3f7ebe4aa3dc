import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from noetl.playbook.migrate import migrate
from noetl.playbook.model import Playbook
from noetl.playbook.source.read import read_source
from tests.generators.choices import Seeded
from tests.generators.playbooks import playbook
from tests.generators.settings import Features
from tests.generators.yaml_text import yaml_text
from tests.playbook.migrate.dialects import Age, aged, canonical

COMMENT = re.compile(
    r"# (?:why: \{\{ not read \}\}|a comment: of its own|- at the margin|a playbook|end)$", re.MULTILINE
)


def model(text: str) -> Playbook:
    compilation = compile_playbook(text, "generated.yaml")
    errors = [found for found in compilation.diagnostics if found.severity is Severity.ERROR]
    assert errors == [], text
    assert compilation.playbook is not None
    return compilation.playbook


REWRITTEN = ("apiVersion", "workflow", "workbook")
SMALL = Features(steps_max=3, tasks_max=2, nesting_max=1)


def untouched(text: str) -> list[str]:
    """The parts of a playbook in which there is nothing to migrate, as they stand in the text."""
    root = read_source(text, "generated.yaml")[0].root
    assert root is not None
    return [text[entry.key.start : entry.end] for entry in root.entries if entry.key.text not in REWRITTEN]


def spellings(seed: int, age: Age, *, aliases: bool = False) -> tuple[str, str]:
    """The same playbook as it is written today and in an older dialect."""
    choices = Seeded(seed)
    found = canonical(playbook(choices, SMALL), choices)
    return yaml_text(found, choices), yaml_text(aged(found, choices, age), choices, aliases=aliases)


@pytest.mark.parametrize("age", [Age.V10, Age.OLDEST])
@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_an_older_spelling_migrates_to_what_means_the_same(age: Age, seed: int) -> None:
    today, older = spellings(seed, age)
    migration = migrate(older)
    assert migration.refused == (), older
    assert model(migration.text) == model(today)
    assert migrate(migration.text).text == migration.text
    assert [part for part in untouched(older) if part not in migration.text] == []
    assert Counter(COMMENT.findall(migration.text)) == Counter(COMMENT.findall(older)), older


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), age=st.sampled_from([Age.V10, Age.OLDEST]))
def test_with_aliases_what_is_not_refused_means_the_same(seed: int, age: Age) -> None:
    today, older = spellings(seed, age, aliases=True)
    migration = migrate(older)
    assert migrate(migration.text).text == migration.text
    assert migration.refused or model(migration.text) == model(today)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_a_playbook_of_today_stays_as_it_is_to_the_byte(seed: int) -> None:
    today, _ = spellings(seed, Age.CANONICAL)
    migration = migrate(today)
    assert migration.text == today
    assert not migration.changed
