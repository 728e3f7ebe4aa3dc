import re
from importlib.resources import files

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.rules import RULES
from noetl.playbook.rules.needs import NEEDS
from noetl.playbook.rules.rule import Rule

PAGES = files("noetl.playbook.rules") / "pages"
TOO_LARGE_TO_SHOW = {"NOE008"}


def page(rule: Rule) -> str:
    return (PAGES / f"{rule.code}.md").read_text(encoding="utf-8")


def examples(text: str, heading: str) -> list[str]:
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)


def codes(text: str) -> set[str]:
    return {found.code for found in compile_playbook(text, "page.yaml").diagnostics}


@pytest.mark.parametrize("rule", [*RULES, *NEEDS], ids=lambda rule: rule.code)
def test_a_page_says_what_why_and_shows_an_example_and_its_cure(rule: Rule) -> None:
    text = page(rule)
    assert text.startswith(f"# {rule.code} {rule.name}\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Why", "## Example", "## Fix"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_example_of_a_page_is_what_the_rule_speaks_of_and_the_fix_is_not(rule: Rule) -> None:
    text = page(rule)
    assert [rule.code in codes(example) for example in examples(text, "Example")] == [
        rule.code not in TOO_LARGE_TO_SHOW
    ]
    assert [rule.code in codes(example) for example in examples(text, "Fix")] == [False]


@pytest.mark.parametrize("rule", NEEDS, ids=lambda rule: rule.code)
def test_what_a_run_may_lack_is_valid_all_the_same(rule: Rule) -> None:
    shown = [*examples(page(rule), "Example"), *examples(page(rule), "Fix")]
    assert [compile_playbook(text, "page.yaml").playbook is not None for text in shown] == [True, True]


def test_codes_are_unique_and_every_page_belongs_to_a_rule() -> None:
    named = [rule.code for rule in (*RULES, *NEEDS)]
    assert len(set(named)) == len(named)
    assert {entry.name for entry in PAGES.iterdir()} == {f"{code}.md" for code in named}
