"""Playbooks checked one after the other, and what came of all of them."""

from collections.abc import Iterable, Iterator

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, OK, USAGE, Console
from noetl.cli.files import STDIN, Input, Inputs
from noetl.playbook.compile import Compilation
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.source.lines import Lines

CODE, CALL = b"python", b"playbook"
"""Kinds of tasks, in the letters that the grammar wants."""
PROGRESS_FILES = 50  # about a second's work at most


class Checked(msgspec.Struct, frozen=True):
    """A file and all that was found in it."""

    name: str
    lines: Lines
    diagnostics: tuple[Diagnostic, ...]


class Tally(msgspec.Struct):
    """How much was found so far."""

    files: int = 0
    errors: int = 0
    warnings: int = 0
    infos: int = 0

    def add(self, checked: Checked) -> None:
        severities = [found.severity for found in checked.diagnostics]
        self.files += 1
        self.errors += severities.count(Severity.ERROR)
        self.warnings += severities.count(Severity.WARNING)
        self.infos += severities.count(Severity.INFO)


def check_all(inputs: Iterable[Input], tally: Tally, console: Console, *, strict: bool) -> Iterator[Checked]:
    compiler = Compiler()
    for given in inputs:
        checked = check(given, compiler, strict=strict)
        tally.add(checked)
        yield checked
        if tally.files % PROGRESS_FILES == 0:
            console.progress(f"{tally.files:,} files checked …")


def check(given: Input, compiler: Compiler, *, strict: bool = False) -> Checked:
    compilation = compiler.compiled(given.data, given.name)
    found = compilation.diagnostics
    if compilation.playbook is not None:
        found = tuple(sorted((*found, *_beyond(compilation, given, compiler)), key=lambda each: each.span))
    return Checked(given.name, compilation.source.lines, _hardened(found) if strict else found)


def _beyond(compilation: Compilation, given: Input, compiler: Compiler) -> Iterator[Diagnostic]:
    """What takes more than the file: a look at its Python code and at the playbooks that it calls.

    Few files have any, and so only they wait for what has to be imported.
    """
    if CODE in given.data and compilation.document is not None:
        from noetl.cli.code import unreadable_code  # noqa: PLC0415

        yield from unreadable_code(compilation.document)
    if CALL in given.data:
        from noetl.cli.calling import misfits_beside  # noqa: PLC0415

        yield from misfits_beside(compilation, given.path or STDIN, compiler)


def _hardened(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(
        msgspec.structs.replace(found, severity=Severity.ERROR) if found.severity is Severity.WARNING else found
        for found in diagnostics
    )


def exit_code(inputs: Inputs, tally: Tally) -> int:
    """What could not be read weighs more than a mistake: the answer is not complete."""
    return USAGE if inputs.failed else INVALID if tally.errors else OK
