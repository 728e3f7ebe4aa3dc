"""`noetl cancel`: ends an execution, wherever it runs."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option, Takes
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Printed, answer, output_option

COMMAND = Command(
    "cancel",
    "Cancels an execution and those below it; what runs is stopped.",
    EXECUTION,
    (
        Option("reason", "why, for the log", takes=Takes.TEXT, value="TEXT"),
        Option("cascade", "cancel those below it too, which is always done"),
        output_option("text", "json"),
    ),
    ("noetl cancel 0193f2c4", 'noetl cancel @latest --reason "wrong input"'),
)


class Arguments(Printed, frozen=True, kw_only=True):
    reason: str = ""


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Arguments, words, console, lambda: import_module("noetl.cli.inspecting.cancelling").cancel)
