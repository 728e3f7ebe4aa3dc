"""`noetl cancel`: ends an execution, wherever it runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

COMMAND = Command(
    "cancel",
    "Cancels an execution and those below it; what runs is stopped.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (Option("reason", "why, for the log", takes=Takes.TEXT, value="TEXT"),),
    ("noetl cancel 0193f2c4", 'noetl cancel @latest --reason "wrong input"'),
)


class Arguments(Shared, frozen=True, kw_only=True):
    id: str
    reason: str = ""


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    cancel = import_module("noetl.cli.inspecting.cancelling").cancel
    code: int = asyncio.run(cancel(arguments, console, Path.cwd(), dict(os.environ)))
    return code
