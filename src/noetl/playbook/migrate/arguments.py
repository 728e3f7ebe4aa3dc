"""`args` on a step or a task becomes `input`, and `apiVersion` today's."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.grammar.root import API_VERSION, API_VERSION_V10
from noetl.playbook.migrate.merging import listed, merge_entry
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt, rename_key
from noetl.playbook.migrate.walk import steps, tasks
from noetl.playbook.reading import text as text_of
from noetl.playbook.source.nodes import Entry, Mapping, Scalar

VERSION, ARGS, UNKNOWN_VERSION = "NOE601", "NOE602", "NOE106"
OLDER_VERSIONS = {API_VERSION_V10: VERSION, "noetl.io/v1": UNKNOWN_VERSION}
"""The versions there were, and the rules that speak of them."""


def rewrite_api_version(document: Document) -> Iterator[Rewrite]:
    found = document.root.get("apiVersion")
    if isinstance(found, Scalar) and found.text in OLDER_VERSIONS:
        written = document.source.text[found.start : found.end]
        edit = Edit(found.start, found.end, written.replace(found.text, API_VERSION))
        yield Rewrite(OLDER_VERSIONS[found.text], found.span, f"`apiVersion` is `{API_VERSION}`", (edit,))


def rewrite_arguments(document: Document) -> Iterator[Rewrite]:
    what = "renamed `args` to `input`"
    read = _read_names(document)
    for step in steps(document.root):
        entry = step.entry("args")
        if entry is not None:
            yield attempt(ARGS, entry.key.span, what, _renamed, document, step, entry)
    for task in tasks(document.root):
        entry = task.body.entry("args")
        if entry is not None:
            yield attempt(ARGS, entry.key.span, what, _task_renamed, document, task.body, entry, read)


def _read_names(document: Document) -> set[str]:
    return {
        name.segments[0].name
        for use in document.notes.templates
        for name in use.template.names
        if name.root in ("input", "args") and name.segments
    }


def _renamed(document: Document, owner: Mapping, entry: Entry) -> list[Edit]:
    into = owner.entry("input")
    if into is not None:
        return merge_entry(document.source.text, owner, entry, into)
    return [rename_key(entry, "input")]


def _task_renamed(document: Document, body: Mapping, entry: Entry, read: set[str]) -> list[Edit]:
    kind = document.vocabulary.kinds.get(text_of(body, "kind") or "")
    if kind is not None and not kind.is_callee and isinstance(entry.value, Mapping):
        names = set(entry.value.keys())
        if twice := names & set(kind.fields) & body.keys() - {"name"}:
            raise Untranslatable(f"the task has {listed(twice)} beside `args` too; keep one")
        if unread := names - set(kind.fields) - read:
            raise Untranslatable(f"a task of kind {kind.name} has no {listed(unread)}, and nothing reads it; delete it")
    return _renamed(document, body, entry)
