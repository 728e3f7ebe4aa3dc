"""Interpreters and virtual environments that tasks name outright, and that are not on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from noetl.cli.code import named_python
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Block, Step, Task
from noetl.playbook.rules.needs import INTERPRETER_NOT_HERE
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Mapping as MappingNode
from noetl.playbook.source.nodes import Node, Scalar
from noetl.tools.python.interpreter import find_interpreter

MAKES_NOTHING = frozenset({"noop", "http", "resolve", "workbook"})
"""Kinds whose tasks leave no interpreter behind."""


def missing_interpreters(document: Document, file: str, environment: Mapping[str, str]) -> Iterator[Diagnostic]:
    """As errors; where another task might make what is missing, as warnings."""
    tasks = [(owner, task) for owner in owners(document) for task in owner.tool]
    path, folder = environment.get("PATH", os.defpath), Path(file).parent
    found = {id(task): _missing(document, owner, task, folder, path) for owner, task in tasks}
    makers = [task for _, task in tasks if found[id(task)] is None and task.kind not in MAKES_NOTHING]
    severity = Severity.WARNING if makers else Severity.ERROR
    for each in found.values():
        if each is not None:
            yield msgspec.structs.replace(each, severity=severity)


def _missing(document: Document, owner: Step | Block, task: Task, folder: Path, path: str) -> Diagnostic | None:
    if task.kind == "python":
        return _missing_python(named_python(document, owner, task), folder, path)
    if task.kind == "script":
        return _missing_program(document.node(task), path)
    return None


def _missing_python(written: Scalar | None, folder: Path, path: str) -> Diagnostic | None:
    if written is None or find_interpreter(written.text, folder, path) is not None:
        return None
    message = f'there is no interpreter and no virtual environment "{written.text}"'
    looked = f"looked beside the playbook, in {folder.absolute()}" + ("" if os.sep in written.text else ", and on PATH")
    hint = f"{looked}\nmake it: python -m venv {written.text}; or name one that is there"
    return INTERPRETER_NOT_HERE.at(written, message, hint)


def _missing_program(node: MappingNode, path: str) -> Diagnostic | None:
    """What `interpreter` names, or else the first line of the script."""
    named, script = node.get("interpreter"), node.get("script")
    place, text = (named, _text(named)) if named is not None else (script, _shebang(_text(script)))
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if place is None or not words or "{" in words[0] or shutil.which(words[0], path=path) is not None:
        return None
    hint = "install it, or name another one; a bare name is looked for on PATH"
    return INTERPRETER_NOT_HERE.at(place, f'there is no interpreter "{words[0]}" on this machine', hint)


def _shebang(script: str) -> str:
    first = script.partition("\n")[0]
    return first[2:] if first.startswith("#!") else ""


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""
