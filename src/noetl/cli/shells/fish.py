"""Completion for fish."""

from collections.abc import Iterator, Sequence

from noetl.cli.arguments import Option, Takes
from noetl.cli.shells.spoken import Commands, known_words, quoted


def script(commands: Commands) -> Iterator[str]:
    yield "complete -c noetl -f"
    for summary, command in commands:
        yield f"complete -c noetl -n __fish_use_subcommand -a {command.name} -d {quoted(summary)}"
        here = f"complete -c noetl -n '__fish_seen_subcommand_from {command.name}'"
        yield from (f"{here} {_option(option)}" for option in command.all_options)
        if command.operand is not None:
            yield f"{here} {_values(command.operand.takes, command.operand.choices)}"


def _option(option: Option) -> str:
    letter = f" -s {option.letter}" if option.letter else ""
    taken = "" if option.takes is Takes.NOTHING else f" -r {_values(option.takes, option.choices)}"
    return f"-l {option.name}{letter}{taken} -d {quoted(option.help)}"


def _values(takes: Takes, choices: Sequence[str]) -> str:
    if takes is Takes.FILE:
        return "-F"
    return "-a '(__fish_complete_directories)'" if takes is Takes.FOLDER else f"-f -a '{known_words(takes, choices)}'"
