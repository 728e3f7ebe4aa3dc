"""A playbook that may run: compiled, or told with all its problems."""

from __future__ import annotations

from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, Console, Stopped
from noetl.cli.files import read_one
from noetl.cli.reports import text
from noetl.playbook.compile import Compilation
from noetl.playbook.diagnostics import Severity


def compiled(file: str, compiler: Compiler, console: Console) -> Compilation:
    given = read_one(file, console)
    compilation = compiler.compiled(given.data, given.name)
    errors = [found for found in compilation.diagnostics if found.severity is Severity.ERROR]
    if compilation.playbook is not None and not errors:
        return compilation
    for found in errors:
        console.say(text.render(given.name, compilation.source.lines, found, console.paint_talk()))
    count = f"{len(errors)} {'error' if len(errors) == 1 else 'errors'}"
    raise Stopped(f"noetl run: {count} in {given.name}; nothing was run", INVALID)
