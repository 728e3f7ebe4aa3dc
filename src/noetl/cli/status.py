"""`noetl status`: where an execution stands, and what it waits for."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Printed, answer, output_option

COMMAND = Command(
    "status",
    "Shows where an execution stands: its steps, what it waits for; with -o json its ctx too.",
    EXECUTION,
    (output_option("text", "json"),),
    ("noetl status @latest", "noetl status 0193f2c4 -o json"),
)


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Printed, words, console, lambda: import_module("noetl.cli.inspecting.standing").show_status)
