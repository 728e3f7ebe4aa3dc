"""Shows an older part of a document as it looks in today's words: the same place of the migrated text."""

from bisect import bisect_right

from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import THEN
from noetl.playbook.migrate.blocks import column, line_end, line_start, moved_lines
from noetl.playbook.migrate.compose import entry_end
from noetl.playbook.migrate.migration import NOT_MIGRATED, migrate
from noetl.playbook.migrate.refusals import Refusals
from noetl.playbook.migrate.walk import owners, tasks_of
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar
from noetl.playbook.source.read import read_source
from noetl.playbook.structure import OldWord

LINES_MAX = 16

WRITES = "NOE705"
"""On a rule it stands in `spec`, on a step or a task beside what it becomes."""

# The key under which each word's successor stands, on the task if it stood there, else on the step or the root.
SUCCESSORS = {
    "NOE701": ("spec", "next"),
    "NOE702": ("spec",),
    "NOE703": ("next",),
    "NOE704": ("next",),
    WRITES: ("spec",),
    "NOE706": ("input", "workload"),
    "NOE707": ("next",),
    "NOE708": ("tool",),
    "NOE709": ("spec",),
    "NOE710": ("tool",),
}
STEP_SUCCESSORS = {**SUCCESSORS, "NOE709": ("tool",)}


class Guide:
    def __init__(self, document: Document) -> None:
        self.migration = migrate(document.source.text)
        source, _ = read_source(self.migration.text, document.source.name)
        self.new_root = source.root or document.root
        pairs = zip(owners(document.root), owners(self.new_root), strict=False)
        self.owners = sorted(pairs, key=lambda pair: pair[0].start)
        self.refusals = Refusals(self.migration.refused)

    def hint(self, finding: OldWord) -> str:
        """The rewritten YAML for the place of a finding, or why it cannot be rewritten."""
        reason = self._reason(finding.code, finding.key, finding.value) if finding.key is not None else None
        if reason is not None:
            return reason
        entry = self._successor(finding)
        if entry is None:
            return "`noetl migrate` rewrites it"
        return "\n".join(["write this instead; `noetl migrate` does it:", *self._excerpt(entry)])

    def _reason(self, code: str, key: Scalar, value: Node) -> str | None:
        """Why a key, or something in what it holds, was refused."""
        found = self.refusals.within(code, key.span, value.lines.span(value.end, value.end))
        return found.message.removeprefix(NOT_MIGRATED) if found is not None else None

    def _successor(self, finding: OldWord) -> Entry | None:
        at = finding.key.start if finding.key is not None else finding.value.start
        for holder in self._holders(at):
            for key in _successors(finding, holder):
                entry = holder.entry(key)
                if entry is not None:
                    return entry
        return None

    def _holders(self, at: int) -> list[Mapping]:
        """The task, step or block around an offset, and the root, as they are in the migrated text."""
        position = bisect_right(self.owners, at, key=lambda pair: pair[0].start) - 1
        old, new = self.owners[position] if position >= 0 else (self.new_root, self.new_root)
        if position < 0 or at >= old.end:
            return [self.new_root]
        inside = zip(tasks_of(old), tasks_of(new), strict=False)
        return [*(then.body for now, then in inside if now.body.start <= at < now.body.end), new]

    def _excerpt(self, entry: Entry) -> list[str]:
        text = self.migration.text
        start = entry.key.start
        first = text[start : min(line_end(text, start), max(entry.end, start))]
        lines = moved_lines(text, line_start(text, start), entry_end(text, entry), -column(text, start))
        is_own_line = not text[line_start(text, start) : start].strip()
        shown = [line.rstrip() for line in lines] if is_own_line else [first]
        return shown if len(shown) <= LINES_MAX else [*shown[: LINES_MAX - 1], "…"]


def _successors(finding: OldWord, holder: Mapping) -> tuple[str, ...]:
    if finding.code == WRITES and finding.shape is not THEN:
        return ("set",)
    return (STEP_SUCCESSORS if holder.get("step") is not None else SUCCESSORS).get(finding.code, ())
