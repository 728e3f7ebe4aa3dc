"""Tasks that jump to one another for ever."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import Certainty, JumpCycle
from noetl.playbook.nodes import Node
from noetl.playbook.reading import child
from noetl.playbook.rules.judgement import judge, node_of
from noetl.playbook.rules.net_words import chain
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import title


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(JumpCycle):
        yield _report(document, finding)


def _report(document: Document, finding: JumpCycle) -> Diagnostic:
    circle = chain([task.name for task in finding.cycle])
    head = f"the tasks {circle} of {title(finding.owner)}"
    if finding.certainty is Certainty.MUST:
        message = f"{head} repeat until one of them fails: no rule leads out of the circle"
    else:
        message = f"{head} may repeat for ever: only an error leads out of the circle"
    hint = "give the jump a `when` that becomes false, or add a rule with `do: break` before it"
    return RULE.at(_jump(document, finding), message, hint)


def _jump(document: Document, finding: JumpCycle) -> Node:
    """The target as it is written; the sugar that made the jump where it is not."""
    node = node_of(document, finding.rule, finding.task)
    then = child(node, "then") or child(child(node, "else"), "then")
    return child(then, "to") or node


RULE = Rule("NOE808", "jump-cycle", Severity.WARNING, check)
