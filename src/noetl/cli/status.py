"""`noetl status`: where an execution stands, and what it waits for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

COMMAND = Command(
    "status",
    "Shows where an execution stands: its steps, its ctx, what it waits for.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "json"), default="text"),),
    ("noetl status @latest", "noetl status 0193f2c4 -o json"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    id: str
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    show_status = import_module("noetl.cli.inspecting.standing").show_status
    code: int = asyncio.run(show_status(arguments, console, Path.cwd(), dict(os.environ)))
    return code
