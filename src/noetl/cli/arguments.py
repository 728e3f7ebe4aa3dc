"""The words after a verb, read against the verb's own data. The same data prints its help and its completion.

Not argparse: files and options may stand in any order, a misspelt word is answered with the right one, and
the result is a frozen record with types.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from noetl.cli.console import Console, Stopped
from noetl.errors import closest

T = TypeVar("T", bound="Shared")


class Takes(StrEnum):
    """What an option or operand is; shells complete it accordingly."""

    NOTHING = "nothing"
    CHOICE = "choice"
    FILE = "file"
    FOLDER = "folder"
    TEXT = "text"
    RULE = "rule"


class Option(msgspec.Struct, frozen=True):
    """`--name`, perhaps with a letter. The field of the record is the name with `-` as `_`.

    One that takes `many` may be given again and again. `value` is what help calls its value.
    """

    name: str
    help: str
    letter: str = ""
    takes: Takes = Takes.NOTHING
    choices: tuple[str, ...] = ()
    default: str = ""
    many: bool = False
    value: str = ""

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    @property
    def spellings(self) -> list[str]:
        return [f"-{self.letter}", f"--{self.name}"] if self.letter else [f"--{self.name}"]

    @property
    def value_name(self) -> str:
        return "|".join(self.choices) if self.choices else self.value or self.takes.upper()


class Operand(msgspec.Struct, frozen=True):
    """What stands without a dash: one word, or any number of them."""

    name: str
    help: str
    takes: Takes
    choices: tuple[str, ...] = ()
    required: bool = False
    many: bool = False

    @property
    def usage(self) -> str:
        shown = "|".join(self.choices) if self.choices else self.name.upper() + ("…" if self.many else "")
        return shown if self.required else f"[{shown}]"


class Command(msgspec.Struct, frozen=True):
    name: str
    about: str
    operand: Operand | None = None
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def all_options(self) -> tuple[Option, ...]:
        return self.options + SHARED


class Shared(msgspec.Struct, frozen=True):
    """The record of a verb's words; each verb adds its own fields."""

    color: str = "auto"


class HelpAsked(Exception):
    """The person wants to read about the verb instead."""


SHARED = (
    Option("color", "when to colour", takes=Takes.CHOICE, choices=("auto", "always", "never"), default="auto"),
    Option("debug", "show the traceback of a bug"),
    Option("help", "show this text", letter="h"),
)


def read_arguments(command: Command, words: Sequence[str], console: Console, record: type[T]) -> T | None:
    """The record, or None after the help was shown."""
    try:
        values = _Reading(command).read(words)
    except HelpAsked:
        console.data(help_text(command))
        return None
    arguments = msgspec.convert(values, record)
    console.choose_colour(arguments.color)
    return arguments


class _Reading:
    def __init__(self, command: Command) -> None:
        self.command = command
        self.options = {spelling: option for option in command.all_options for spelling in option.spellings}
        self.values: dict[str, str | bool | list[str]] = {}
        self.operands: list[str] = []

    def read(self, words: Sequence[str]) -> Mapping[str, object]:
        waiting = list(reversed(words))
        while waiting:
            word = waiting.pop()
            if word == "--":
                self.operands += reversed(waiting)
                break
            if word == "-" or not word.startswith("-"):
                self.operands.append(word)
            else:
                self._option(word, waiting)
        return self.values | self._operand_value()

    def _option(self, word: str, waiting: list[str]) -> None:
        name, value = self._parted(word)
        option = self.options.get(name)
        if option is None:
            raise self._stopped(f'unknown option "{name}"', closest(name, self.options))
        if option.name == "help":
            raise HelpAsked
        found = self._value(option, name, value, waiting)
        if option.many:
            earlier = self.values.get(option.field)
            self.values[option.field] = [*(earlier if isinstance(earlier, list) else ()), str(found)]
        else:
            self.values[option.field] = found

    def _parted(self, word: str) -> tuple[str, str | None]:
        """`--name=value` and `-nvalue` are two words in one."""
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            return name, value if equals else None
        return (word[:2], word[2:] or None) if word[:2] in self.options else (word, None)

    def _value(self, option: Option, name: str, value: str | None, waiting: list[str]) -> str | bool:
        if option.takes is Takes.NOTHING:
            if value is not None:
                raise self._stopped(f'option "{name}" takes no value, found "{value}"')
            return True
        if value is None and not waiting:
            raise self._stopped(f'option "{name}" needs a value: {option.value_name}')
        found = waiting.pop() if value is None else value
        return self._chosen(f'option "{name}"', option.choices, found)

    def _chosen(self, title: str, choices: tuple[str, ...], found: str) -> str:
        if choices and found not in choices:
            wrong = f'{title} is one of {", ".join(choices)}; found "{found}"'
            raise self._stopped(wrong, closest(found, choices))
        return found

    def _operand_value(self) -> dict[str, object]:
        operand = self.command.operand
        if operand is None or (len(self.operands) > 1 and not operand.many):
            surplus = self.operands[0 if operand is None else 1 :]
            if surplus:
                raise self._stopped(f'unexpected argument "{surplus[0]}"')
            return {}
        if not self.operands:
            if operand.required:
                raise self._stopped(f"expected {operand.usage}: {operand.help}")
            return {}
        if operand.many:
            return {operand.name: self.operands}
        return {operand.name: self._chosen(operand.name, operand.choices, self.operands[0])}

    def _stopped(self, message: str, near: str | None = None) -> Stopped:
        meant = f'; did you mean "{near}"?' if near else ""
        return Stopped(f"noetl {self.command.name}: {message}{meant}\n  = see: noetl {self.command.name} --help")


def help_text(command: Command) -> str:
    operand = f" {command.operand.usage}" if command.operand else ""
    parts = [f"usage: noetl {command.name}{operand} [OPTION…]", "", command.about, ""]
    if command.operand is not None:
        parts += [_row(command.operand.usage, command.operand.help), ""]
    parts += [_row(_spelled(option), _explained(option)) for option in command.all_options]
    if command.examples:
        parts += ["", "examples:", *(f"  {example}" for example in command.examples)]
    return "\n".join(parts) + "\n"


def _spelled(option: Option) -> str:
    spelled = ", ".join(option.spellings) if option.letter else f"    {option.spellings[0]}"
    return spelled if option.takes is Takes.NOTHING else f"{spelled} {option.value_name}"


def _explained(option: Option) -> str:
    return f"{option.help} (default: {option.default})" if option.default else option.help


def _row(left: str, right: str) -> str:
    return f"  {left:<30} {right}" if len(left) <= 30 else f"  {left}\n{'':33}{right}"
