"""`- fetch: { kind: http }` becomes `- name: fetch` with the task's keys beside it."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import colon, column, comments_below, is_inline, line_start, shift
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import TaskNode, tasks


def rewrite_labels(document: Document) -> Iterator[Rewrite]:
    text = document.source.text
    for task in tasks(document.root):
        if task.label is not None:
            yield attempt("NOE606", task.label.span, "named the task", _named, text, task)


def _named(text: str, task: TaskNode) -> list[Edit]:
    entry = task.item.entries[0]
    after = colon(text, entry)
    if after is None:
        raise Untranslatable("the label is written with a question mark; write it as a plain key")
    if not is_inline(entry):
        raise Untranslatable("what the label holds stands elsewhere, behind an alias")
    if task.body.get("name") is not None:
        raise Untranslatable("the task has a label and a `name`; keep one, and give a secret's name under `input`")
    head = text[after : task.body.start]
    if "&" in head.split("#")[0]:
        raise Untranslatable("the task carries an anchor; write it out where it is used")
    label = text[entry.key.start : entry.key.end]
    if task.body.flow:
        return _in_brackets(text, task, label)
    margin = column(text, task.item.start)
    end = comments_below(text, task.body.end, margin - 1)
    by = margin - column(text, task.body.start)
    return [Edit(entry.key.start, after, f"name: {label}"), *shift(text, line_start(text, task.body.start), end, by)]


def _in_brackets(text: str, task: TaskNode, label: str) -> list[Edit]:
    inside = text[task.body.start + 1 : task.body.end - 1]
    opened = f"{{ name: {label}{',' if task.body.entries else ''}{'' if inside.startswith(' ') else ' '}"
    gaps = text[task.item.start : task.body.start] + text[task.body.end : task.item.end]
    if "#" in gaps:
        raise Untranslatable("a comment stands between the label and the task; move it first")
    return [Edit(task.item.start, task.body.start + 1, opened), Edit(task.body.end, task.item.end, "")]
