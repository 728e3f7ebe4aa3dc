"""`noetl migrate`: playbooks of older dialects in today's words, comments and layout kept."""

from collections.abc import Iterator, Sequence
from functools import partial

from noetl.cli.arguments import Command, Operand, Takes, read_arguments
from noetl.cli.compiling import Compiler
from noetl.cli.console import OK, Console
from noetl.cli.rewriting import OPTIONS, Arguments, Rewriting, Rewritten, Words
from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.migrate import migration
from noetl.playbook.rules import RULES

COMMAND = Command(
    "migrate",
    "Rewrites older dialects in today's words. Prints the result; files are changed with --write only.",
    Operand("files", "files, folders, or - for standard input", Takes.FILE, required=True, many=True),
    OPTIONS,
    ("noetl migrate old.yaml --diff", "noetl migrate playbooks/ --write", "noetl migrate - < old.yaml > new.yaml"),
)
WORDS = Words("migrate", "migrated", "place", "could not be migrated")


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    return Rewriting(WORDS, partial(migrate, compiler=Compiler()), arguments, console).run()


def migrate(text: str, compiler: Compiler) -> Rewritten:
    migrated = migration.migrate(text)
    if compiler.may_miss_packages(compile_playbook(migrated.text, "").diagnostics):
        migrated = migration.migrate(text, compiler.installed.vocabulary)
    left = migrated.refused if migrated.changed else (*migrated.refused, *_unreadable(text))
    return Rewritten(migrated.text, len(migrated.applied), left, place=text, is_done=not left)


def _unreadable(text: str) -> Iterator[Diagnostic]:
    """What keeps the text from being read as YAML at all, so that nothing in it can be migrated."""
    about_source = {rule.code for rule in RULES if rule.problem is not None}
    return (found for found in compile_playbook(text, "").diagnostics if found.code in about_source)
