"""A `next` list becomes a router with `arcs`; the mode moves to `next.spec.mode` from wherever it stood."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import (
    INDENT,
    below,
    beside_dash,
    colon,
    column,
    comment_behind,
    holds,
    insert_lines,
    is_inline,
    line_start,
    next_line,
    shift,
)
from noetl.playbook.migrate.compose import New, comments, cut_entry, put, replace_entry, tail
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import steps
from noetl.playbook.model import RouteMode
from noetl.playbook.reading import mapping
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar, Sequence

LIST, MODE = "NOE703", "NOE704"
MODES = frozenset(map(str, RouteMode))


def rewrite_next_lists(document: Document) -> Iterator[Rewrite]:
    text = document.source.text
    for step in steps(document.root):
        entry = step.entry("next")
        if entry is not None and isinstance(entry.value, Sequence):
            what = "put the list of `next` under `arcs`"
            yield attempt(LIST, entry.key.span, what, _router, text, entry, entry.value)


def _router(text: str, entry: Entry, targets: Sequence) -> list[Edit]:
    if not is_inline(entry) or colon(text, entry) is None:
        raise Untranslatable("the list stands elsewhere, behind an alias")
    named = [edit for item in targets.items for edit in _arc(targets, item)]
    if targets.flow:
        return [Edit(targets.start, targets.start, "{ arcs: "), *named, Edit(targets.end, targets.end, " }")]
    at, margin = next_line(text, entry.key.end), column(text, entry.key.start) + INDENT
    head = insert_lines(text, at, [" " * margin + "arcs:"])
    return [head, *shift(text, at, below(text, targets.end), INDENT), *named]


def _arc(targets: Sequence, item: Node) -> list[Edit]:
    if isinstance(item, Mapping) and item.get("step") is not None:
        return []
    if not isinstance(item, Scalar) or not isinstance(item.value, str) or not holds(targets, item):
        raise Untranslatable("an entry of the list names no step")
    opened, closed = ("{ step: ", " }") if targets.flow else ("step: ", "")
    return [Edit(item.start, item.start, opened), *([Edit(item.end, item.end, closed)] if closed else [])]


def rewrite_modes(document: Document) -> Iterator[Rewrite]:
    text = document.source.text
    for step in steps(document.root):
        spec, router = mapping(step, "spec"), mapping(step, "next")
        beside = router.entry("mode") if router is not None else None
        if router is not None and beside is not None:
            what = "moved `mode` to `next.spec.mode`"
            yield attempt(MODE, beside.key.span, what, _moved_beside, text, router, beside)
        entry = spec.entry("next_mode") if spec is not None else None
        if entry is not None:
            what = "moved `spec.next_mode` to `next.spec.mode`"
            yield attempt(MODE, entry.key.span, what, _moved_mode, text, step, entry)
        above = step.entry("next_mode")
        if above is not None:
            what = "moved `next_mode` to `next.spec.mode`"
            yield attempt(MODE, above.key.span, what, _moved_from_step, text, step, above)


def _moved_beside(text: str, router: Mapping, entry: Entry) -> list[Edit]:
    _check_mode(entry)
    return replace_entry(text, router, entry, ("spec", "mode"), tail(text, entry, router))


def _check_mode(entry: Entry) -> None:
    if not isinstance(entry.value, Scalar) or entry.value.text not in MODES:
        raise Untranslatable("the mode is neither `exclusive` nor `inclusive`")


def _moved_mode(text: str, step: Mapping, entry: Entry) -> list[Edit]:
    spec = step.entry("spec")
    assert spec is not None
    if not isinstance(spec.value, Mapping) or not is_inline(spec):
        raise Untranslatable("the `spec` stands elsewhere, behind an alias")
    moved, keep = _put_mode(text, step, entry, spec.value)
    return [*moved, *_taken(text, step, spec, spec.value, entry, keep=keep)]


def _moved_from_step(text: str, step: Mapping, entry: Entry) -> list[Edit]:
    moved, keep = _put_mode(text, step, entry, step)
    own = comment_behind(text, entry.end) if keep and not step.flow else []
    return [*moved, *_cut(text, step, entry, own)]


def _put_mode(text: str, step: Mapping, entry: Entry, owner: Mapping) -> tuple[list[Edit], bool]:
    """Puts the mode into the router, if there is one, and says whether the comment behind it is left."""
    _check_mode(entry)
    routed = step.entry("next")
    if routed is None:
        return [], True
    if not isinstance(routed.value, Mapping) or not is_inline(routed) or not routed.value.entries:
        raise Untranslatable("`next` has no arcs here")
    value: New = tail(text, entry, owner)
    if routed.value.flow:
        value = entry.value.text if isinstance(entry.value, Scalar) else value
    return put(text, routed.value, ("spec", "mode"), value, first=True), routed.value.flow


def _taken(text: str, step: Mapping, holder: Entry, spec: Mapping, entry: Entry, *, keep: bool) -> list[Edit]:
    """Takes the mode out of its `spec`, and the `spec` too where nothing is left in it.

    Comments between the two stay, and where `keep` says so also that behind the mode.
    """
    own = comment_behind(text, entry.end) if keep and not spec.flow else []
    if len(spec.entries) > 1:
        return _cut(text, spec, entry, own)
    behind = comment_behind(text, holder.end) if spec.flow and not step.flow else []
    return _cut(text, step, holder, [*comments(text, holder.key.end, entry.key.start, holder.key), *own, *behind])


def _cut(text: str, owner: Mapping, entry: Entry, kept: list[str]) -> list[Edit]:
    edit = cut_entry(text, entry, owner)
    if not kept:
        return [edit]
    if owner.flow:
        raise Untranslatable("it shares a bracket with a comment; move the comment first")
    start = line_start(text, entry.key.start)
    if edit.start != start:
        return [Edit(edit.start, edit.end, beside_dash(text, entry, kept) + edit.text)]
    pad = " " * column(text, entry.key.start)
    return [edit, insert_lines(text, start, [pad + comment for comment in kept])]
