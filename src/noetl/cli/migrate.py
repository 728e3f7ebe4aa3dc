"""`noetl migrate`: playbooks of older dialects in today's words, comments and layout kept."""

from collections.abc import Sequence

from noetl.cli.arguments import Command, Operand, Takes, read_arguments
from noetl.cli.console import OK, Console
from noetl.cli.rewriting import OPTIONS, Arguments, Rewriting, Rewritten, Words
from noetl.playbook.migrate import migrate as migrate_text

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
    return Rewriting(WORDS, migrate, arguments, console).run() if arguments else OK


def migrate(text: str) -> Rewritten:
    migration = migrate_text(text)
    return Rewritten(migration.text, len(migration.applied), migration.refused)
