"""`noetl executions`: what ran here, the last first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console, Stopped

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
            choices=("running", "completed", "failed", "cancelled"),
        ),
        Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "json"), default="text"),
    ),
    ("noetl executions", "noetl executions --status failed -o json"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    limit: str = "20"
    status: str = ""
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    if not arguments.limit.isdigit() or arguments.limit == "0":
        raise Stopped(f'noetl executions: --limit takes a whole number above 0; found "{arguments.limit}"')
    listing = import_module("noetl.cli.inspecting.listing").list_executions
    asyncio.run(listing(arguments, console, Path.cwd(), dict(os.environ)))
    return OK
