"""`noetl validate`: every problem of every file, at once and offline."""

from collections.abc import Sequence
from importlib import import_module

import msgspec

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.checking import Checked, Tally, check_all, exit_code
from noetl.cli.console import OK, Console
from noetl.cli.files import Inputs
from noetl.cli.reports.summary import summary
from noetl.playbook.diagnostics import Severity

# As with verbs, a format's module is imported when the format is chosen.
REPORTS = {
    "text": "noetl.cli.reports.text",
    "json": "noetl.cli.reports.json",
    "sarif": "noetl.cli.reports.sarif",
    "github": "noetl.cli.reports.github",
}
FOR_PEOPLE = ("text", "github")
WITH_ALL_INFOS = ("json",)
"""Every other format is read by people in the end, and a note there looks like an alert."""

COMMAND = Command(
    "validate",
    "Checks playbooks and reports all problems: the place, what is wrong, and what to do.",
    Operand("files", "files, folders, or - for standard input (default: the current folder)", Takes.FILE, many=True),
    (
        Option(
            "output",
            "how to report",
            letter="o",
            takes=Takes.CHOICE,
            choices=tuple(REPORTS),
            default="text",
        ),
        Option("strict", "take warnings for errors"),
        Option("info", "show notes too"),
        Option("quiet", "print problems and nothing else", letter="q"),
    ),
    (
        "noetl validate",
        "noetl validate --strict playbooks/ daily.yaml",
        "noetl validate -o json - < daily.yaml",
    ),
)


class Arguments(Shared, frozen=True, kw_only=True):
    files: tuple[str, ...] = (".",)
    output: str = "text"
    strict: bool = False
    info: bool = False
    quiet: bool = False


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    return validate(arguments, console) if arguments else OK


def validate(arguments: Arguments, console: Console) -> int:
    tally = Tally()
    inputs = Inputs(arguments.files, console, quiet=arguments.quiet)
    all_checked = check_all(inputs, tally, console, strict=arguments.strict)
    hides_infos = arguments.output not in WITH_ALL_INFOS and not arguments.info
    import_module(REPORTS[arguments.output]).report(
        map(_without_infos, all_checked) if hides_infos else all_checked, tally, console
    )
    if arguments.output in FOR_PEOPLE and not arguments.quiet and tally.files:
        console.say(summary(tally, console.paint_talk(), shows_infos=arguments.info))
    return exit_code(inputs, tally)


def _without_infos(checked: Checked) -> Checked:
    kept = tuple(found for found in checked.diagnostics if found.severity is not Severity.INFO)
    return msgspec.structs.replace(checked, diagnostics=kept)
