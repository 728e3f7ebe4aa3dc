"""Python code is read before it runs, as the interpreter that runs it would."""

import pytest

from noetl.cli.code import unreadable_code
from noetl.playbook.compile import compile_playbook
from noetl.playbook.source.scalars import quote

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: a, path: a }\n"


def told(task: str, head: str = "") -> list[tuple[int, int, str]]:
    compilation = compile_playbook(f"{HEAD}{head}workflow:\n  - step: a\n    tool: {task}\n", "a.yaml")
    assert compilation.document is not None
    found = unreadable_code(compilation.document)
    return [(each.span.line, each.span.column, each.message.partition(": ")[2]) for each in found]


@pytest.mark.parametrize(
    ("code", "column", "message"),
    [
        ("result = = 1", 43, "invalid syntax"),
        ("return 1", 34, "'return' outside function"),
        ("x = (", 38, "'(' was never closed"),
    ],
)
def test_a_syntax_error_is_told_at_its_place(code: str, column: int, message: str) -> None:
    assert told(f"{{ kind: python, code: {quote(code)} }}") == [(6, column, message)]


def test_a_place_inside_a_block_is_found() -> None:
    block = "\n      kind: python\n      code: |\n        # Ünicöde\n        a = 'ä'\n        result = = a"
    assert [(line, column) for line, column, _ in told(block)] == [(11, 18)]


@pytest.mark.parametrize("code", ["result = 1", "x = '\\d'", ""])
def test_code_that_can_be_read_is_left_alone(code: str) -> None:
    assert told(f"{{ kind: python, code: {quote(code)} }}") == []


@pytest.mark.parametrize("code", ["x = '\0'", "-" * 100_000 + "1", "(" * 1_000 + "1" + ")" * 1_000])
def test_code_that_no_compiler_takes_does_no_harm(code: str) -> None:
    assert len(told(f"{{ kind: python, code: {quote(code)} }}")) <= 1


@pytest.mark.parametrize("head", ["", "executor: { spec: { python: { python: venv } } }\n"])
def test_other_tasks_and_other_interpreters_are_left_alone(head: str) -> None:
    named = "" if head else ", spec: { python: venv }"
    assert told(f"{{ kind: python, code: '= 1'{named} }}", head) == []
    assert told("{ kind: python, file: a.py }") == []
    assert told("{ kind: script, script: '= 1' }") == []
