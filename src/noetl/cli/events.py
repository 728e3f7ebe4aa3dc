"""`noetl events`: the log of an execution, which explains everything else."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Followed, answer, output_option

COMMAND = Command(
    "events",
    "Prints the log of an execution.",
    EXECUTION,
    (
        Option("follow", "go on as the log grows, until the execution has ended", letter="f"),
        output_option("text", "jsonl"),
    ),
    ("noetl events @latest", "noetl events 0193f2c4 -f -o jsonl"),
)


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Followed, words, console, lambda: import_module("noetl.cli.inspecting.log").show_events)
