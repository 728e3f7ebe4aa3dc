"""`noetl events`: the log of an execution, which explains everything else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

COMMAND = Command(
    "events",
    "Prints the log of an execution.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (
        Option("follow", "go on as the log grows, until the execution has ended", letter="f"),
        Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "jsonl"), default="text"),
    ),
    ("noetl events @latest", "noetl events 0193f2c4 -f -o jsonl"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    id: str
    follow: bool = False
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    show_events = import_module("noetl.cli.inspecting.log").show_events
    code: int = asyncio.run(show_events(arguments, console, Path.cwd(), dict(os.environ)))
    return code
