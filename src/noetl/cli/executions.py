"""`noetl executions`: what ran here, the last first."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Option, Shared, Takes
from noetl.cli.console import Console
from noetl.cli.executing import answer, output_option

COMMAND = Command(
    "executions",
    "Lists what ran in this project, the last first.",
    None,
    (
        Option("limit", "how many to list", letter="n", takes=Takes.TEXT, value="N", default="20"),
        Option(
            "status",
            "only those with this status",
            takes=Takes.CHOICE,
            choices=("running", "interrupted", "completed", "failed", "cancelled"),
        ),
        Option("children", "also those that others started, below them"),
        Option("of", "only those below this execution, failed ones first", takes=Takes.TEXT, value="ID"),
        output_option("text", "json"),
    ),
    ("noetl executions", "noetl executions --status failed -o json", "noetl executions --of @latest"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    limit: str = "20"
    status: str = ""
    children: bool = False
    of: str = ""
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    return answer(
        COMMAND, Arguments, words, console, lambda: import_module("noetl.cli.inspecting.listing").list_executions
    )
