"""Completion for bash. Where no words are known the shell offers files."""

from collections.abc import Iterator, Sequence

from noetl.cli.arguments import Command, Takes
from noetl.cli.shells.spoken import Commands, known_words


def script(commands: Commands) -> Iterator[str]:
    verbs = " ".join(command.name for _, command in commands)
    yield "_noetl() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"'
    yield "  COMPREPLY=()"
    yield f'  if [ "$COMP_CWORD" -eq 1 ]; then {_reply(verbs + " help --help --version")}; return; fi'
    yield '  case "$verb:$before" in'
    yield f"    help:*) {_reply(verbs)}; return ;;"
    yield from (line for _, command in commands for line in _option_values(command))
    yield "  esac"
    yield '  case "$verb" in'
    yield from (line for _, command in commands for line in _words_of(command))
    yield "  esac"
    yield "}"
    yield "complete -o default -F _noetl noetl"


def _option_values(command: Command) -> Iterator[str]:
    for option in command.all_options:
        if option.takes is not Takes.NOTHING:
            patterns = "|".join(f"{command.name}:{spelling}" for spelling in option.spellings)
            yield f"    {patterns}) {_offered(option.takes, option.choices)}; return ;;"


def _words_of(command: Command) -> Iterator[str]:
    spellings = " ".join(spelling for option in command.all_options for spelling in option.spellings)
    operand = command.operand
    others = _offered(operand.takes, operand.choices) if operand is not None else ":"
    yield f'    {command.name}) if [[ "$word" == -* ]]; then {_reply(spellings)}; else {others}; fi ;;'


def _offered(takes: Takes, choices: Sequence[str]) -> str:
    words = known_words(takes, choices)
    return _reply(words) if words else ":"


def _reply(words: str) -> str:
    return f'COMPREPLY=($(compgen -W "{words}" -- "$word"))'
