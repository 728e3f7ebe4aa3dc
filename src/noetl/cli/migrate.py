"""`noetl migrate`: playbooks of older dialects in today's words, comments and layout kept."""

from collections.abc import Iterator, Sequence
from functools import partial

from noetl.cli.arguments import Command
from noetl.cli.compiling import Compiler
from noetl.cli.console import Console
from noetl.cli.rewriting import FILES, OPTIONS, Rewritten, Words, rewrite
from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.migrate import migration
from noetl.playbook.rules import RULES

COMMAND = Command(
    "migrate",
    "Rewrites older dialects in today's words. Prints the result; files are changed with --write only.",
    FILES,
    OPTIONS,
    ("noetl migrate old.yaml --diff", "noetl migrate playbooks/ --write", "noetl migrate - < old.yaml > new.yaml"),
)
WORDS = Words("migrate", "migrated", "place", "could not be migrated")


def main(words: Sequence[str], console: Console) -> int:
    return rewrite(COMMAND, WORDS, partial(migrate, compiler=Compiler()), words, console)


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
