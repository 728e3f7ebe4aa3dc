"""Completion for zsh."""

from collections.abc import Iterator, Sequence

from noetl.cli.arguments import Command, Takes
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
        yield from (f"        {quoted(spec)} \\" for spec in _zsh_specs(command))
        yield "        ;;"
    yield "  esac"
    yield "}"
    yield "compdef _noetl noetl"


def _zsh_specs(command: Command) -> Iterator[str]:
    for option in command.all_options:
        for spelling in option.spellings:
            text = option.help.replace("[", "(").replace("]", ")").replace(":", "")
            taken = (
                "" if option.takes is Takes.NOTHING else f":{option.name}:{_zsh_values(option.takes, option.choices)}"
            )
            yield f"{spelling}[{text}]{taken}"
    operand = command.operand
    if operand is not None:
        yield f"{'*' if operand.many else '1'}:{operand.name}:{_zsh_values(operand.takes, operand.choices)}"


def _zsh_values(takes: Takes, choices: Sequence[str]) -> str:
    if takes is Takes.FILE:
        return "_files"
    return "_files -/" if takes is Takes.FOLDER else f"({known_words(takes, choices)})"
