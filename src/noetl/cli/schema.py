"""`noetl schema`: the JSON Schema that lets an editor complete and check playbooks."""

from collections.abc import Sequence

from noetl.cli.arguments import Command, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console
from noetl.cli.reports.json import printed
from noetl.cli.writing import write_result
from noetl.playbook.schema import json_schema
from noetl.tools.plugin import Installed

COMMAND = Command(
    "schema",
    "Prints the JSON Schema of a playbook, for editors with the YAML language server. Kinds of packages are in it.",
    options=(
        Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("json",), default="json"),
        Option("out", "write to this file instead of standard output", letter="O", takes=Takes.FILE),
    ),
    examples=("noetl schema -O noetl.schema.json",),
)


class Arguments(Shared, frozen=True, kw_only=True):
    out: str | None = None


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    installed = Installed()
    for kind, reason in installed.unusable.items():
        console.say(f"noetl schema: the kind `{kind}` of a package is left out: {reason}")
    text = printed(json_schema(installed.vocabulary))
    if arguments.out is None:
        console.data(text)
    else:
        write_result(arguments.out, text.encode())
    return OK
