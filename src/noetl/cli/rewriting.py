"""What `fix` and `migrate` share: texts rewritten, shown, compared or written back. The engines are elsewhere.

Nothing is written without `--write`. What an engine does not touch stays to the byte, line ends and byte order
mark included.
"""

from collections.abc import Callable, Sequence

import msgspec

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.checking import check
from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, OK, USAGE, Console, Stopped
from noetl.cli.diff import diff
from noetl.cli.files import Input, Inputs
from noetl.cli.reports.summary import counted
from noetl.cli.reports.text import render
from noetl.cli.writing import replace_file
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.source.lines import Lines

FILES = Operand("files", "files, folders, or - for standard input", Takes.FILE, required=True, many=True)
OPTIONS = (
    Option("diff", "show what would change, as a unified diff"),
    Option("write", "change the files"),
    Option("check", "change nothing; leave with 3 if something would change"),
    Option("quiet", "no summary", letter="q"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    files: tuple[str, ...]
    diff: bool = False
    write: bool = False
    check: bool = False
    quiet: bool = False

    @property
    def prints_result(self) -> bool:
        return not (self.diff or self.write or self.check)


class Rewritten(msgspec.Struct, frozen=True):
    """`changes` is how many places were rewritten; `left` is what could not be, and why.

    `place` is the text in which the places of `left` lie. `is_done`: nothing is left that the verb is there for.
    """

    text: str
    changes: int
    left: Sequence[Diagnostic]
    place: str
    is_done: bool


class Words(msgspec.Struct, frozen=True):
    """How a verb speaks of its work."""

    verb: str
    done: str
    place: str
    left: str


Engine = Callable[[str], Rewritten]


def rewrite(command: Command, words: Words, engine: Engine, given: Sequence[str], console: Console) -> int:
    """The whole of a verb that rewrites, from what a person wrote behind it to its exit code."""
    arguments = read_arguments(command, given, console, Arguments)
    if arguments is None:
        return OK
    return Rewriting(words, engine, arguments, console).run()


class Rewriting:
    """One run over the files. Counts what happened for the summary and the exit code."""

    def __init__(self, words: Words, engine: Engine, arguments: Arguments, console: Console) -> None:
        self.words = words
        self.engine = engine
        self.arguments = arguments
        self.console = console
        self.files = 0
        self.changed = 0
        self.changes = 0
        self.left = 0
        self.is_done = True

    def run(self) -> int:
        inputs = Inputs(self.arguments.files, self.console, quiet=self.arguments.quiet, skips_links=True)
        given = list(inputs)
        self._refuse_what_makes_no_sense(given)
        for one in given:
            self._rewrite(one)
        if self.files and not self.arguments.quiet:
            self.console.say(self._summary())
        return USAGE if inputs.failed else self._exit_code()

    def _exit_code(self) -> int:
        would_change = self.arguments.check and self.changed
        return INVALID if would_change or not self.is_done else OK

    def _refuse_what_makes_no_sense(self, given: Sequence[Input]) -> None:
        arguments, verb = self.arguments, self.words.verb
        if arguments.check and arguments.write:
            raise Stopped(f"noetl {verb}: --check changes nothing, --write does; say one of them")
        if arguments.write and any(one.path is None for one in given):
            raise Stopped(f"noetl {verb}: standard input cannot be written to; leave out --write")
        if arguments.prints_result and len(given) > 1:
            raise Stopped(f"noetl {verb}: {len(given)} files; say --diff to see the changes or --write to make them")

    def _rewrite(self, given: Input) -> None:
        self.files += 1
        text = self._text(given)
        if text is None:
            return
        rewritten = self.engine(text)
        self.is_done &= rewritten.is_done
        self._tell_left(given.name, Lines(rewritten.place), rewritten.left)
        self._put(given, text, rewritten)

    def _text(self, given: Input) -> str | None:
        """The text without any translation, or None where it cannot be read as text at all."""
        try:
            return given.data.decode("utf-8")
        except UnicodeDecodeError:
            checked = check(given, Compiler())
            self.is_done = False
            self._tell_left(given.name, checked.lines, checked.diagnostics)
            return None

    def _tell_left(self, name: str, lines: Lines, diagnostics: Sequence[Diagnostic]) -> None:
        paint = self.console.paint_talk()
        self.left += len(diagnostics)
        for found in diagnostics:
            self.console.say(render(name, lines, found, paint))

    def _put(self, given: Input, before: str, rewritten: Rewritten) -> None:
        after = rewritten.text
        if self.arguments.prints_result:
            self.console.data_bytes(after.encode("utf-8"))
        if before == after:
            return
        self.changed += 1
        self.changes += rewritten.changes
        if self.arguments.diff:
            self.console.data_bytes(diff(given.name, before, after, self.console.paint_data()).encode("utf-8"))
        if self.arguments.check and not self.arguments.diff:
            self.console.data(f"{given.name}\n")
        if self.arguments.write and given.path is not None:
            replace_file(given.path, after.encode("utf-8"))

    def _summary(self) -> str:
        words = self.words
        parts = [f"nothing to {words.verb} in {counted(self.files, 'file')}"]
        if self.changed:
            done = words.done if self.arguments.write or self.arguments.prints_result else f"would be {words.done}"
            parts = [f"{counted(self.changes, words.place)} {done} in {counted(self.changed, 'file')}"]
        if self.left:
            parts.append(f"{counted(self.left, words.place)} {words.left}, see above")
        return ", ".join(parts)
