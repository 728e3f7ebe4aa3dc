"""What a playbook needs of this machine, asked before anything starts: tools, credentials, playbooks, interpreters.

What is missing is told like a mistake, at its place in the file, though the playbook is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from shlex import quote

import msgspec

from noetl.cli.calling import Call, calls_of, misfits, rivalry
from noetl.cli.code import unreadable_code
from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, Console, Stopped
from noetl.cli.embedded import DATABASE_NAME, opened
from noetl.cli.home import HOME_NAME
from noetl.cli.project import Project
from noetl.cli.reports import text
from noetl.cli.running.beginning import Beginning, beginning
from noetl.cli.running.doomed import doomed
from noetl.cli.running.interpreters import missing_interpreters
from noetl.cli.running.values import unbound, unread
from noetl.cli.workload import refuse_elements
from noetl.engine.binding import Places
from noetl.engine.layering import merge
from noetl.engine.program import Program
from noetl.errors import closest
from noetl.expressions.template import is_template
from noetl.playbook.compile import Compilation
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.kinds import KINDS
from noetl.playbook.model import KeychainEntry
from noetl.playbook.rules.needs import (
    CREDENTIAL_EXPOSED,
    CREDENTIAL_NOT_HERE,
    FILE_NOT_HERE,
    INTERPRETER_NOT_HERE,
    KIND_NOT_HERE,
    PLAYBOOK_NOT_HERE,
)
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Node
from noetl.ports import Unavailable
from noetl.storage.keychain import LocalKeychain
from noetl.tools import BUILT_IN

RUNNABLE = frozenset({*BUILT_IN, "playbook", "workbook"})
NOT_HERE = frozenset(kind.name for kind in KINDS) - RUNNABLE
LACKED = frozenset(
    rule.code for rule in (KIND_NOT_HERE, CREDENTIAL_NOT_HERE, PLAYBOOK_NOT_HERE, INTERPRETER_NOT_HERE, FILE_NOT_HERE)
)
LOCAL_CREDENTIALS = ("env", "file")
PLAYBOOKS_MAX = 100
"""Playbooks that are looked at, the one that is to run included."""
FURTHER_UP = f"to look further up, mark the folder of the project: mkdir FOLDER/{HOME_NAME}"


class Unmet(msgspec.Struct, frozen=True):
    """Something that is missing, and the file that asks for it. `is_recorded`: the run is to be recorded as failed."""

    compilation: Compilation
    diagnostic: Diagnostic
    is_recorded: bool = False

    @property
    def is_error(self) -> bool:
        return self.diagnostic.severity is Severity.ERROR

    @property
    def is_grave(self) -> bool:
        return self.is_error and not self.is_recorded


class Needs:
    """`home` is where the project keeps the playbooks that ran."""

    def __init__(self, compiler: Compiler, project: Project, environment: Mapping[str, str], home: Path) -> None:
        self._compiler = compiler
        self._project = project
        self._environment = environment
        self._home = home
        self._keychain = LocalKeychain(environment, project.locate)

    async def unmet(self, compilation: Compilation, workload: Mapping[str, object]) -> list[Unmet]:
        """All that is missing for a playbook and for those that it calls by name."""
        playbook = _document(compilation).playbook
        refuse_elements(workload, playbook.workload)
        merged = merge(playbook.workload, workload)
        found = [
            *self._of_machine(compilation),
            *await self._credentials(compilation, merged, lambda _: Severity.ERROR),
        ]
        begun = cache(partial(self._begun, compilation, workload))
        children: dict[str, Compilation | None] = {playbook.metadata.path: compilation}
        pending = [compilation]
        while pending:
            caller = pending.pop()
            for call in calls_of(caller, merged if caller is compilation else None):
                if call.path not in children and len(children) < PLAYBOOKS_MAX:
                    child = self._project.find(call.path, self._compiler) if call.version is None else None
                    children[call.path] = child
                    needs = await self._of_call(call, child, begun)
                    found += needs if call.is_literal else map(_softened, needs)
                    pending += [child] if child is not None and child.playbook is not None else []
                found += _misfits(call, children.get(call.path))
        return found

    def of_values(self, compilation: Compilation, given: Mapping[str, object]) -> list[Unmet]:
        """What cannot be bound though all values are known. A run that begins with it is recorded as failed."""
        document = _document(compilation)
        workload = merge(document.playbook.workload, given)
        begun = self._begun(compilation, given)
        lost = [first.task for first in begun.tasks.values() if "exception" in first.fatal]
        codes = () if self._environment.get("NOETL_PYTHON") else unreadable_code(document, lost)
        found = (*unbound(document, workload, begun), *doomed(document, begun), *codes)
        return [Unmet(compilation, each, is_recorded=True) for each in sorted(found, key=lambda each: each.span)]

    def _begun(self, compilation: Compilation, given: Mapping[str, object]) -> Beginning:
        playbook = _document(compilation).playbook
        places = Places(compilation.source.name, compilation.source_map())
        return beginning(Program(playbook, places, kinds=self._compiler.installed.kinds_of(playbook)), given)

    async def _of_call(self, call: Call, child: Compilation | None, begun: Callable[[], Beginning]) -> list[Unmet]:
        if child is None:
            return [] if await self._is_registered(call.path, call.version) else [self._absent(call)]
        if child.playbook is None:
            return list(_invalid(call, child))
        rivals = [Unmet(call.caller, found) for found in rivalry(call, child, self._project, self._compiler)]
        # Which workload a child gets is not known yet, and it may never be called.
        workload, gravity = child.playbook.workload, partial(_gravity_below, call, begun)
        return [*rivals, *self._of_machine(child), *await self._credentials(child, workload, gravity)]

    async def _is_registered(self, path: str, version: str | None) -> bool:
        if not (self._home / DATABASE_NAME).exists():
            return False
        async with opened(self._home, self._project.here, self._compiler, to_read=True) as local:
            return await local.catalog.by_path(path, version) is not None

    def _of_machine(self, compilation: Compilation) -> list[Unmet]:
        document, file = _document(compilation), compilation.source.name
        programs = missing_interpreters(document, file, self._environment)
        stores = (*_stores(document), *_undeclared(document))
        missing = sorted((*_tools(document), *stores, *programs), key=lambda found: found.span)
        return [Unmet(compilation, found) for found in missing]

    async def _credentials(
        self, compilation: Compilation, workload: Mapping[str, object], gravity: Callable[[KeychainEntry], Severity]
    ) -> list[Unmet]:
        document, unmet = _document(compilation), []
        for entry in document.playbook.keychain:
            if entry.kind not in LOCAL_CREDENTIALS:
                continue
            try:
                await self._keychain.value(entry, workload)
            except Unavailable as missing:
                found = CREDENTIAL_NOT_HERE.at(
                    _place(document, entry), str(missing), _how_to_give(entry, self._project)
                )
                found = msgspec.structs.replace(found, severity=gravity(entry))
                unmet.append(Unmet(compilation, found, is_recorded=True))
            else:
                unmet += [Unmet(compilation, found) for found in self._exposure(document, entry, workload)]
        return unmet

    def _exposure(
        self, document: Document, entry: KeychainEntry, workload: Mapping[str, object]
    ) -> Iterator[Diagnostic]:
        path = self._keychain.exposed(entry, workload)
        if path is not None:
            here = self._project.here
            shown = str(path.relative_to(here) if path.is_relative_to(here) else path)
            message = f"{shown} holds a secret, and others than you can read or change it"
            hint = f"keep it to yourself: chmod 600 {quote(shown)}"
            yield CREDENTIAL_EXPOSED.at(_place(document, entry), message, hint)

    def _absent(self, call: Call) -> Unmet:
        if call.version is not None:
            message = f'playbook "{call.path}" has not run here in version {call.version}'
            hint = "leave out `version` to call the playbook as its file is now"
            return Unmet(call.caller, PLAYBOOK_NOT_HERE.at(call.place, message, hint))
        near = closest(call.path, self._project.paths(self._compiler))
        meant = f'; did you mean "{near}"?' if near is not None else ""
        message = f'there is no playbook "{call.path}" in the files of {self._project.folder}{meant}'
        hint = f"a playbook is found by its `metadata.path`, {self._project.searched}\n{FURTHER_UP}"
        return Unmet(call.caller, PLAYBOOK_NOT_HERE.at(call.place, message, hint))


def refuse_unmet(unmet: Sequence[Unmet], console: Console, *, quiet: bool = False) -> None:
    """Tells all that is missing, and ends the program where nothing can run without it."""
    errors = [each for each in unmet if each.is_error]
    for each in unmet:
        if not quiet or each.is_error:
            name, lines = each.compilation.source.name, each.compilation.source.lines
            console.say(text.render(name, lines, each.diagnostic, console.paint_talk()))
    if any(each.is_grave for each in errors):
        things = "1 thing is" if len(errors) == 1 else f"{len(errors)} things are"
        wrong = "" if all(each.diagnostic.code in LACKED for each in errors) else " or wrong"
        raise Stopped(f"noetl run: {things} missing{wrong}, see above; nothing was run", INVALID)


def tell_unread(compilation: Compilation, given: Mapping[str, object], console: Console) -> list[str]:
    """Values that nobody asked for, such as those of a misspelt key: what was told of each."""
    found = list(unread(_document(compilation), given))
    for message, hint in found:
        console.say(f"{console.paint_talk()('warning', 'warning')}: {message}\n  = {hint}")
    return [message for message, _ in found]


def _document(compilation: Compilation) -> Document:
    assert compilation.document is not None
    return compilation.document


def _tools(document: Document) -> Iterator[Diagnostic]:
    for owner in owners(document):
        for task in owner.tool:
            if task.kind in NOT_HERE:
                node = document.node(task)
                message = f'`noetl run` has no tool for the kind "{task.kind}" yet'
                hint = (
                    f"the playbook is valid, and cannot run here; kinds that can: {', '.join(sorted(RUNNABLE))}\n"
                    "do the work in a `python` or `script` task, or install a package that adds a kind"
                )
                yield KIND_NOT_HERE.at(node.get("kind") or node, message, hint)


def _stores(document: Document) -> Iterator[Diagnostic]:
    for entry in document.playbook.keychain:
        if entry.kind not in LOCAL_CREDENTIALS:
            node = document.node(entry)
            message = (
                f'the keychain entry "{entry.name}" is of kind "{entry.kind}", which needs a credential store, '
                "and `noetl run` has none yet; expected `env` or `file`"
            )
            variable = _variable(entry.name)
            hint = f"take it from the environment:\n  - name: {entry.name}\n    kind: env\n    var: {variable}"
            yield CREDENTIAL_NOT_HERE.at(node.get("kind") or node, message, hint)


def _undeclared(document: Document) -> Iterator[Diagnostic]:
    """What `auth` names and the keychain has not would be looked for in a credential store."""
    declared = {entry.name for entry in document.playbook.keychain}
    for owner in owners(document):
        for task in owner.tool:
            if task.auth is not None and "{" not in task.auth and task.auth not in declared:
                node = document.node(task)
                message = (
                    f'"{task.auth}" is not in the keychain, and `noetl run` has no credential store yet to ask for it'
                )
                entry = f"    - name: {task.auth}\n      kind: env\n      var: {_variable(task.auth)}"
                hint = f"declare it:\n  keychain:\n{entry}"
                yield CREDENTIAL_NOT_HERE.at(node.get("auth") or node, message, hint)


def _variable(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name).upper()


def _place(document: Document, entry: KeychainEntry) -> Node:
    node = document.node(entry)
    return node.get("var") or node.get("path") or node


def _how_to_give(entry: KeychainEntry, project: Project) -> str:
    if entry.kind == "env":
        return f"set it and run again: export {entry.fields.get('var')}=…"
    found = f"it is looked for {project.climbed}\n{FURTHER_UP}"
    return f"write the secret to that file, readable by you alone (chmod 600)\n{found}"


def _gravity_below(call: Call, begun: Callable[[], Beginning], entry: KeychainEntry) -> Severity:
    """A called playbook fails without its secrets, and the run with it, where it begins with that call."""
    if any(is_template(str(value)) for value in entry.fields.values()):
        return Severity.WARNING
    calls = [first.bound.fields for first in begun().tasks.values() if first.bound and "playbook_failed" in first.fatal]
    is_first = any((fields.get("path"), fields.get("version")) == (call.path, None) for fields in calls)
    return Severity.ERROR if is_first else Severity.WARNING


def _softened(unmet: Unmet) -> Unmet:
    """A call by a template may be one that these values are not meant to reach."""
    return msgspec.structs.replace(
        unmet, diagnostic=msgspec.structs.replace(unmet.diagnostic, severity=Severity.WARNING)
    )


def _misfits(call: Call, child: Compilation | None) -> list[Unmet]:
    if child is None or call.version is not None:
        return []
    return [Unmet(call.caller, found) for found in misfits(call, child)]


def _invalid(call: Call, child: Compilation) -> Iterator[Unmet]:
    """The errors of a child, and who calls it."""
    errors = [found for found in child.diagnostics if found.severity is Severity.ERROR]
    yield from (Unmet(child, found) for found in errors)
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    message = f'playbook "{call.path}" is in {child.source.name}, which has {count}, see above'
    yield Unmet(call.caller, PLAYBOOK_NOT_HERE.at(call.place, message, f"check it: noetl validate {child.source.name}"))
