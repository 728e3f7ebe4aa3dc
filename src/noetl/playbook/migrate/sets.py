"""`set_ctx`, `set_iter` and `set_vars` become one `set` whose keys name their scope."""

from collections.abc import Iterator, Sequence

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import (
    INDENT,
    below,
    colon,
    column,
    has_gap_comments,
    is_inline,
    line_end,
    line_start,
    moved_lines,
    newline,
    next_line,
    rest_of_line,
)
from noetl.playbook.migrate.compose import comments, cut_entry, entry_end
from noetl.playbook.migrate.evals import REFUSED_WORDS
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt, prefix_key, rename_key
from noetl.playbook.migrate.walk import scalars, steps, tasks, thens
from noetl.playbook.source.nodes import Entry, Mapping, Style

SCOPES = {"set_iter": "iter", "set_ctx": "ctx", "set_vars": "step"}
V10, OLDER = "NOE604", "NOE705"
OLDER_WORDS = frozenset(("set_vars", *REFUSED_WORDS))


def rewrite_set_vars(document: Document) -> Iterator[Rewrite]:
    """Where `set_vars` stands, or a word that cannot be translated."""
    for holder in holders(document.root):
        refused = [entry for entry in holder.entries if entry.key.text in REFUSED_WORDS]
        for entry in refused:
            what = f"translated `{entry.key.text}`"
            yield Rewrite(OLDER, entry.key.span, what, reason=REFUSED_WORDS[entry.key.text])
        if holder.get("set_vars") is not None and not refused:
            yield from _rewrites(document.source.text, holder)


def rewrite_sets(document: Document) -> Iterator[Rewrite]:
    for holder in holders(document.root):
        if not OLDER_WORDS & holder.keys():
            yield from _rewrites(document.source.text, holder)


def holders(root: Mapping) -> Iterator[Mapping]:
    """Whatever may write values: rules, tasks and steps."""
    yield from thens(root)
    yield from (task.body for task in tasks(root))
    yield from steps(root)


def _rewrites(text: str, holder: Mapping) -> Iterator[Rewrite]:
    """One rewrite, told once for each old word."""
    old = [entry for entry in holder.entries if entry.key.text in SCOPES]
    for entry in old:
        code = OLDER if entry.key.text == "set_vars" else V10
        what = f"wrote `{entry.key.text}` as `set` with `{SCOPES[entry.key.text]}.` before its keys"
        yield attempt(code, entry.key.span, what, _one_set, text, holder, old)


def _one_set(text: str, holder: Mapping, old: Sequence[Entry]) -> list[Edit]:
    parts = [entry for entry in holder.entries if entry in old or entry.key.text == "set"]
    _check(parts)
    if len(parts) == 1:
        return [rename_key(parts[0], "set"), *_scoped(parts[0])]
    return _merged_flow(text, holder, parts) if holder.flow else _merged_lines(text, holder, parts)


def _check(parts: Sequence[Entry]) -> None:
    targets: set[str] = set()
    for part in parts:
        if not isinstance(part.value, Mapping) or not is_inline(part):
            raise Untranslatable(f"`{part.key.text}` holds no mapping of its own")
        for entry in part.value.entries:
            target = _prefix(part) + entry.key.text
            if target in targets:
                raise Untranslatable(f"`{target}` is set twice; keep the value you mean")
            if entry.key.style in (Style.LITERAL, Style.FOLDED):
                raise Untranslatable("a key is written as a block of text")
            targets.add(target)


def _prefix(part: Entry) -> str:
    scope = SCOPES.get(part.key.text)
    return f"{scope}." if scope is not None else ""


def _scoped(part: Entry) -> list[Edit]:
    assert isinstance(part.value, Mapping)
    prefix = _prefix(part)
    return [prefix_key(entry.key, prefix) for entry in part.value.entries] if prefix else []


def _entry_text(text: str, part: Entry, entry: Entry) -> str:
    """An entry as it was written, with the scope before its key."""
    at = prefix_key(entry.key, "").start
    return text[entry.key.start : at] + _prefix(part) + text[at : entry.end].rstrip("\r\n")


def _merged_flow(text: str, holder: Mapping, parts: Sequence[Entry]) -> list[Edit]:
    first, *rest = parts
    written = [_entry_text(text, part, entry) for part in parts for entry in _entries(text, part)]
    taken = [_cut_behind(text, holder, part) for part in rest]
    return [Edit(first.key.start, first.end, f"set: {{ {', '.join(written)} }}"), *taken]


def _cut_behind(text: str, holder: Mapping, part: Entry) -> Edit:
    """Takes an entry out together with the comma before it; it is never the first of its mapping."""
    before = holder.entries[holder.entries.index(part) - 1]
    if "#" in text[before.end : part.key.start]:
        raise Untranslatable("it shares a bracket with a comment; move the comment first")
    return Edit(before.end, part.end, "")


def _entries(text: str, part: Entry) -> tuple[Entry, ...]:
    assert isinstance(part.value, Mapping)
    if part.value.flow and has_gap_comments(text, part.value):
        raise Untranslatable(f"`{part.key.text}` holds comments between brackets; write it in lines first")
    return part.value.entries


def _merged_lines(text: str, holder: Mapping, parts: Sequence[Entry]) -> list[Edit]:
    first, *rest = parts
    margin = column(text, first.key.start)
    lines = [f"set:{rest_of_key(text, first)}"]
    for part in parts:
        lines.extend(_lines(text, part, margin + INDENT, is_first=part is first))
        lines.extend([""] * _blank_lines(part))
    end = entry_end(text, first)
    for _ in range(_blank_lines(first)):
        end = line_end(text, next_line(text, end))
    return [
        Edit(first.key.start, end, newline(text).join(lines)),
        *(cut_entry(text, part, holder) for part in rest),
    ]


def _blank_lines(part: Entry) -> int:
    """How many blank lines at its end belong to a text that keeps them."""
    last = list(scalars(part.value))[-1:]
    if not last or last[0].style not in (Style.LITERAL, Style.FOLDED):
        return 0
    written = last[0].text.rstrip("\n")
    return len(last[0].text) - len(written) - bool(written)


def rest_of_key(text: str, part: Entry) -> str:
    """The comment on the line of a key whose mapping stands in the lines below, or behind a mapping in brackets."""
    assert isinstance(part.value, Mapping)
    if part.value.flow:
        return rest_of_line(text, part.end)
    after = colon(text, part)
    return rest_of_line(text, after) if after is not None else ""


def _lines(text: str, part: Entry, margin: int, *, is_first: bool) -> list[str]:
    assert isinstance(part.value, Mapping)
    pad = " " * margin
    head = [] if is_first else [pad + comment.strip() for comment in [rest_of_key(text, part)] if comment]
    if part.value.flow:
        return [*head, *(pad + _entry_text(text, part, entry) for entry in _entries(text, part))]
    return [*head, *_block_lines(text, part, part.value, margin)]


def _block_lines(text: str, part: Entry, mapping: Mapping, margin: int) -> list[str]:
    """The mapping's lines at another column, each key with its scope; lines between entries come along."""
    start, end = line_start(text, mapping.start), entry_end(text, part)
    above = comments(text, below(text, part.key.end), start, part.key)
    scoped = text[start:end]
    for entry in reversed(mapping.entries):
        at = prefix_key(entry.key, "").start - start
        scoped = scoped[:at] + _prefix(part) + scoped[at:]
    lines = moved_lines(scoped, 0, len(scoped), margin - column(text, mapping.start))
    return [*(" " * margin + comment for comment in above), *lines]
