"""`noetl logs`: what the tools of an execution printed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

COMMAND = Command(
    "logs",
    "Prints what the tools of an execution printed.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (
        Option("follow", "go on until the execution has ended", letter="f"),
        Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "jsonl"), default="text"),
    ),
    ("noetl logs @latest", "noetl logs 0193f2c4 -f"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    id: str
    follow: bool = False
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    show_logs = import_module("noetl.cli.inspecting.printed").show_logs
    code: int = asyncio.run(show_logs(arguments, console, Path.cwd(), dict(os.environ)))
    return code
