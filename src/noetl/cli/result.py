"""`noetl result`: what an execution gave."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Printed, answer, output_option

COMMAND = Command(
    "result",
    "Prints the result of an execution that has ended.",
    EXECUTION,
    (output_option("text", "json"),),
    ("noetl result @latest", "noetl result 0193f2c4 -o json"),
)


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Printed, words, console, lambda: import_module("noetl.cli.inspecting.outcome").show_result)
