"""`noetl init`: a small project that works, for a person to change. It never overwrites a file."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console, Stopped
from noetl.cli.files import reason
from noetl.cli.reports.json import printed
from noetl.playbook.schema import json_schema

# Where a file goes, and its name among the templates; names that no tool takes for its own.
SHARED_FILES = {
    "README.md": "README.md",
    ".gitignore": "gitignore.txt",
    ".vscode/settings.json": "vscode.json",
}
# The first file of each is the playbook to begin with.
TEMPLATES = {
    "etl": {
        "playbooks/daily_load.yaml": "etl/daily_load.yaml",
        "data/orders.csv": "etl/orders.csv",
    },
    "api": {
        "playbooks/sync_orders.yaml": "api/sync_orders.yaml",
        "playbooks/shop.py": "api/shop.txt",
        "secrets/shop_token.txt": "api/shop_token.txt",
    },
    "loop": {
        "playbooks/all_cities.yaml": "loop/all_cities.yaml",
        "playbooks/one_city.yaml": "loop/one_city.yaml",
        "data/weather.json": "loop/weather.json",
    },
}
SECRETS = "secrets/"
SCHEMA_FILE = "noetl.schema.json"
PROJECT, PLAYBOOK, TRY = "PROJECT", "PLAYBOOK", "TRY\n"
"""What stands in a template for the project's name, for the first playbook, and for what to try with it."""

COMMAND = Command(
    "init",
    "Starts a project: a playbook to change, a README, and the schema for editors. Never overwrites a file.",
    Operand("folder", "where to put it (default: the current folder)", Takes.FOLDER),
    (
        Option(
            "template",
            "what to begin with",
            letter="t",
            takes=Takes.CHOICE,
            choices=tuple(TEMPLATES),
            default="etl",
        ),
    ),
    ("noetl init demo", "noetl init demo --template loop"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    folder: str = "."
    template: str = "etl"


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    return init(arguments, console) if arguments else OK


def init(arguments: Arguments, console: Console) -> int:
    folder = arguments.folder
    contents = project(project_name(os.path.abspath(folder)), arguments.template)
    _refuse_conflicts(folder, contents)
    try:
        _write(folder, contents)
    except OSError as error:
        raise Stopped(f"noetl init: cannot write {error.filename}: {reason(error)}") from None
    for path in contents:
        console.say(f"wrote {os.path.join(folder, path)}")
    console.say(f"\nnext: {_next(folder, arguments.template)}")
    return OK


def _next(folder: str, template: str) -> str:
    """The commands to type now."""
    run = f"noetl run {next(iter(TEMPLATES[template]))}"
    return run if os.path.samefile(folder, ".") else f"cd {shlex.quote(folder)} && {run}"


def project_name(folder: str) -> str:
    """The folder's name in the letters of a catalog path."""
    return re.sub(r"[^a-z0-9]+", "_", os.path.basename(folder).lower()).strip("_") or "demo"


def project(name: str, template: str) -> dict[str, str]:
    """Every file of a new project: its path, and what stands in it."""
    first = next(iter(TEMPLATES[template]))
    texts = {path: _stored(stored) for path, stored in (SHARED_FILES | TEMPLATES[template]).items()}
    texts["README.md"] = texts["README.md"].replace(TRY, _stored(f"{template}/TRY.md"))
    filled = {path: text.replace(PROJECT, name).replace(PLAYBOOK, first) for path, text in texts.items()}
    return filled | {SCHEMA_FILE: printed(json_schema())}


def _stored(name: str) -> str:
    return (files("noetl.cli") / "templates" / name).read_text(encoding="utf-8")


def _refuse_conflicts(folder: str, contents: Mapping[str, str]) -> None:
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise Stopped(f"noetl init: {folder} is a file; expected a folder")
    taken = [path for path in contents if os.path.lexists(os.path.join(folder, path))]
    if taken:
        listed = "\n".join(f"  {os.path.join(folder, path)}" for path in taken)
        raise Stopped(f"noetl init: nothing was written; these files are already there:\n{listed}")


def _write(folder: str, contents: Mapping[str, str]) -> None:
    for path, text in contents.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        opener = _private if path.startswith(SECRETS) else None
        with open(target, "x", encoding="utf-8", newline="\n", opener=opener) as file:
            file.write(text)


def _private(path: str, flags: int) -> int:
    """Opens a file that is for its owner alone."""
    return os.open(path, flags, 0o600)
