"""What a first task certainly fails at is told before it runs, and nothing else is."""

from collections.abc import Mapping

import pytest

from noetl.cli.running.beginning import beginning
from noetl.cli.running.doomed import doomed
from noetl.engine.program import Program
from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: flow, path: shop/flow }\n"
KEYCHAIN = "keychain: [ { name: url, kind: env, var: URL } ]\n"
TAKEN_UNLESS = "spec: { policy: { rules: [ { when: \"{{ output.error.kind == '%s' }}\", then: { do: fail } } ] } }"


def told(task: str, *lines: str, workload: Mapping[str, object] | None = None) -> list[tuple[Severity, int, str]]:
    body = "".join(f"    {line}\n" for line in (*lines, f"tool: [ {task} ]"))
    compilation = compile_playbook(f"{HEAD}{KEYCHAIN}workflow:\n  - step: a\n{body}", "flow.yaml")
    assert compilation.document is not None
    assert compilation.playbook is not None, compilation.diagnostics
    found = doomed(compilation.document, beginning(Program(compilation.playbook), workload or {}))
    return [(each.severity, each.span.column, each.message) for each in found]


@pytest.mark.parametrize(
    ("task", "column", "message"),
    [
        (
            '{ name: t, kind: http, input: { url: "ftp://x" } }',
            50,
            "`url` must begin with http:// or https://, and is 'ftp://x'",
        ),
        (
            '{ name: t, kind: http, input: { url: "{{ workload.u }}" } }',
            50,
            "`url` must begin with http:// or https://, and is null",
        ),
        (
            "{ name: t, kind: resolve, input: { ref: 3 } }",
            53,
            "`ref` must be a reference, such as `output.ref` of a task or step, and is a number",
        ),
        (
            '{ name: t, kind: python, input: { a: 1 }, code: "def main(a, b): return 1" }',
            74,
            "`main` needs `b`, and the input has `a`",
        ),
        ('{ name: t, kind: python, code: "def main(b): return 1" }', 54, "`main` needs `b`, and the input has nothing"),
    ],
)
def test_a_first_task_that_cannot_go_well_is_an_error_unless_something_takes_it(
    task: str, column: int, message: str
) -> None:
    workload = {"u": None}
    assert told(task, workload=workload) == [(Severity.ERROR, column, message)]
    failing = task.removesuffix(" }") + f", {TAKEN_UNLESS % 'input'} }}"
    assert told(failing, workload=workload) == [(Severity.ERROR, column, message)]
    taken = task.removesuffix(" }") + f", {TAKEN_UNLESS % 'template'} }}"
    assert told(taken, workload=workload) == [(Severity.WARNING, column, message)]


@pytest.mark.parametrize(
    "task",
    [
        '{ name: t, kind: http, input: { url: " HTTPS://x" } }',
        '{ name: t, kind: http, input: { url: "{{ keychain.url }}" } }',
        "{ name: t, kind: python, file: code.py }",
        '{ name: t, kind: python, input: { b: 1 }, code: "def main(b): return 1" }',
        '{ name: t, kind: script, script: "exit 1" }',
        '{ name: s, kind: noop }, { name: t, kind: http, input: { url: "ftp://x" } }',
    ],
)
def test_nothing_is_said_of_what_may_go_well(task: str) -> None:
    assert told(task) == []


def test_the_input_of_the_step_is_that_of_its_code() -> None:
    assert told('{ name: t, kind: python, code: "def main(b): return 1" }', "input: { b: 1 }") == []


def test_a_loop_is_judged_by_its_first_item() -> None:
    task = '{ name: t, kind: http, input: { url: "{{ iter.u }}" } }'
    assert told(task, "loop: { in: [ 'ftp://x', 'http://y' ], iterator: u }")[0][0] is Severity.ERROR
    assert told(task, "loop: { in: [ 'http://y', 'ftp://x' ], iterator: u }") == []
    assert told(task, "loop: { in: [], iterator: u }") == []
