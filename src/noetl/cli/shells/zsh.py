"""Completion for zsh."""

from collections.abc import Iterator, Sequence

from noetl.cli.arguments import Command, Option, Takes
from noetl.cli.shells.spoken import Commands, known_words, quoted


def script(commands: Commands) -> Iterator[str]:
    yield "#compdef noetl"
    yield "_noetl() {"
    yield "  local -a verbs"
    yield "  verbs=("
    yield from (f"    {quoted(f'{command.name}:{summary}')}" for summary, command in commands)
    yield "  )"
    yield "  if (( CURRENT == 2 )); then"
    yield "    _describe verb verbs"
    yield "    return"
    yield "  fi"
    yield "  local verb=$words[2]"
    yield "  shift words"
    yield "  (( CURRENT-- ))"
    yield "  case $verb in"
    yield "    help) _describe verb verbs ;;"
    for _, command in commands:
        yield f"    {command.name})"
        yield "      _arguments \\"
        yield from (f"        {quoted(spec)} \\" for spec in _specs(command))
        yield "        ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _noetl ]; then _noetl "$@"; else compdef _noetl noetl; fi'


def _specs(command: Command) -> Iterator[str]:
    for option in command.all_options:
        yield from (_option(option, spelling) for spelling in option.spellings)
    operand = command.operand
    if operand is not None:
        yield f"{'*' if operand.many else '1'}:{operand.name}:{_values(operand.takes, operand.choices)}"


def _option(option: Option, spelling: str) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "")
    if option.takes is Takes.NOTHING:
        return f"{spelling}[{text}]"
    equals = "=" if spelling.startswith("--") else ""
    return f"{spelling}{equals}[{text}]:{option.name}:{_values(option.takes, option.choices)}"


def _values(takes: Takes, choices: Sequence[str]) -> str:
    if takes is Takes.FILE:
        return "_files"
    if takes is Takes.TEXT:
        return ""
    return "_files -/" if takes is Takes.FOLDER else f"({known_words(takes, choices)})"
