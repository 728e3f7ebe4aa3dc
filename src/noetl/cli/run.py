"""`noetl run`: a playbook in this process, on the project's own store, with nothing else installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console, Stopped
from noetl.cli.executing import carry_out, output_option
from noetl.cli.files import STDIN

SLOTS = Option("slots", "how many pipelines may run at once", takes=Takes.TEXT, value="N", default="16")
QUIET = Option("quiet", "print the result and nothing else", letter="q")
SLOTS_MAX = 1_000

COMMAND = Command(
    "run",
    "Runs a playbook here: no server, one command. The result goes to standard output, what happens to standard error.",
    Operand("file", "a playbook, or - for standard input", Takes.FILE),
    (
        Option(
            "set",
            "a value of the workload; A.B=VALUE reaches inside, KEY= is the empty text, KEY=null is null",
            takes=Takes.TEXT,
            many=True,
            value="KEY=VALUE",
        ),
        Option("payload", "the workload as JSON, @file, or - for standard input", takes=Takes.TEXT, value="JSON"),
        Option("resume", "go on with a run that was interrupted", takes=Takes.TEXT, value="ID"),
        Option("dry-run", "check and bind everything, show the net and the worst case, run nothing"),
        SLOTS,
        output_option("text", "json", what="how to print the result"),
        QUIET,
    ),
    (
        "noetl run daily.yaml",
        "noetl run daily.yaml --set region=eu --set limits.rows=100",
        "noetl run daily.yaml --payload @workload.json -o json",
        "noetl run --resume 0193f2c4",
    ),
)


class Arguments(Shared, frozen=True, kw_only=True):
    file: str = ""
    set: tuple[str, ...] = ()
    payload: str | None = None
    resume: str = ""
    dry_run: bool = False
    slots: str = SLOTS.default
    output: str = "text"
    quiet: bool = False


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    _check(arguments)
    if arguments.dry_run:
        return carry_out(arguments, console, import_module("noetl.cli.running.dry").dry_run)
    return carry_out(arguments, console, import_module("noetl.cli.running.local").run_local)


def _check(arguments: Arguments) -> None:
    if arguments.file and arguments.resume:
        told = f"found both {arguments.file} and --resume {arguments.resume}; a resumed run has its playbook already"
        raise Stopped(f"noetl run: {told}\n  = go on with it: noetl run --resume {arguments.resume}")
    if not arguments.file and not arguments.resume:
        raise Stopped("noetl run: expected a playbook to run, or --resume ID\n  = see: noetl run --help")
    if arguments.file == arguments.payload == STDIN:
        raise Stopped("noetl run: the playbook and the payload cannot both be -\n  = give one of them as a file")
    check_slots("run", arguments.slots)
    if arguments.resume and (arguments.set or arguments.payload is not None or arguments.dry_run):
        raise Stopped("noetl run: a run that is resumed keeps its workload; leave out --set, --payload and --dry-run")


def check_slots(verb: str, given: str) -> None:
    if not given.isdigit() or not 1 <= int(given) <= SLOTS_MAX:
        raise Stopped(f'noetl {verb}: --slots takes a whole number from 1 to {SLOTS_MAX}; found "{given}"')
