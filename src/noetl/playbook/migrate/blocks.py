"""Lines of a YAML text as rewrites need them: where an entry ends, shifting, cutting and inserting whole lines.

Comments and line ends belong to the text, not to the tree, so everything here works on offsets.
"""

from collections.abc import Iterable, Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.lines import BYTE_ORDER_MARK
from noetl.playbook.source.nodes import Entry, Mapping, Node, Sequence

INDENT = 2


def newline(text: str) -> str:
    """The line break of the text, as its first line shows it."""
    return "\r\n" if text.startswith("\r\n", text.find("\n") - 1) else "\n"


def line_start(text: str, at: int) -> int:
    end = at - 1 if at and text.startswith("\r\n", at - 1) else at
    start = text.rfind("\n", 0, end) + 1
    start = max(start, text.rfind("\r", start, end) + 1)
    return start + 1 if start == 0 and text.startswith(BYTE_ORDER_MARK) else start


def line_end(text: str, at: int) -> int:
    """Where the line's break stands, or the end of the text."""
    feed = text.find("\n", at)
    end = feed if feed >= 0 else len(text)
    back = text.find("\r", at, end)
    return back if back >= 0 else end


def next_line(text: str, at: int) -> int:
    """Where the line below begins."""
    end = line_end(text, at)
    return end + 2 if text.startswith("\r\n", end) else min(end + 1, len(text))


def column(text: str, at: int) -> int:
    return at - line_start(text, at)


def below(text: str, end: int) -> int:
    """Where the line below something that ends at `end` begins; a block scalar ends there already."""
    return end if text[end - 1 : end] in ("\n", "\r") else next_line(text, end)


def rest_of_line(text: str, end: int) -> str:
    """What stands behind something on its line: nothing, or a comment with the blanks before it."""
    return "" if text[end - 1 : end] in ("\n", "\r") else text[end : line_end(text, end)].rstrip()


def comment_behind(text: str, end: int) -> list[str]:
    """The comment behind something on its line, if there is one."""
    found = rest_of_line(text, end).strip()
    return [found] if found else []


def line_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Every line that begins in [start, end)."""
    at = start if start == line_start(text, start) else next_line(text, start)
    while at < end:
        yield at
        at = next_line(text, at)


def shift(text: str, start: int, end: int, by: int) -> list[Edit]:
    """Moves the lines that begin in [start, end) to the right, or to the left as far as there are blanks."""
    edits = [_shifted(at, text[at : line_end(text, at)], by) for at in line_starts(text, start, end)]
    return [edit for edit in edits if edit.end > edit.start or edit.text]


def _shifted(at: int, line: str, by: int) -> Edit:
    if by > 0:
        return Edit(at, at, " " * by if line else "")
    return Edit(at, at + min(-by, len(line) - len(line.lstrip(" "))), "")


def moved_lines(text: str, start: int, end: int, by: int) -> list[str]:
    """The lines of [start, end), moved to the right, or to the left as far as there are blanks."""
    return [_moved(line, by) for line in text[start:end].split(newline(text))]


def _moved(line: str, by: int) -> str:
    if by >= 0:
        return " " * by + line if line else line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def insert_lines(text: str, at: int, lines: list[str]) -> Edit:
    """Puts whole lines before the line that begins at `at`, or behind a last line that has no break."""
    end = newline(text)
    missing = end if at and text[at - 1] not in "\r\n" and text[at - 1] != BYTE_ORDER_MARK else ""
    body = end.join(lines)
    return Edit(at, at, missing + body + ("" if missing else end))


def comments_below(text: str, end: int, indent: int) -> int:
    """The end of the comment lines below `end` that are indented by more than `indent`."""
    at = last = below(text, end)
    while at < len(text):
        line = text[at : line_end(text, at)]
        stripped = line.lstrip(" ")
        if stripped and (not stripped.startswith("#") or len(line) - len(stripped) <= indent):
            break
        at = next_line(text, at)
        last = at if stripped else last
    return last


def colon(text: str, entry: Entry) -> int | None:
    """The offset behind the colon of a key; None for the rare form that begins with a question mark."""
    at = entry.key.end
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at + 1 if text[at : at + 1] == ":" else None


def is_inline(entry: Entry) -> bool:
    """Whether the value stands behind its key, and not elsewhere behind an alias."""
    return entry.key.end <= entry.value.start and entry.value.end <= entry.end


def holds(parent: Sequence, item: Node) -> bool:
    """Whether a list's item stands in the list, and not elsewhere behind an alias."""
    return parent.start <= item.start and item.end <= parent.end


def has_gap_comments(text: str, node: Mapping | Sequence) -> bool:
    """Whether a flow collection holds a comment directly between its parts."""
    at = node.start
    parts = (
        [(entry.key.start, entry.end) for entry in node.entries]
        if isinstance(node, Mapping)
        else [(item.start, item.end) for item in node.items]
    )
    for start, end in (*parts, (node.end, node.end)):
        if "#" in text[at:start]:
            return True
        at = end
    return False


def comments_above(text: str, entry: Entry) -> tuple[int, list[str]]:
    """The comment lines directly above an entry, at its own column: where they begin, and what they say."""
    start = line_start(text, entry.key.start)
    margin = text[start : entry.key.start]
    found: list[str] = []
    while start and not margin.strip():
        above = line_start(text, start - 1)
        line = text[above : line_end(text, above)]
        if not line.startswith(f"{margin}#"):
            break
        found.insert(0, line.strip())
        start = above
    return start, found


def cut_line_entry(text: str, entry: Entry, mapping: Mapping) -> Edit | None:
    """Takes an entry out of a block mapping, its line's comment too; None where a dash would be left with nothing."""
    start = line_start(text, entry.key.start)
    if not text[start : entry.key.start].strip(" "):
        return cut_lines(text, start, below(text, entry.end))
    following = next((other for other in mapping.entries if other.key.start > entry.key.start), None)
    if following is None:
        return None
    between = text[below(text, entry.end) : following.key.start].splitlines()
    kept = [line.strip() for line in between if line.strip()]
    return Edit(entry.key.start, following.key.start, beside_dash(text, entry, kept))


def beside_dash(text: str, entry: Entry, comments: Iterable[str]) -> str:
    """Comments that stand between a dash and its first key, instead of an entry."""
    pad = newline(text) + " " * column(text, entry.key.start)
    return "".join(comment + pad for comment in comments)


def cut_lines(text: str, start: int, end: int) -> Edit:
    """Takes lines out, and where blank lines stand on both sides, one of those too."""
    is_between_blanks = start > 0 and _is_blank(text, line_start(text, start - 1)) and _is_blank(text, end)
    return Edit(start, next_line(text, end) if is_between_blanks else end, "")


def _is_blank(text: str, at: int) -> bool:
    return at < len(text) and not text[at : line_end(text, at)].strip()


def cut_flow_entry(text: str, entry: Entry, mapping: Mapping) -> Edit | None:
    """Takes an entry out of a flow mapping; None where nothing would be left, or a comment would go with it."""
    at = mapping.entries.index(entry)
    if len(mapping.entries) == 1:
        return None
    if at + 1 < len(mapping.entries):
        start, end = entry.key.start, mapping.entries[at + 1].key.start
        gap = text[entry.end : end]
    else:
        start, end = mapping.entries[at - 1].end, entry.end
        gap = text[start : entry.key.start]
    return None if "#" in gap else Edit(start, end, "")


def cut(text: str, entry: Entry, mapping: Mapping) -> Edit | None:
    return cut_flow_entry(text, entry, mapping) if mapping.flow else cut_line_entry(text, entry, mapping)
