"""Tasks that no way through their pipeline comes to."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import TasksNeverReached
from noetl.playbook.rules.judgement import judge, node_of
from noetl.playbook.rules.net_words import quoted
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.rules.written import title
from noetl.playbook.structure import sugar_word


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(TasksNeverReached):
        written = [task for task in finding.tasks if sugar_word(node_of(document, task)) is None]
        if written:
            names = quoted([task.name for task in written])
            are = f"task {names} is" if len(written) == 1 else f"the tasks {names} are"
            message = f"in {title(finding.owner)} {are} never reached"
            yield RULE.at(head(node_of(document, written[0])), message, _HINT)


_HINT = "the tasks before always jump elsewhere, break or fail: let one of their rules `continue` or `jump` here"


RULE = Rule("NOE812", "unreachable-task", Severity.WARNING, check)
