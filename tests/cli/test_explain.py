import json

import pytest

from noetl.cli.pages import opening, page_of
from noetl.playbook.rules import RULES
from noetl.playbook.rules.needs import NEEDS
from tests.cli.invoke import noetl

RULE = next(rule for rule in RULES if rule.name == "dangling-arc")


@pytest.mark.parametrize("word", ["NOE203", "noe203", "203", "dangling-arc", "Dangling-Arc"])
def test_a_rule_is_found_by_its_code_or_name(word: str) -> None:
    ran = noetl("explain", word)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == page_of(RULE)


def test_on_a_terminal_a_page_has_colours_in_place_of_signs() -> None:
    ran = noetl("explain", "NOE203", is_terminal=True)
    assert ran.out.startswith("\x1b[1;4mNOE203 dangling-arc\x1b[0m\n")
    assert "```" not in ran.out
    assert "\n## " not in ran.out


def test_without_a_rule_all_are_listed() -> None:
    lines = noetl("explain").out.splitlines()
    assert len(lines) == len(RULES) + len(NEEDS)
    assert "NOE203  error    dangling-arc" in lines


def test_the_list_as_json_has_code_severity_and_name() -> None:
    listed = json.loads(noetl("explain", "-o", "json").out)
    assert listed == {
        "rules": [{"code": rule.code, "severity": rule.severity.value, "name": rule.name} for rule in [*RULES, *NEEDS]]
    }


def test_a_page_as_json_holds_its_text() -> None:
    assert json.loads(noetl("explain", "203", "-o", "json").out) == {
        "code": "NOE203",
        "severity": "error",
        "name": "dangling-arc",
        "page": page_of(RULE),
    }


@pytest.mark.parametrize(("word", "near"), [("danglin-arc", "dangling-arc"), ("NOE2033", "NOE203")])
def test_an_unknown_rule_is_answered_with_the_nearest(word: str, near: str) -> None:
    ran = noetl("explain", word)
    assert (ran.code, ran.out) == (2, "")
    assert f'there is no rule "{word}"; did you mean "{near}"?' in ran.err


def test_a_word_like_no_rule_leads_to_the_list() -> None:
    ran = noetl("explain", "something-else-altogether")
    assert ran.code == 2
    assert ran.err.endswith('there is no rule "something-else-altogether"\n  = see: noetl explain\n')


@pytest.mark.parametrize("rule", [*RULES, *NEEDS], ids=lambda rule: rule.code)
def test_the_opening_of_a_page_says_what_the_rule_means(rule: object) -> None:
    assert isinstance(rule, type(RULE))
    text = opening(page_of(rule))
    assert text.endswith(".")
    assert not text.startswith("#")
