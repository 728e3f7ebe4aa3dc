"""Two mappings that become one: the entries of the first go below those of the second, as they were written."""

from noetl.playbook.diagnostics import Edit
from noetl.playbook.migrate.blocks import below, column, insert_lines, is_inline, line_start, moved_lines
from noetl.playbook.migrate.compose import cut_entry, entry_end
from noetl.playbook.migrate.rewrite import Untranslatable
from noetl.playbook.nodes import Entry, Mapping


def merge_entry(text: str, owner: Mapping, moved: Entry, into: Entry) -> list[Edit]:
    """Puts what one entry of `owner` holds under another entry of it."""
    source, target = moved.value, into.value
    if not isinstance(source, Mapping) or not isinstance(target, Mapping) or not is_inline(into) or not target.entries:
        raise Untranslatable(f"`{into.key.text}` holds no mapping of its own to move the values to")
    if shared := set(source.keys()) & set(target.keys()):
        raise Untranslatable(f"`{into.key.text}` has {listed(shared)} too")
    taken = cut_entry(text, moved, owner)
    if source.flow or target.flow:
        return [_merged_flow(text, source, target), taken]
    by = column(text, target.start) - column(text, source.start)
    lines = moved_lines(text, line_start(text, source.start), entry_end(text, moved), by)
    return [insert_lines(text, below(text, target.end), lines), taken]


def _merged_flow(text: str, source: Mapping, target: Mapping) -> Edit:
    if "#" in text[source.start : source.end] or not source.flow:
        raise Untranslatable("one of the two stands between brackets and cannot take the other's comments or lines")
    if target.flow:
        body = text[source.start + 1 : source.end - 1].strip().rstrip(",")
        return Edit(target.entries[-1].end, target.entries[-1].end, f", {body}")
    pad = " " * column(text, target.start)
    lines = [pad + text[entry.key.start : entry.end] for entry in source.entries]
    return insert_lines(text, below(text, target.end), lines)


def listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
