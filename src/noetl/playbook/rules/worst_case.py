"""What retries can cost at most: runs and waiting time."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import BoundKind, WorstCase
from noetl.playbook.rules.judgement import judge, node_of
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.rules.written import title

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(WorstCase):
        if finding.attempts > 1:
            yield _report(document, finding)


def _report(document: Document, finding: WorstCase) -> Diagnostic:
    each = ", in each iteration" if finding.per_iteration else ""
    runs = f'up to {finding.attempts:,} runs of task "{finding.task.name}"'
    if finding.repeats:
        runs = f"{runs} each time it is entered"
    message = f"{title(finding.owner)}: {runs}, {_waiting(finding)}{each}"
    return RULE.at(head(node_of(document, finding.task)), message)


def _waiting(finding: WorstCase) -> str:
    if finding.wait_s.kind is BoundKind.UNKNOWN:
        return "waiting as long as its `delay` says at run time"
    if finding.wait_s.kind is BoundKind.UNBOUNDED:
        return "waiting without a bound, since jumps may repeat it"
    return f"waiting up to {_duration(finding.wait_s.value)} in all"


def _duration(seconds: float) -> str:
    for unit, size in (("days", DAY_S), ("hours", HOUR_S), ("min", MINUTE_S)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.3g} s"


RULE = Rule("NOE809", "worst-case", Severity.INFO, check)
