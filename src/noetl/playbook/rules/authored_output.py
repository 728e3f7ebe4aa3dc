"""An `output` written by the author: only the runtime writes it."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import called
from noetl.playbook.structure import OldWord

HINT = 'to keep a part of it write\nset:\n  ctx.name: "{{ output.data }}"'


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == RULE.code:
            owner = called(finding.parent, finding.shape.title)
            yield RULE.at(finding.key or finding.value, f'{owner} has an "output"; only the runtime writes it', HINT)


RULE = Rule("NOE108", "authored-output", Severity.ERROR, check)
