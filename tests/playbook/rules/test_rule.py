from noetl.playbook.diagnostics import Severity, Span
from noetl.playbook.rules.rule import Rule, visible

RULE = Rule("NOE999", "made-up", Severity.ERROR)


def test_a_message_stands_on_one_line_whatever_the_playbook_names_its_parts() -> None:
    said = RULE.at(Span(1, 1, 1, 2), 'step "a\nb\x1b[31m" is wrong')
    assert said.message == 'step "a\\nb\\x1b[31m" is wrong'


def test_a_hint_keeps_its_lines_and_shows_other_control_characters() -> None:
    said = RULE.at(Span(1, 1, 1, 2), "wrong", "write:\n  a: \x07")
    assert said.hint == "write:\n  a: \\x07"


def test_letters_of_all_scripts_are_visible_as_they_are() -> None:
    assert visible("é 中 😀 …") == "é 中 😀 …"
    assert visible("a\u2028b") == "a\\u2028b"
