"""`set` under `spec`, where only knobs and policies stand."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Mapping, Scalar
from noetl.playbook.structure import OldWord

LINES_MAX = 4
"""Assignments that the hint repeats."""

_STEP = ("a step", "beside the step's `tool`; it runs once, after the step has succeeded", "- step: …\n  tool: …")
_TASK = ("a task", "beside the task's `kind`; it runs after the task", "- name: …\n  kind: …")
_PLACES = {
    "step spec": _STEP,
    "next spec": ("`next`", "on the arc; it runs when the arc is taken", "arcs:\n  - step: …"),
    "loop spec": ("a loop", "on a task; it runs in every iteration", "tool:\n  - name: …\n    kind: …"),
    "executor spec": ("the executor", "on a task, a step or an arc", "- step: …\n  tool: …"),
}
"""By the title of the spec: whose it is, where `set` belongs instead, and what stands around it there."""


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == RULE.code and finding.key is not None:
            yield _report(document, finding, finding.key)


def _report(document: Document, finding: OldWord, key: Scalar) -> Diagnostic:
    whose, place, head = _PLACES.get(finding.shape.title, _TASK)
    last = head.splitlines()[-1]
    indent = " " * (len(last) - len(last.lstrip(" -")))
    lines = (head, f"{indent}set:", *(f"{indent}  {line}" for line in _assignments(document, finding)))
    message = f"`set` does not belong under the `spec` of {whose}"
    return RULE.at(key, message, "\n".join((f"put it {place}:", *lines)))


def _assignments(document: Document, finding: OldWord) -> list[str]:
    if not isinstance(finding.value, Mapping):
        return ["ctx.x: …"]
    lines = []
    for entry in finding.value.entries[:LINES_MAX]:
        value = entry.value
        written = document.source.text[value.start : value.end]
        is_short = "\n" not in written and (isinstance(value, Scalar) or value.flow)
        lines.append(f"{entry.key.text}: {written if is_short else '…'}")
    return [*lines, "…"] if len(finding.value.entries) > LINES_MAX else lines


RULE = Rule("NOE402", "set-in-spec", Severity.ERROR, check)
