"""What verbs about one execution have in common: how it is named, how they print, and how they begin."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console

EXECUTION = Operand("id", "an execution: its id, the beginning of it, or @latest", Takes.TEXT, required=True)

T = TypeVar("T", bound=Shared)

if TYPE_CHECKING:
    from pathlib import Path

    Does = Callable[[T, Console, Path, dict[str, str]], Coroutine[None, None, int]]


def output_option(*forms: str, what: str = "how to print") -> Option:
    """`-o`; the first form is the default."""
    return Option("output", what, letter="o", takes=Takes.CHOICE, choices=forms, default=forms[0])


class Printed(Shared, frozen=True, kw_only=True):
    id: str
    output: str = "text"


class Followed(Printed, frozen=True, kw_only=True):
    follow: bool = False


def answer(
    command: Command, record: type[T], words: Sequence[str], console: Console, find: Callable[[], Does[T]]
) -> int:
    """Reads the words, and carries out what is found for them: help and completion do without the runtime."""
    arguments = read_arguments(command, words, console, record)
    return OK if arguments is None else carry_out(arguments, console, find())


def carry_out(arguments: T, console: Console, does: Does[T]) -> int:
    import asyncio  # noqa: PLC0415 — it is slow to import, and `--help` does without it
    import os  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    return asyncio.run(does(arguments, console, Path.cwd(), dict(os.environ)))
