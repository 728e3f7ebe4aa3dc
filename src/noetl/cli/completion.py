"""`noetl completion`: a shell's completion script, made from the data that the verbs themselves are read with."""

from collections.abc import Sequence
from importlib import import_module

from noetl.cli.arguments import Command, Operand, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console
from noetl.cli.shells import bash, fish, zsh
from noetl.cli.verbs import VERBS

SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}

COMMAND = Command(
    "completion",
    "Prints the completion script of a shell.",
    Operand("shell", "your shell", Takes.CHOICE, choices=tuple(SHELLS), required=True),
    examples=(
        'eval "$(noetl completion bash)"       # in ~/.bashrc',
        'eval "$(noetl completion zsh)"        # in ~/.zshrc, after compinit',
        "noetl completion fish | source        # in config.fish",
    ),
)


class Arguments(Shared, frozen=True, kw_only=True):
    shell: str


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is not None:
        console.data("".join(f"{line}\n" for line in SHELLS[arguments.shell](_commands())))
    return OK


def _commands() -> list[tuple[str, Command]]:
    return [(summary, import_module(module).COMMAND) for _, summary, module in VERBS]
