"""What verbs about one execution have in common: how it is named, how they print, and how they begin."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TypeVar

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

EXECUTION = Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True)

T = TypeVar("T", bound=Shared)


def output_option(*forms: str, what: str = "how to print") -> Option:
    """`-o`; the first form is the default."""
    return Option("output", what, letter="o", takes=Takes.CHOICE, choices=forms, default=forms[0])


class Printed(Shared, frozen=True, kw_only=True):
    id: str
    output: str = "text"


class Followed(Printed, frozen=True, kw_only=True):
    follow: bool = False


def answer(command: Command, record: type[T], words: Sequence[str], console: Console, does: str) -> int:
    """Reads the words, and lets the coroutine that `does` names as `module:function` answer them."""
    arguments = read_arguments(command, words, console, record)
    return OK if arguments is None else carry_out(arguments, console, does)


def carry_out(arguments: Shared, console: Console, does: str) -> int:
    """The runtime is imported when something is to be done: help and completion do without it."""
    import asyncio  # noqa: PLC0415
    import os  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    module, _, function = does.partition(":")
    doing = getattr(import_module(f"noetl.cli.{module}"), function)
    code: int = asyncio.run(doing(arguments, console, Path.cwd(), dict(os.environ)))
    return code
