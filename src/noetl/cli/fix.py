"""`noetl fix`: the automatic fixes that diagnostics carry, applied to the text."""

from collections.abc import Sequence
from functools import partial

from noetl.cli.arguments import Command
from noetl.cli.compiling import Compiler
from noetl.cli.console import Console
from noetl.cli.rewriting import FILES, OPTIONS, Rewritten, Words, rewrite
from noetl.playbook.diagnostics import Severity
from noetl.playbook.fixes import apply_fixes

COMMAND = Command(
    "fix",
    "Applies the automatic fixes. Prints the result; files are changed with --write only.",
    FILES,
    OPTIONS,
    ("noetl fix daily.yaml --diff", "noetl fix playbooks/ --write", "noetl fix - < daily.yaml > better.yaml"),
)
WORDS = Words("fix", "fixed", "problem", "left")


def main(words: Sequence[str], console: Console) -> int:
    return rewrite(COMMAND, WORDS, partial(fix, compiler=Compiler()), words, console)


def fix(text: str, compiler: Compiler) -> Rewritten:
    fixed = apply_fixes(text)
    if compiler.may_miss_packages((*fixed.applied, *fixed.left)):
        fixed = apply_fixes(text, compiler.installed.vocabulary)
    is_sound = all(found.severity is not Severity.ERROR for found in fixed.left)
    return Rewritten(fixed.text, len(fixed.applied), fixed.left, place=fixed.text, is_done=is_sound)
