"""`noetl result`: what an execution gave."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

COMMAND = Command(
    "result",
    "Prints the result of an execution that has ended.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "json"), default="text"),),
    ("noetl result @latest", "noetl result 0193f2c4 -o json"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    id: str
    output: str = "text"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    show_result = import_module("noetl.cli.inspecting.outcome").show_result
    code: int = asyncio.run(show_result(arguments, console, Path.cwd(), dict(os.environ)))
    return code
