"""`noetl fix`: the automatic fixes that diagnostics carry, applied to the text."""

from collections.abc import Sequence
from functools import partial

from noetl.cli.arguments import Command, Operand, Takes, read_arguments
from noetl.cli.compiling import Compiler
from noetl.cli.console import OK, Console
from noetl.cli.rewriting import OPTIONS, Arguments, Rewriting, Rewritten, Words
from noetl.playbook.diagnostics import Severity
from noetl.playbook.fixes import apply_fixes

COMMAND = Command(
    "fix",
    "Applies the automatic fixes. Prints the result; files are changed with --write only.",
    Operand("files", "files, folders, or - for standard input", Takes.FILE, required=True, many=True),
    OPTIONS,
    ("noetl fix daily.yaml --diff", "noetl fix playbooks/ --write", "noetl fix - < daily.yaml > better.yaml"),
)
WORDS = Words("fix", "fixed", "problem", "left")


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    return Rewriting(WORDS, partial(fix, compiler=Compiler()), arguments, console).run()


def fix(text: str, compiler: Compiler) -> Rewritten:
    fixed = apply_fixes(text)
    if compiler.may_miss_packages((*fixed.applied, *fixed.left)):
        fixed = apply_fixes(text, compiler.installed.vocabulary)
    is_sound = all(found.severity is not Severity.ERROR for found in fixed.left)
    return Rewritten(fixed.text, len(fixed.applied), fixed.left, place=fixed.text, is_done=is_sound)
