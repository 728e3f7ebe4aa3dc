"""`noetl explain`: the page of a rule, or the list of all rules."""

from collections.abc import Sequence

import msgspec

from noetl.cli.arguments import Command, Operand, Option, Shared, Takes, read_arguments
from noetl.cli.console import OK, Console, Stopped
from noetl.cli.markdown import styled
from noetl.cli.pages import page_of
from noetl.cli.reports.json import printed
from noetl.errors import closest
from noetl.playbook.rules import RULES
from noetl.playbook.rules.needs import NEEDS
from noetl.playbook.rules.rule import Rule

PREFIX = "NOE"
EXPLAINED = (*RULES, *NEEDS)

COMMAND = Command(
    "explain",
    "Says what a rule means, why it is there, and how to cure what it found. Without a rule: the list of all.",
    Operand("rule", "a code such as NOE203, or a name such as dangling-arc", Takes.RULE),
    (Option("output", "how to print", letter="o", takes=Takes.CHOICE, choices=("text", "json"), default="text"),),
    ("noetl explain NOE203", "noetl explain dangling-arc", "noetl explain"),
)


class Arguments(Shared, frozen=True, kw_only=True):
    rule: str | None = None
    output: str = "text"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    code: str
    severity: str
    name: str
    page: str | None = None


def main(words: Sequence[str], console: Console) -> int:
    arguments = read_arguments(COMMAND, words, console, Arguments)
    if arguments is None:
        return OK
    if arguments.rule is None:
        _print_list(arguments, console)
    else:
        _print_page(_found(arguments.rule), arguments, console)
    return OK


def _found(word: str) -> Rule:
    code = f"{PREFIX}{word}" if word.isdigit() else word
    for rule in EXPLAINED:
        if code.lower() in {rule.code.lower(), rule.name}:
            return rule
    near = closest(word, [spelling for rule in EXPLAINED for spelling in (rule.name, rule.code)])
    meant = f'; did you mean "{near}"?' if near else ""
    raise Stopped(f'noetl explain: there is no rule "{word}"{meant}\n  = see: noetl explain')


def _print_page(rule: Rule, arguments: Arguments, console: Console) -> None:
    page = page_of(rule)
    if arguments.output == "json":
        console.data(printed(Entry(rule.code, rule.severity.value, rule.name, page)))
    else:
        console.data(styled(page, console.paint_data()) if console.has_colour(console.out) else page)


def _print_list(arguments: Arguments, console: Console) -> None:
    if arguments.output == "json":
        console.data(printed({"rules": [Entry(rule.code, rule.severity.value, rule.name) for rule in EXPLAINED]}))
        return
    paint = console.paint_data()
    for rule in EXPLAINED:
        severity = paint(f"{rule.severity.value:<7}", rule.severity.value)
        console.data(f"{rule.code}  {severity}  {rule.name}\n")
