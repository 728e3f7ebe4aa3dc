"""New YAML beside old: a value is written in block or flow style and put where it belongs, old text kept as it was."""

from collections.abc import Sequence as Items

import msgspec

from noetl.playbook.diagnostics import Edit
from noetl.playbook.migrate.blocks import (
    INDENT,
    below,
    colon,
    column,
    comments_above,
    cut,
    cut_lines,
    has_gap_comments,
    insert_lines,
    is_inline,
    line_end,
    line_start,
    newline,
    rest_of_line,
)
from noetl.playbook.migrate.rewrite import Untranslatable
from noetl.playbook.migrate.walk import scalars
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar, Style
from noetl.playbook.source.scalars import quote


class Tail(msgspec.Struct, frozen=True):
    """What stood behind a key's colon, comments included; lines below the first are relative to the key's column.

    `flow` is the value alone, where it can stand inside brackets.
    """

    lines: tuple[str, ...]
    flow: str | None


New = str | Tail | dict[str, "New"] | list["New"]
"""Text as it is, a tail, or a collection to write out. In a block mapping, a key that begins with `#` is a comment."""


def tail(text: str, entry: Entry, owner: Mapping) -> Tail:
    """What stands behind the key of an entry of `owner`."""
    after = colon(text, entry)
    if after is None:
        raise Untranslatable(f"the key is written with a question mark; write `{entry.key.text}:`")
    if not is_inline(entry):
        raise Untranslatable(f"what `{entry.key.text}` holds stands elsewhere, behind an alias")
    value = text[entry.value.start : entry.value.end]
    is_one_line = len(value.splitlines()) <= 1 and not _is_block(entry.value)
    if owner.flow:
        return Tail((text[after : entry.end],), value)
    raw = text[after : entry.end].rstrip("\r\n") + rest_of_line(text, entry.end)
    margin = column(text, entry.key.start)
    first, *rest = raw.split(newline(text))
    return Tail((first, *(_dedented(line, margin) for line in rest)), value if is_one_line and "#" not in raw else None)


def _is_block(node: Node) -> bool:
    return node.style in (Style.LITERAL, Style.FOLDED) if isinstance(node, Scalar) else not node.flow


def _dedented(line: str, margin: int) -> str:
    return line[min(margin, len(line) - len(line.lstrip(" "))) :]


def block_lines(key: str, value: New, margin: int) -> list[str]:
    """An entry as lines of a block mapping at the column `margin`."""
    pad = " " * margin
    if key.startswith("#"):
        return [pad + key]
    match value:
        case str():
            return [f"{pad}{key}: {value}"]
        case Tail(lines=lines):
            return [f"{pad}{key}:{lines[0]}", *(pad + line if line else line for line in lines[1:])]
        case dict():
            inner = [line for name, part in value.items() for line in block_lines(name, part, margin + INDENT)]
            return [f"{pad}{key}:", *inner]
        case _:
            return [f"{pad}{key}:", *(line for item in value for line in item_lines(item, margin + INDENT))]


def item_lines(item: New, margin: int) -> list[str]:
    """An item as lines of a block list at the column `margin`."""
    if not isinstance(item, dict):
        return [" " * margin + f"- {_flow(item)}"]
    inner = [line for name, part in item.items() for line in block_lines(name, part, margin + INDENT)]
    first = next(at for at, line in enumerate(inner) if not line.lstrip().startswith("#"))
    inner[first] = " " * margin + "- " + inner[first][margin + INDENT :]
    return [*(line[INDENT:] for line in inner[:first]), *inner[first:]]


def flow_text(value: New) -> str | None:
    """A value as it can stand inside brackets, if it can."""
    match value:
        case str():
            return value
        case Tail(flow=flow):
            return flow
        case dict():
            parts = {key: flow_text(part) for key, part in value.items()}
            is_plain = None not in parts.values() and not any(key.startswith("#") for key in parts)
            return "{ " + ", ".join(f"{key}: {part}" for key, part in parts.items()) + " }" if is_plain else None
        case _:
            items = [flow_text(item) for item in value]
            return "[" + ", ".join(item for item in items if item is not None) + "]" if None not in items else None


def _flow(value: New) -> str:
    found = flow_text(value)
    if found is None:
        raise Untranslatable("it stands between brackets together with comments or long text; write it in lines")
    return found


def nested(path: Items[str], value: New) -> New:
    for key in reversed(path):
        value = {key: value}
    return value


def replace_entry(text: str, owner: Mapping, entry: Entry, path: Items[str], value: New) -> list[Edit]:
    """Puts a value at a path inside `owner` instead of an entry of it."""
    if owner.get(path[0]) is not None and path[0] != entry.key.text:
        return _moved(text, owner, entry, path, value)
    inner = nested(path[1:], value)
    if owner.flow:
        return [Edit(entry.key.start, entry.end, f"{path[0]}: {_flow(inner)}")]
    margin = column(text, entry.key.start)
    body = newline(text).join(block_lines(path[0], inner, margin))[margin:]
    return [Edit(entry.key.start, entry_end(text, entry), body)]


def _moved(text: str, owner: Mapping, entry: Entry, path: Items[str], value: New) -> list[Edit]:
    """The comments above an entry go with it where they can: into lines, not between brackets."""
    taken = cut_entry(text, entry, owner)
    start, above = comments_above(text, entry)
    added = put(text, owner, path, value, above=above)
    is_taken_along = bool(above) and any(above[0] in edit.text for edit in added)
    return [*added, cut_lines(text, start, below(text, entry.end)) if is_taken_along else taken]


def entry_end(text: str, entry: Entry) -> int:
    """The end of an entry's last line, without its break; blank lines that close a block scalar are left outside."""
    end = entry.end
    if text[end - 1 : end] not in ("\n", "\r"):
        return line_end(text, end)
    while text[end - 1] in "\r\n":
        end -= 1
    return end


def cut_entry(text: str, entry: Entry, owner: Mapping) -> Edit:
    found = cut(text, entry, owner)
    if found is None:
        raise Untranslatable("it stands there alone, or shares a bracket with a comment; take it out by hand")
    return found


def put(
    text: str, owner: Mapping, path: Items[str], value: New, *, first: bool = False, above: Items[str] = ()
) -> list[Edit]:
    """Adds a value at a path inside `owner`, as its last entry or its first, making the mappings that are missing.

    `above` are comments for the lines before it; between brackets there is no place for them.
    """
    mapping, brackets = owner, list[Entry]()
    while (entry := mapping.entry(path[0])) is not None:
        if len(path) == 1 or not isinstance(entry.value, Mapping) or not is_inline(entry):
            raise Untranslatable(f"there is a `{path[0]}` already; put the two together by hand")
        mapping, path = entry.value, path[1:]
        brackets.extend([entry] if mapping.flow else [])
    inner = nested(path[1:], value)
    if not mapping.flow:
        return [_put_lines(text, mapping, path[0], inner, first=first, above=above)]
    flow = flow_text(inner)
    if flow is not None:
        return [_put_flow(mapping, path[0], flow, first=first)]
    if owner.flow:
        raise Untranslatable("it cannot stand between brackets; write the mapping around it in lines")
    margin = column(text, brackets[0].key.start) + INDENT * len(brackets)
    return _spread(text, brackets, [*_indented(above, margin), *block_lines(path[0], inner, margin)])


def _put_lines(text: str, mapping: Mapping, key: str, value: New, *, first: bool, above: Items[str]) -> Edit:
    margin = column(text, mapping.entries[0].key.start)
    at = line_start(text, mapping.entries[0].key.start) if first else below(text, mapping.end)
    return insert_lines(text, at, [*_indented(above, margin), *block_lines(key, value, margin)])


def _indented(lines: Items[str], margin: int) -> list[str]:
    return [" " * margin + line for line in lines]


def _put_flow(mapping: Mapping, key: str, flow: str, *, first: bool) -> Edit:
    if not mapping.entries:
        return Edit(mapping.start + 1, mapping.start + 1, f"{key}: {flow}")
    if first:
        return Edit(mapping.entries[0].key.start, mapping.entries[0].key.start, f"{key}: {flow}, ")
    return Edit(mapping.entries[-1].end, mapping.entries[-1].end, f", {key}: {flow}")


def _spread(text: str, brackets: Items[Entry], lines: list[str]) -> list[Edit]:
    """Writes flow mappings inside each other out in lines and adds others below those of the innermost."""
    outer = brackets[0]
    own = _spread_lines(text, brackets, column(text, outer.key.start) + INDENT, lines)
    return [Edit(_opened(text, outer), outer.end, ""), insert_lines(text, below(text, outer.end), own)]


def _spread_lines(text: str, brackets: Items[Entry], margin: int, lines: list[str]) -> list[str]:
    holder, *inside = brackets
    _opened(text, holder)
    assert isinstance(holder.value, Mapping)
    pad = " " * margin
    kept = [pad + text[entry.key.start : entry.end] for entry in holder.value.entries if entry not in inside[:1]]
    if not inside:
        return [*kept, *lines]
    key = text[inside[0].key.start : inside[0].key.end]
    return [*kept, f"{pad}{key}:", *_spread_lines(text, inside, margin + INDENT, lines)]


def _opened(text: str, holder: Entry) -> int:
    """The offset behind the colon of a key that holds a flow mapping, where only that stands behind it."""
    assert isinstance(holder.value, Mapping)
    after = colon(text, holder)
    if after is None or has_gap_comments(text, holder.value) or text[after : holder.value.start].strip():
        raise Untranslatable("the mapping between brackets holds comments; write it in lines first")
    return after


def comments(text: str, start: int, end: int, node: Node) -> list[str]:
    """The comments inside [start, end), all of which belongs to one node."""
    found: list[str] = []
    at = start
    for scalar in scalars(node):
        if start <= scalar.start and scalar.end <= end:
            found.extend(_comments_between(text[at : scalar.start]))
            at = max(at, scalar.end)
    return [*found, *_comments_between(text[at:end])]


def _comments_between(gap: str) -> list[str]:
    return [line[line.index("#") :].rstrip() for line in gap.splitlines() if "#" in line]


def commented(found: Items[str], value: dict[str, New]) -> dict[str, New]:
    """The value with comment lines before it."""
    return dict.fromkeys(dict.fromkeys(found), "") | value


def plain(scalar: Scalar) -> str:
    """A scalar as text that can stand anywhere."""
    return quote(scalar.text) if isinstance(scalar.value, str) else scalar.text
