"""Playbooks that a playbook calls by name, and whether what it hands them and takes from them fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.project import Project, project_of
from noetl.cli.workload import undeclared
from noetl.errors import TemplateError, closest
from noetl.expressions.template import is_template, parse
from noetl.playbook.compile import Compilation
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.document import Document
from noetl.playbook.model import Playbook, Task
from noetl.playbook.rules.needs import RIVAL_PLAYBOOKS, UNKNOWN_CALL_INPUT, UNKNOWN_RETURN_STEP
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Mapping as MappingNode
from noetl.playbook.source.nodes import Node

WORKLOAD = "workload"
SHOWN_MAX = 10
CALLS_MAX = 100
"""Calls of a playbook that are looked after."""


class Call(msgspec.Struct, frozen=True):
    """A task that calls a playbook by name, which may come from a template."""

    caller: Compilation
    task: Task
    path: str
    version: str | None

    @property
    def is_literal(self) -> bool:
        return self.task.fields.get("path") == self.path

    @property
    def node(self) -> MappingNode:
        assert self.caller.document is not None
        return self.caller.document.node(self.task)

    @property
    def place(self) -> Node:
        return self.node.get("path") or self.node


def calls_of(compilation: Compilation, workload: Mapping[str, object] | None = None) -> Iterator[Call]:
    """The calls whose playbook is known: by name, or by a template that reads nothing but a workload that is known."""
    if compilation.document is None:
        return
    for owner in owners(compilation.document):
        for task in owner.tool:
            path, version = (bound(task.fields.get(name), workload) for name in ("path", "version"))
            if task.kind == "playbook" and path is not None and _is_known(version, task.fields.get("version")):
                yield Call(compilation, task, path, version)


def _is_known(bound: str | None, written: object) -> bool:
    return bound is not None or written is None


def bound(written: object, workload: Mapping[str, object] | None) -> str | None:
    """A text as it is for this workload; None where it is not known."""
    if written is None or not is_template(str(written)):
        return None if written is None else str(written)
    template = parse(str(written))
    if workload is None or any(name.root != WORKLOAD for name in template.names):
        return None
    try:
        return str(template.evaluate({WORKLOAD: workload}))
    except TemplateError:
        return None


def misfits_beside(compilation: Compilation, file: str, compiler: Compiler) -> Iterator[Diagnostic]:
    """What can be told from the files beside a playbook; one that is not there may be elsewhere."""
    project = project_of(file, Path.cwd())
    children: dict[str, Compilation | None] = {}
    for call in islice(calls_of(compilation), CALLS_MAX):
        if call.version is None and call.path not in children:
            child = children[call.path] = project.find(call.path, compiler)
            yield from rivalry(call, child, project, compiler) if child is not None else ()
        found = children.get(call.path) if call.version is None else None
        yield from misfits(call, found) if found is not None else ()


def rivalry(call: Call, child: Compilation, project: Project, compiler: Compiler) -> Iterator[Diagnostic]:
    """Whether it is clear which playbook a call means."""
    rivals = project.rivals(child, call.path, compiler)
    if rivals:
        has = "has" if len(rivals) == 1 else "have"
        message = f'playbook "{call.path}" is taken from {child.source.name}; {listed(rivals)} {has} the same path'
        yield RIVAL_PLAYBOOKS.at(call.place, message, "give each playbook a `metadata.path` of its own")


def misfits(call: Call, child: Compilation) -> Iterator[Diagnostic]:
    """What a caller asks of a playbook and cannot get."""
    if child.document is not None and child.playbook is not None:
        yield from _returned(call, child.playbook, child.source.name)
        yield from _handed(call, child.document, child.source.name)


def _returned(call: Call, child: Playbook, file: str) -> Iterator[Diagnostic]:
    wanted, names = call.task.fields.get("return_step"), [step.name for step in child.workflow]
    if not isinstance(wanted, str) or "{" in wanted or wanted in names:
        return
    message = f'playbook "{call.path}" has no step "{wanted}" to return{meant(wanted, names)}'
    place = call.node.get("return_step") or call.node
    yield UNKNOWN_RETURN_STEP.at(place, message, f"the steps of {file} are: {listed(names)}")


def _handed(call: Call, child: Document, file: str) -> Iterator[Diagnostic]:
    """Inputs become the child's workload; what that neither declares nor reads goes nowhere."""
    workload = child.playbook.workload
    for key, known in undeclared(call.task.input, workload, workload_reads(child)):
        message = f'playbook "{call.path}" takes no input "{key}"{meant(key, known)}'
        hint = f"the workload of {file} has: {listed(known)}" if known else f"{file} reads nothing of its workload"
        inputs = call.node.get("input")
        place = inputs.key(key.partition(".")[0]) if isinstance(inputs, MappingNode) else None
        yield UNKNOWN_CALL_INPUT.at(place or call.node, message, hint)


def workload_reads(document: Document) -> set[tuple[str, ...]]:
    """What templates read of the workload: a path of keys each, the empty one where they read it whole."""
    return {
        tuple(segment.name for segment in name.segments)
        for use in document.notes.templates
        for name in use.template.names
        if name.root == WORKLOAD
    }


def meant(wrong: str, known: Sequence[str]) -> str:
    near = closest(wrong, known)
    return f'; did you mean "{near}"?' if near is not None else ""


def listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_MAX
    return ", ".join(names[:SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
