"""Tasks that jump to one another for ever."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import Certainty, JumpCycle
from noetl.playbook.reading import child
from noetl.playbook.rules.judgement import judge, node_of
from noetl.playbook.rules.net_words import circle, sugar_name
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Node


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(JumpCycle):
        yield _report(document, finding)


def _report(document: Document, finding: JumpCycle) -> Diagnostic:
    sugar = sugar_name(document, finding.task)
    names = [task.name for task in finding.cycle]
    repeats = f"{sugar} repeats" if sugar is not None else circle("task", names)
    hint = "give the jump a `when` that becomes false, or put a rule with `do: break` before it"
    if sugar is not None:
        hint = "let its `when` change with the work, or limit it with `max`"
    whose = title(finding.owner)
    if finding.certainty is Certainty.MUST:
        message = f"in {whose} {repeats} until an error fails the pipeline: no rule leads on"
    else:
        message = f"in {whose} {repeats} as long as nothing fails: only an error may lead on"
    return RULE.at(_jump(document, finding), message, hint)


def _jump(document: Document, finding: JumpCycle) -> Node:
    """The target as it is written; the sugar that made the jump where it is not."""
    node = node_of(document, finding.rule, finding.task)
    then = child(node, "then") or child(child(node, "else"), "then")
    return child(then, "to") or head(node)


RULE = Rule("NOE808", "jump-cycle", Severity.WARNING, check)
