"""`set` under `spec`, where only knobs and policies stand."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.nodes import Mapping, Scalar
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import OldWord

LINES_MAX = 4
"""Assignments that the hint repeats."""

_PLACES = {
    "step spec": ("beside the step's `tool`; it runs once, after the step has succeeded", "- step: …\n  tool: …"),
    "next spec": ("on the arc; it runs when the arc is taken", "arcs:\n  - step: …"),
    "loop spec": ("on a task; it runs in every iteration", "tool:\n  - name: …\n    kind: …"),
}
_TASK = ("beside the task's `kind`; it runs after the task", "- name: …\n  kind: …")
_NOWHERE = ("on the task, step or arc that knows the values", "- step: …\n  tool: …")


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == RULE.code and finding.key is not None:
            yield _report(document, finding, finding.key)


def _report(document: Document, finding: OldWord, key: Scalar) -> Diagnostic:
    title = finding.shape.title
    is_task = title.endswith("task spec")
    place, head = _TASK if is_task else _PLACES.get(title, _NOWHERE)
    indent = len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip(" -"))
    lines = [head, " " * indent + "set:", *(" " * (indent + 2) + line for line in _assignments(document, finding))]
    return RULE.at(key, f"`set` does not stand under `spec` ({title})", f"put it {place}:\n" + "\n".join(lines))


def _assignments(document: Document, finding: OldWord) -> list[str]:
    if not isinstance(finding.value, Mapping):
        return ["ctx.x: …"]
    lines = []
    for entry in finding.value.entries[:LINES_MAX]:
        written = document.source.text[entry.value.start : entry.value.end].strip()
        lines.append(f"{entry.key.text}: {written}" if "\n" not in written else f"{entry.key.text}: …")
    return [*lines, "…"] if len(finding.value.entries) > LINES_MAX else lines


RULE = Rule("NOE402", "set-in-spec", Severity.ERROR, check)
