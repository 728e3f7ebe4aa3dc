"""Two mappings that become one: the entries of the first go below those of the second, as they were written."""

from noetl.playbook.diagnostics import Edit
from noetl.playbook.migrate.blocks import (
    below,
    column,
    comment_behind,
    insert_lines,
    is_inline,
    line_start,
    moved_lines,
)
from noetl.playbook.migrate.compose import comments, cut_entry, entry_end
from noetl.playbook.migrate.rewrite import Untranslatable
from noetl.playbook.source.nodes import Entry, Mapping


def merge_entry(text: str, owner: Mapping, moved: Entry, into: Entry) -> list[Edit]:
    """Puts what one entry of `owner` holds under another entry of it."""
    source, target = moved.value, into.value
    if not isinstance(source, Mapping) or not isinstance(target, Mapping) or not is_inline(into) or not target.entries:
        raise Untranslatable(f"`{into.key.text}` holds no mapping of its own to move the values to")
    if shared := set(source.keys()) & set(target.keys()):
        raise Untranslatable(f"`{into.key.text}` has {listed(shared)} too")
    taken = cut_entry(text, moved, owner)
    if target.flow:
        return [_into_brackets(text, owner, moved, source, target), taken]
    pad = " " * column(text, target.start)
    lines = [
        *(pad + comment for comment in _comments(text, owner, moved, source)),
        *_lines(text, moved, source, target),
    ]
    return [insert_lines(text, below(text, target.end), lines), taken]


def _lines(text: str, moved: Entry, source: Mapping, target: Mapping) -> list[str]:
    """The entries as lines at the column of those they join."""
    margin = column(text, target.start)
    if source.flow:
        return [" " * margin + text[entry.key.start : entry.end] for entry in source.entries]
    by = margin - column(text, source.start)
    return moved_lines(text, line_start(text, source.start), entry_end(text, moved), by)


def _comments(text: str, owner: Mapping, moved: Entry, source: Mapping) -> list[str]:
    """The comments that belong to no entry: on the line of the key, above the first entry, behind a bracket."""
    above = comments(text, moved.key.end, source.start, moved.key)
    if not source.flow:
        return above
    inside = comments(text, source.start, source.end, source)
    behind = [] if owner.flow else comment_behind(text, moved.end)
    return [*above, *inside, *behind]


def _into_brackets(text: str, owner: Mapping, moved: Entry, source: Mapping, target: Mapping) -> Edit:
    if not source.flow or _comments(text, owner, moved, source):
        raise Untranslatable("one of the two stands between brackets and cannot take the other's comments or lines")
    body = text[source.start + 1 : source.end - 1].strip().rstrip(",")
    return Edit(target.entries[-1].end, target.entries[-1].end, f", {body}")


def listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
