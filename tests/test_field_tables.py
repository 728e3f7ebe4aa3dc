"""docs/tools.md says of every kind what its spec says."""

import re

import pytest

from noetl.playbook.kinds import KINDS, Kind
from tests.field_tables import PAGE, table, written


def section(name: str) -> str:
    """The text under the heading of a kind."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## )", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def test_the_tables_of_the_page_are_those_of_the_specs() -> None:
    page = PAGE.read_text("utf-8")
    assert written(page) == page, "run `python -m tests.field_tables`"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_a_kind_is_on_the_page(kind: Kind) -> None:
    text = section(kind.name) or section("Still to come")
    knobs = [field.name for field in kind.knobs.values() if not field.inert]
    assert [name for name in [*kind.fields, *knobs] if not re.search(rf"`(spec\.)?{name}`", text)] == []


def test_a_table_shows_what_a_field_takes() -> None:
    assert table("script").splitlines()[:3] == [
        "| field | takes | meaning |",
        "|---|---|---|",
        "| `script` | text, never a template | The script's text. |",
    ]
    assert "| `var` of `env` | text | **Required.** The variable. |" in table("keychain env file")
