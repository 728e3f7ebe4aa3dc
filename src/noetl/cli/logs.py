"""`noetl logs`: what the tools of an execution printed."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option
from noetl.cli.console import Console
from noetl.cli.executing import EXECUTION, Followed, answer, output_option

COMMAND = Command(
    "logs",
    "Prints what the tools of an execution printed, and those of the playbooks that it called.",
    EXECUTION,
    (
        Option("follow", "go on until the execution has ended", letter="f"),
        Option("only", "leave out the playbooks that it called"),
        output_option("text", "jsonl"),
    ),
    ("noetl logs @latest", "noetl logs 0193f2c4 -f"),
)


class Arguments(Followed, frozen=True, kw_only=True):
    only: bool = False


def main(words: Sequence[str], console: Console) -> int:
    return answer(COMMAND, Arguments, words, console, lambda: import_module("noetl.cli.inspecting.printed").show_logs)
