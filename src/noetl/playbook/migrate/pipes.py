"""`pipe` becomes `tool`: a list of tasks was always a pipeline."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt, rename_key
from noetl.playbook.migrate.walk import steps
from noetl.playbook.source.nodes import Entry, Mapping

CODE = "NOE710"


def rewrite_pipes(document: Document) -> Iterator[Rewrite]:
    for step in steps(document.root):
        entry = step.entry("pipe")
        if entry is not None:
            yield attempt(CODE, entry.key.span, "renamed `pipe` to `tool`", _renamed, step, entry)


def _renamed(step: Mapping, entry: Entry) -> list[Edit]:
    if step.get("tool") is not None:
        raise Untranslatable("the step has a `tool` too; put the tasks into one list")
    return [rename_key(entry, "tool")]
