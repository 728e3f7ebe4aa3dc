"""`noetl rerun`: an execution again, without what had succeeded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console
from noetl.cli.run import SLOTS, check_slots

COMMAND = Command(
    "rerun",
    "Runs an execution again as a new one. What had succeeded is kept and not run again.",
    Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True),
    (
        Option("from", "run this step and what follows from it", takes=Takes.TEXT, value="STEP"),
        Option("failed-iterations", "of a loop, run only the iterations that failed"),
        Option("set", "another value of the workload: KEY=VALUE", takes=Takes.TEXT, many=True, value="KEY=VALUE"),
        SLOTS,
        Option(
            "output",
            "how to print the result",
            letter="o",
            takes=Takes.CHOICE,
            choices=("text", "json"),
            default="text",
        ),
        Option("quiet", "print the result and nothing else", letter="q"),
    ),
    ("noetl rerun @latest", "noetl rerun 0193f2c4 --from load", "noetl rerun 0193f2c4 --failed-iterations"),
)


class Arguments(Shared, frozen=True, kw_only=True, rename={"from_": "from"}):
    id: str
    from_: str = ""
    failed_iterations: bool = False
    set: tuple[str, ...] = ()
    slots: str = SLOTS.default
    output: str = "text"
    quiet: bool = False


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    check_slots("rerun", arguments.slots)
    rerun_local = import_module("noetl.cli.running.local").rerun_local
    code: int = asyncio.run(rerun_local(arguments, console, Path.cwd(), dict(os.environ)))
    return code
