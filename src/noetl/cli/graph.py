"""`noetl graph`: the net of a playbook as a drawing."""

import os
from collections.abc import Sequence

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, OK, Console, Stopped
from noetl.cli.files import Input, read_one
from noetl.cli.reports.text import render
from noetl.cli.writing import write_result
from noetl.playbook.compile import Compilation
from noetl.playbook.diagnostics import Severity
from noetl.playbook.drawing import dot, mermaid, svg

DRAWINGS = {"mermaid": mermaid, "dot": dot, "svg": svg}
ENDINGS = {".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}

COMMAND = Command(
    "graph",
    "Draws the steps of a playbook and the arcs between them. A playbook with errors is not drawn.",
    Operand("file", "a playbook, or - for standard input", Takes.FILE, required=True),
    (
        Option(
            "format",
            "the form (default: that of the file's ending, or mermaid)",
            takes=Takes.CHOICE,
            choices=tuple(DRAWINGS),
        ),
        Option("out", "write to this file instead of standard output", letter="O", takes=Takes.FILE),
    ),
    (
        "noetl graph daily.yaml",
        "noetl graph daily.yaml -O daily.svg",
        "noetl graph daily.yaml --format dot | dot -Tpng",
    ),
)


class Arguments(Shared, frozen=True, kw_only=True):
    file: str
    format: str | None = None
    out: str | None = None

    @property
    def drawing(self) -> str:
        ending = os.path.splitext(self.out or "")[1].lower()
        return self.format or ENDINGS.get(ending) or _of_no_ending(ending, self.out or "")


def _of_no_ending(ending: str, out: str) -> str:
    """Mermaid, but not in a file whose ending promises something else."""
    if not ending:
        return "mermaid"
    known = ", ".join(ENDINGS)
    raise Stopped(
        f'noetl graph: {out}: expected an ending of {known}, found "{ending}"; or name the form with --format'
    )


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    return graph(arguments, console) if arguments else OK


def graph(arguments: Arguments, console: Console) -> int:
    draw = DRAWINGS[arguments.drawing]
    given = read_one(arguments.file, console)
    compilation = Compiler().compiled(given.data, given.name)
    if compilation.playbook is None:
        _tell_errors(given, compilation, console)
        return INVALID
    drawn = draw(compilation.playbook)
    if arguments.out is None:
        console.data(drawn)
    else:
        write_result(arguments.out, drawn.encode())
    return OK


def _tell_errors(given: Input, compilation: Compilation, console: Console) -> None:
    paint = console.paint_talk()
    for found in compilation.diagnostics:
        if found.severity is Severity.ERROR:
            console.say(render(given.name, compilation.source.lines, found, paint))
    console.say("no drawing: first mend the errors above")
