"""A reducer that never merges anything."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Block, Loop, LoopMode, Step
from noetl.playbook.reading import child, entries, mapping
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct, respell
from noetl.playbook.rules.writes import looped, task_writes, writes_in
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    for owner in looped(document):
        assert owner.loop is not None
        for level in owner.loop.levels():
            if level.reduce:
                yield from _check(document, owner, level)


def _check(document: Document, owner: Step | Block, level: Loop) -> Iterator[Diagnostic]:
    policy = mapping(mapping(document.node(level), "spec"), "policy")
    if level.mode is LoopMode.SEQUENTIAL and not _is_misspelt(document, level):
        key = policy.key("reduce") if policy is not None else None
        assert key is not None
        message = f'`reduce` has no effect: the loop over "{level.iterator}" in {title(owner)} is sequential'
        yield RULE.at(key, message, "remove it, or write `mode: parallel` under the loop's `spec`")
        return
    written = _paths(document, owner)
    unwritten = [entry.key for entry in entries(policy, "reduce") if entry.key.text not in written]
    if unwritten:
        spelling = Spelling(sorted(written))
        yield from (_report(key, owner, spelling) for key in unwritten)


def _is_misspelt(document: Document, level: Loop) -> bool:
    """Whether a mode is written that could not be read."""
    node = document.node(level)
    spec = mapping(node, "spec")
    written = (child(spec, "mode"), child(mapping(spec, "policy"), "mode"))
    told = document.once(meant)
    is_unread = any(isinstance(mode, Scalar) and mode.text not in set(LoopMode) for mode in written)
    return is_unread or bool(told & {(id(node), "spec"), (id(spec), "mode")})


def _paths(document: Document, owner: Step | Block) -> set[str]:
    """Blocks may call blocks: once one is called, what any block writes counts."""
    written = set(writes_in(document, owner))
    if any(task.kind == "workbook" for task in owner.tool):
        by_title = document.once(task_writes)
        for block in document.playbook.workbook.values():
            written.update(by_title.get(title(block), ()))
    return written


def _report(key: Scalar, owner: Step | Block, spelling: Spelling) -> Diagnostic:
    message = f'the reducer for "{key.text}" has no effect: no task of {title(owner)} writes "ctx.{key.text}"'
    meant = key.text.removeprefix("ctx.")
    if meant in spelling.names:
        hint = f'keys of `reduce` are paths inside `ctx`: write "{meant}"'
        return RULE.at(key, f'the reducer for "{key.text}" has no effect', hint, respell(key, meant))
    near = spelling.nearest(key.text)
    if near is not None:
        return RULE.at(key, f'{message}; did you mean "{near}"?', fix=correct(key, near))
    return RULE.at(key, message, f'remove it, or let a task set "ctx.{key.text}"')


RULE = Rule("NOE407", "useless-reducer", Severity.WARNING, check)
