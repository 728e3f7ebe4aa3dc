"""Completion for bash."""

from collections.abc import Iterator, Sequence

from noetl.cli.arguments import Takes
from noetl.cli.shells.spoken import Commands, known_words


def script(commands: Commands) -> Iterator[str]:
    yield "_noetl() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    COMPREPLY=($(compgen -W "{_verbs(commands)} help --help --version" -- "$word"))'
    yield "    return"
    yield "  fi"
    yield '  case "$verb:$before" in'
    for _, command in commands:
        for option in command.all_options:
            if option.takes is not Takes.NOTHING:
                patterns = "|".join(f"{command.name}:{spelling}" for spelling in option.spellings)
                yield f"    {patterns}) {_bash_reply(option.takes, option.choices)}; return ;;"
    yield f"    help:*) {_bash_words(_verbs(commands))}; return ;;"
    yield "  esac"
    yield '  case "$verb" in'
    for _, command in commands:
        yield f"    {command.name})"
        spellings = " ".join(spelling for option in command.all_options for spelling in option.spellings)
        yield f'      if [[ "$word" == -* ]]; then {_bash_words(spellings)}'
        if command.operand is not None:
            yield f"      else {_bash_reply(command.operand.takes, command.operand.choices)}"
        yield "      fi ;;"
    yield "  esac"
    yield "}"
    yield "complete -o filenames -F _noetl noetl"


def _verbs(commands: Commands) -> str:
    return " ".join(command.name for _, command in commands)


def _bash_reply(takes: Takes, choices: Sequence[str]) -> str:
    if takes is Takes.FILE:
        return 'COMPREPLY=($(compgen -f -- "$word"))'
    if takes is Takes.FOLDER:
        return 'COMPREPLY=($(compgen -d -- "$word"))'
    return _bash_words(known_words(takes, choices))


def _bash_words(words: str) -> str:
    return f'COMPREPLY=($(compgen -W "{words}" -- "$word"))'
