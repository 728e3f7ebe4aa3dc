"""`noetl logs`: what the tools of an execution printed."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Followed, answer, output_option

COMMAND = Command(
    "logs",
    "Prints what the tools of an execution printed.",
    EXECUTION,
    (Option("follow", "go on until the execution has ended", letter="f"), output_option("text", "jsonl")),
    ("noetl logs @latest", "noetl logs 0193f2c4 -f"),
)


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Followed, words, console, lambda: import_module("noetl.cli.inspecting.printed").show_logs)
