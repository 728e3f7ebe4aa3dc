"""`sink` becomes a task that stores, at the end of the pipeline, where that is what it did."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import (
    INDENT,
    below,
    column,
    holds,
    insert_lines,
    is_inline,
    line_start,
    moved_lines,
    rest_of_line,
)
from noetl.playbook.migrate.compose import comments, cut_entry, entry_end
from noetl.playbook.migrate.evals import append_items
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import steps, tasks, tasks_of
from noetl.playbook.reading import mapping
from noetl.playbook.reading import text as text_of
from noetl.playbook.source.nodes import Entry, Mapping, Sequence

CODE = "NOE708"
NAME = "sink"


def rewrite_sinks(document: Document) -> Iterator[Rewrite]:
    for step in steps(document.root):
        entry = step.entry("sink")
        if entry is not None:
            yield attempt(CODE, entry.key.span, "made the `sink` a task", _stored, document, step, entry)
    for task in tasks(document.root):
        entry = task.body.entry("sink")
        if entry is not None:
            reason = "`sink` stands on a task; write a task of its own behind it, with what it is to store as `input`"
            yield Rewrite(CODE, entry.key.span, "made the `sink` a task", reason=reason)


def _stored(document: Document, step: Mapping, entry: Entry) -> list[Edit]:
    text, tool, body = document.source.text, step.get("tool"), _body(document, entry)
    if not isinstance(tool, Sequence) or not tool.items or not holds(tool, tool.items[-1]):
        raise Untranslatable("the step has no list of tasks to put the storing task in; write `tool` as a list")
    if tool.flow and not body.flow:
        raise Untranslatable("the storing task cannot stand between the brackets of `tool`; write that in lines")
    _check_pipeline(document, step)
    return [_appended(text, tool, entry, body), cut_entry(text, entry, step)]


def _appended(text: str, tool: Sequence, entry: Entry, body: Mapping) -> Edit:
    above = comments(text, entry.key.end, body.start, body)
    if body.flow and not above and not rest_of_line(text, entry.end):
        return append_items(text, tool, [f"{{ name: {NAME}, {text[body.start + 1 : body.end - 1].strip()} }}"])
    margin = column(text, tool.start)
    pad = " " * margin
    own = moved_lines(
        text, line_start(text, body.start), entry_end(text, entry), margin + INDENT - column(text, body.start)
    )
    lines = [*(pad + comment for comment in above), f"{pad}- name: {NAME}", *own]
    return insert_lines(text, below(text, tool.end), lines)


def _body(document: Document, entry: Entry) -> Mapping:
    """The storing task: the sink itself, or what stands under its `tool`."""
    found = entry.value
    inner = mapping(found, "tool")
    body = inner if inner is not None and isinstance(found, Mapping) and len(found.entries) == 1 else found
    if not isinstance(body, Mapping) or not body.entries or not is_inline(entry) or body.get("name") is not None:
        raise Untranslatable("the `sink` is no tool with a `kind`")
    if text_of(body, "kind") not in document.vocabulary.kinds:
        raise Untranslatable("the `sink` names no tool kind; write the task that stores the data")
    return body


def _check_pipeline(document: Document, step: Mapping) -> None:
    if step.get("loop") is not None:
        raise Untranslatable("the step loops; say whether each iteration stores or a later step")
    found = list(tasks_of(step))
    if any(task.name == NAME for task in found):
        raise Untranslatable(f"the step has a task `{NAME}` already")
    if any(task.body.get("eval") is not None or mapping(task.body, "spec") is not None for task in found):
        raise Untranslatable("the tasks have rules of their own, which may end the pipeline before it is stored")
    name = text_of(step, "step")
    for use in document.notes.templates:
        is_own = use.place.path.startswith(f"workflow/{name}/") and not use.site.is_worker_side
        for read in use.template.names:
            if (is_own and read.root in ("outcome", "output")) or read.root == name:
                raise Untranslatable("the step's output is read, and would then be that of the storing task")
