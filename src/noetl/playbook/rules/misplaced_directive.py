"""A control directive outside a task policy."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import ADMIT_RULE, ADMIT_THEN
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import OldWord

ADMISSION_HINT = "admission answers with `then: { allow: true }` or `then: { allow: false }`"
HINT = "move it to the task it steers, under `spec.policy.rules`"


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == RULE.code and finding.key is not None:
            is_admission = finding.shape is ADMIT_RULE or finding.shape is ADMIT_THEN
            place = ADMIT_RULE.title if is_admission else finding.shape.title
            message = f'found "{finding.key.text}" in the {place}; only task policies have directives'
            yield RULE.at(finding.key, message, ADMISSION_HINT if is_admission else HINT)


RULE = Rule("NOE303", "misplaced-directive", Severity.ERROR, check)
