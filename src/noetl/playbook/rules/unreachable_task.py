"""Tasks that no way through their pipeline comes to."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import NeverRule, TasksNeverReached
from noetl.playbook.rules.judgement import judge, node_of
from noetl.playbook.rules.net_words import quoted
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Mapping
from noetl.playbook.structure import sugar_word


def check(document: Document) -> Iterator[Diagnostic]:
    closed = _closed(document)
    for finding in document.once(judge).of(TasksNeverReached):
        nodes = ((task, node_of(document, task)) for task in finding.tasks)
        written = [task for task, node in nodes if sugar_word(node) is None and not _is_inside(node, closed)]
        if written:
            names = quoted([task.name for task in written])
            are = f"task {names} is" if len(written) == 1 else f"the tasks {names} are"
            message = f"in {title(finding.owner)} {are} never reached"
            yield RULE.at(head(node_of(document, written[0])), message, _HINT)


def _closed(document: Document) -> list[tuple[int, int]]:
    """Where the `choose`, `while` and `until` stand whose condition never holds, which is said of the condition.

    In their order, each with the furthest end so far, as they may stand in one another.
    """
    tasks = (finding.task for finding in document.once(judge).of(NeverRule) if finding.task is not None)
    nodes = [node for node in (node_of(document, task) for task in tasks) if sugar_word(node) is not None]
    spans = sorted((node.start, node.end) for node in nodes)
    ends = accumulate((end for _, end in spans), max)
    return [(start, end) for (start, _), end in zip(spans, ends, strict=True)]


def _is_inside(node: Mapping, closed: list[tuple[int, int]]) -> bool:
    position = bisect_right(closed, (node.start,))
    return position > 0 and node.start < closed[position - 1][1]


_HINT = "the tasks before always jump elsewhere, break or fail: let one of their rules `continue` or `jump` here"


RULE = Rule("NOE812", "unreachable-task", Severity.WARNING, check)
