import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from noetl.cli.arguments import Command
from noetl.cli.verbs import VERBS
from tests.cli.invoke import noetl

COMMANDS: list[Command] = [import_module(module).COMMAND for _, _, module in VERBS]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_every_verb_and_every_option(shell: str) -> None:
    script = noetl("completion", shell).out
    assert [command.name for command in COMMANDS if command.name not in script] == []
    spelt = [option.name for command in COMMANDS for option in command.all_options]
    assert [name for name in spelt if name not in script] == []


def completed(*words: str, folder: Path) -> list[str]:
    """What bash offers for the last word, in the words of its own machinery."""
    script = f"""
      {noetl("completion", "bash").out}
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _noetl
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    command = ["bash", "--norc", "-c", script, "bash", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split()


def test_bash_completes_verbs(tmp_path: Path) -> None:
    assert completed("noetl", "va", folder=tmp_path) == ["validate"]
    assert completed("noetl", "help", "gr", folder=tmp_path) == ["graph"]


def test_bash_completes_options_and_their_values(tmp_path: Path) -> None:
    assert completed("noetl", "validate", "--st", folder=tmp_path) == ["--strict"]
    assert completed("noetl", "validate", "-o", "s", folder=tmp_path) == ["sarif"]
    assert completed("noetl", "init", "--template", "", folder=tmp_path) == ["etl", "api", "loop"]


def test_bash_completes_operands(tmp_path: Path) -> None:
    assert completed("noetl", "explain", "NOE20", folder=tmp_path)[0].startswith("NOE20")
    assert completed("noetl", "completion", "z", folder=tmp_path) == ["zsh"]


def test_bash_is_left_to_offer_files_itself(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    assert completed("noetl", "validate", "a", folder=tmp_path) == []
    assert "complete -o default -F _noetl noetl" in noetl("completion", "bash").out
