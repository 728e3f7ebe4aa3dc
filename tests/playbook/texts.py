"""Playbooks for tests: a head that is right, so that a test writes down only what it is about."""

from textwrap import dedent, indent

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Playbook, Step, Task

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"


def whole(body: str) -> str:
    """A playbook's text from what follows its head."""
    return HEAD + dedent(body).lstrip("\n")


def with_step(body: str) -> str:
    """A playbook's text from the keys of its one step, named `load`."""
    return whole("workflow:\n  - step: load\n" + indent(dedent(body).strip("\n"), "    ") + "\n")


def with_tool(body: str) -> str:
    """A playbook's text from the `tool` of its one step."""
    return with_step("tool:\n" + indent(dedent(body).strip("\n"), "  "))


def check(text: str) -> Compilation:
    return compile_playbook(text, "test.yaml")


def document(text: str) -> Document:
    found = check(text).document
    assert found is not None
    return found


def model(text: str) -> Playbook:
    """The playbook of a text that has no errors."""
    compilation = check(text)
    assert compilation.playbook is not None, errors(text)
    return compilation.playbook


def step(text: str) -> Step:
    return model(text).workflow[0]


def tasks(text: str) -> tuple[Task, ...]:
    return step(text).tool


def errors(text: str) -> list[str]:
    return [found.code for found in check(text).diagnostics if found.severity is Severity.ERROR]


def said(text: str, code: str) -> list[Diagnostic]:
    return [found for found in check(text).diagnostics if found.code == code]
