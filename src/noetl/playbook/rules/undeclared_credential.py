"""An `auth` that the keychain does not declare."""

from collections.abc import Iterator

from msgspec import structs

from noetl.expressions.template import is_template
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, are_numbered, correct
from noetl.playbook.rules.written import written_tasks
from noetl.playbook.source.nodes import Node, Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    names = [entry.name for entry in document.playbook.keychain]
    known, spelling = set(names), Spelling(names)
    for task in written_tasks(document):
        auth = task.task.auth
        if auth is not None and auth not in known and not is_template(auth):
            yield _report(auth, task.node.get("auth") or task.node, spelling)


def _report(auth: str, node: Node, spelling: Spelling) -> Diagnostic:
    near = spelling.nearest(auth)
    message = f'"{auth}" is not in the keychain; the credential store is asked for it when the task runs'
    hint = "declare it under `keychain` to have it checked at the start"
    if near is None or are_numbered(near, auth):
        return RULE.at(node, message, hint)
    fix = correct(node, near) if isinstance(node, Scalar) else []
    likely = RULE.at(node, f'"{auth}" is not in the keychain; did you mean "{near}"?', hint, fix)
    return structs.replace(likely, severity=Severity.WARNING)


RULE = Rule("NOE208", "undeclared-credential", Severity.INFO, check)
