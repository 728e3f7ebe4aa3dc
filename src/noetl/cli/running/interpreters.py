"""Interpreters, virtual environments and files with code that tasks name, and that are not on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import msgspec

from noetl.cli.code import named_python
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Block, Step, Task
from noetl.playbook.rules.needs import FILE_NOT_HERE, INTERPRETER_NOT_HERE
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Mapping as MappingNode
from noetl.playbook.source.nodes import Node, Scalar
from noetl.tools.python.interpreter import OLDEST, find_interpreter, shown, version_by_name

MAKES_NOTHING = frozenset({"noop", "http", "resolve", "workbook"})
"""Kinds whose tasks leave no interpreter and no file behind."""

RUNS_FILES = frozenset({"python", "script"})


def missing_interpreters(document: Document, file: str, environment: Mapping[str, str]) -> Iterator[Diagnostic]:
    """As errors; where another task might make what is missing, as warnings."""
    tasks = [(owner, task) for owner in owners(document) for task in owner.tool]
    path, folder = environment.get("PATH", os.defpath), Path(file).parent
    found = {id(task): list(_missing(document, owner, task, folder, path)) for owner, task in tasks}
    makers = [task for _, task in tasks if not found[id(task)] and task.kind not in MAKES_NOTHING]
    severity = Severity.WARNING if makers else Severity.ERROR
    for each in chain.from_iterable(found.values()):
        yield msgspec.structs.replace(each, severity=severity)


def _missing(document: Document, owner: Step | Block, task: Task, folder: Path, path: str) -> Iterator[Diagnostic]:
    node = document.node(task)
    if task.kind in RUNS_FILES:
        yield from _missing_file(node.get("file"), folder)
    if task.kind == "python":
        yield from _missing_python(named_python(document, owner, task), folder, path)
    if task.kind == "script":
        yield from _missing_program(node, path)


def _missing_file(written: Node | None, folder: Path) -> Iterator[Diagnostic]:
    name = _text(written)
    if written is not None and name and not (folder / name).exists():
        hint = f"a file is looked for beside the playbook, in {folder.absolute()}"
        yield FILE_NOT_HERE.at(written, f'there is no file "{name}"', hint)


def _missing_python(written: Scalar | None, folder: Path, path: str) -> Iterator[Diagnostic]:
    if written is None:
        return
    found = find_interpreter(written.text, folder, path)
    if found is not None:
        yield from _too_old(written, found)
        return
    message = f'there is no interpreter and no virtual environment "{written.text}"'
    looked = f"looked beside the playbook, in {folder.absolute()}" + ("" if os.sep in written.text else ", and on PATH")
    hint = f"{looked}\nmake it: python -m venv {written.text}; or name one that is there"
    yield INTERPRETER_NOT_HERE.at(written, message, hint)


def _too_old(written: Scalar, found: str) -> Iterator[Diagnostic]:
    version = version_by_name(found)
    if version is not None and version < OLDEST:
        message = f'"{written.text}" is Python {shown(version)}, and a python task needs {shown(OLDEST)} or newer'
        yield INTERPRETER_NOT_HERE.at(written, message, f"found as {found}; name a newer one")


def _missing_program(node: MappingNode, path: str) -> Iterator[Diagnostic]:
    """What `interpreter` names, or else the first line of the script."""
    named, script = node.get("interpreter"), node.get("script")
    place, text = (named, _text(named)) if named is not None else (script, _shebang(_text(script)))
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if place is None or not words or "{" in words[0] or shutil.which(words[0], path=path) is not None:
        return
    hint = "install it, or name another one; a bare name is looked for on PATH"
    yield INTERPRETER_NOT_HERE.at(place, f'there is no interpreter "{words[0]}" on this machine', hint)


def _shebang(script: str) -> str:
    first = script.partition("\n")[0]
    return first[2:] if first.startswith("#!") else ""


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""
