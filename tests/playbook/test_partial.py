"""A step that is no YAML hides nothing of the others, and makes nothing of them wrong that is right."""

import re
from collections.abc import Iterator
from itertools import cycle

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.partial import LOCAL, NAMING
from noetl.playbook.rules import RULES
from noetl.playbook.source.sections import sections_of
from tests.playbook.golden_playbooks import golden_playbooks

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"
MISTAKES = ("broken: [", "broken: 'x", 'broken: "x', "broken: {{ x }}/y", "broken: a: b", "broken: @x", "\tbroken: x")


def said(text: str) -> list[tuple[str, int]]:
    return [(found.code, found.span.line) for found in compile_playbook(text, "book.yaml").diagnostics]


def workflow(*steps: str) -> str:
    return HEAD + "workflow:\n" + "".join(f"- {step}\n" for step in steps)


def test_the_mistakes_of_a_step_are_told_beside_the_broken_step_before_it() -> None:
    text = workflow("{ step: a, tool: { kind: noop }", "{ step: b, tool: { knd: noop } }", "{ step: b, tool: [ }")
    assert said(text) == [("NOE002", 5), ("NOE101", 6), ("NOE002", 7)]


def test_a_name_that_a_broken_part_does_not_spell_is_unknown() -> None:
    text = workflow("{ step: load", "{ step: b, tool: { kind: noop }, next: { arcs: [ { step: lod } ] } }")
    diagnostics = compile_playbook(text, "book.yaml").diagnostics
    assert [found.code for found in diagnostics] == ["NOE002", "NOE203"]
    assert diagnostics[1].hint == "parts of the file could not be read; correct them first"


def test_a_name_with_a_likely_word_keeps_its_hint() -> None:
    text = workflow("{ step: load", "{ step: b, tool: { kind: noop, desc: x, input: { a: '{{ workloda.x }}' } } }")
    whole = workflow("{ step: load }", "{ step: b, tool: { kind: noop, desc: x, input: { a: '{{ workloda.x }}' } } }")
    assert hint_of(text, "NOE502") == hint_of(whole, "NOE502")


def hint_of(text: str, code: str) -> str | None:
    (found,) = (found for found in compile_playbook(text, "book.yaml").diagnostics if found.code == code)
    assert "did you mean" in found.message
    return found.hint


def test_a_name_that_a_broken_part_spells_may_be_known_there() -> None:
    text = workflow("{ step: load", "{ step: b, tool: { kind: noop }, next: { arcs: [ { step: load } ] } }")
    assert said(text) == [("NOE002", 5)]


def test_a_key_that_a_playbook_must_have_may_be_broken() -> None:
    text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo\nworkflow:\n- { step: a, tol: 1 }\n"
    assert said(text) == [("NOE002", 3), ("NOE101", 5)]


def test_nothing_but_syntax_is_mended_where_parts_are_lost() -> None:
    text = workflow("{ step: a, desc: {{ x }}/y }", "{ step: b, tol: { kind: noop } }")
    fixed = [found.code for found in compile_playbook(text, "book.yaml").diagnostics if found.fix]
    assert fixed == ["NOE002"]


def test_no_playbook_comes_of_a_file_with_a_broken_part() -> None:
    compilation = compile_playbook(workflow("{ step: a", "{ step: b, tool: { kind: noop } }"), "book.yaml")
    assert compilation.playbook is None
    assert compilation.document is None


def test_the_rules_that_are_trusted_exist() -> None:
    assert {rule.code for rule in RULES} >= LOCAL | NAMING
    assert not LOCAL & NAMING


def test_a_broken_step_makes_nothing_wrong_that_was_right() -> None:
    mistakes = cycle(MISTAKES)
    texts = [path.read_bytes().decode("utf-8", "replace") for path in golden_playbooks()]
    assert [new for text in texts for new in newly_told(text, mistakes)] == []


def newly_told(text: str, mistakes: Iterator[str]) -> Iterator[Diagnostic]:
    """What is told of other parts than the broken one and was not before, but for lines and names in its message."""
    before = {_essence(found) for found in grave(text)}
    for section in (item for top in sections_of(text) for item in top.items):
        spoilt = f"{text[: section.end].rstrip()}\n        {next(mistakes)}\n{text[section.end :]}"
        first, last = text.count("\n", 0, section.start) + 1, text.count("\n", 0, section.end) + 2
        told = (found for found in grave(spoilt) if not first <= found.span.line <= last)
        yield from (found for found in told if _essence(found) not in before)


def grave(text: str) -> list[Diagnostic]:
    found = compile_playbook(text, "book.yaml").diagnostics
    return [diagnostic for diagnostic in found if diagnostic.severity is not Severity.INFO]


def _essence(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, re.sub(r"line \d+|; did you mean.*", "", diagnostic.message)
