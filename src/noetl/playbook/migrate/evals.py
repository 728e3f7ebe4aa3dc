"""`eval` becomes `spec.policy.rules`: `expr` is `when`, the rest goes under `then`, and its default is written out.

Two steps: the entries are rewritten where they stand, then the list moves. Nothing is done unless all of it can be.
"""

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
    newline,
    shift,
)
from noetl.playbook.migrate.compose import New, cut_entry, flow_text, item_lines, replace_entry, tail
from noetl.playbook.migrate.rewrite import UNTOLD, Rewrite, Untranslatable, attempt, rename_key
from noetl.playbook.migrate.walk import arcs, rules, steps, tasks
from noetl.playbook.reading import mapping, mappings
from noetl.playbook.source.nodes import Entry, Mapping, Scalar, Sequence

CODE = "NOE701"
PATH = ("spec", "policy", "rules")
CONDITIONS = ("expr", "when")
WORDS = frozenset(
    ("do", "attempts", "backoff", "delay", "max_delay", "jitter", "to", "set", "set_ctx", "set_iter", "set_vars")
)
DEFAULT_RULES: list[New] = [
    {"when": "\"{{ output.status == 'error' }}\"", "then": "{ do: fail }"},
    {"else": {"then": "{ do: continue }"}},
]
"""What no policy means, as rules: an error fails, anything else goes on."""

REFUSED_WORDS = {
    "set_prev": (
        "`set_prev` has no successor: nothing but a task's result writes `_prev`; "
        "write the value to `step` or `iter` and read it there"
    ),
    "set_shared": (
        "`set_shared` has no successor: write to `ctx`, "
        "and choose how the iterations' values become one under `loop.spec.policy.reduce`"
    ),
}


def rewrite_eval_entries(document: Document) -> Iterator[Rewrite]:
    """`expr`, `do` and their like to `when` and `then`, inside the `eval`."""
    text = document.source.text
    for task in tasks(document.root):
        entry = task.body.entry("eval")
        if entry is not None and (edits := _attempted(text, entry, task.body)):
            yield Rewrite(CODE, entry.key.span, UNTOLD, tuple(edits))


def _attempted(text: str, entry: Entry, body: Mapping) -> list[Edit]:
    """The edits inside an `eval`; none where it cannot be translated, which the second step then says."""
    try:
        moved(text, entry, body)
        return _entries(text, _checked(entry))
    except Untranslatable:
        return []


def rewrite_evals(document: Document) -> Iterator[Rewrite]:
    """The list to `spec.policy.rules`."""
    text = document.source.text
    for task in tasks(document.root):
        entry = task.body.entry("eval")
        if entry is not None:
            what = "moved `eval` to `spec.policy.rules`"
            yield attempt(CODE, entry.key.span, what, moved, text, entry, task.body)
    for step in steps(document.root):
        entry = step.entry("eval")
        if entry is not None:
            reason = "`eval` stands on a step; move it to the task whose output it looks at"
            yield Rewrite(CODE, entry.key.span, "moved `eval`", reason=reason)


def moved(text: str, entry: Entry, body: Mapping) -> list[Edit]:
    _checked(entry)
    return replace_entry(text, body, entry, PATH, tail(text, entry, body))


def _checked(entry: Entry) -> Sequence:
    rules = entry.value
    if not isinstance(rules, Sequence) or not is_inline(entry):
        raise Untranslatable("`eval` holds no list of entries here")
    for position, item in enumerate(rules.items, 1):
        if not isinstance(item, Mapping) or not holds(rules, item):
            raise Untranslatable(f"entry {position} of `eval` is no mapping that stands here")
        _check_item(item, is_last=position == len(rules.items))
    return rules


def _check_item(item: Mapping, *, is_last: bool) -> None:
    otherwise = item.get("else")
    if otherwise is not None and (len(item.entries) > 1 or not is_last):
        raise Untranslatable("`else` stands alone and last")
    if otherwise is None and len(item.keys() & set(CONDITIONS)) != 1:
        raise Untranslatable("an entry of `eval` has neither `expr` nor `else`; write its condition")
    body = otherwise if otherwise is not None else item
    if not isinstance(body, Mapping):
        raise Untranslatable("`else` holds no directive")
    said = mapping(body, "then") or body
    for entry in said.entries:
        _check_word(entry.key)
    if said.get("do") is None:
        raise Untranslatable("an entry of `eval` has no `do`; say what to do")


def _check_word(key: Scalar) -> None:
    if key.text in REFUSED_WORDS:
        raise Untranslatable(REFUSED_WORDS[key.text], key.span)
    if key.text not in WORDS and key.text not in CONDITIONS:
        raise Untranslatable(f"`{key.text}` is no word of `eval`", key.span)


def _entries(text: str, rules: Sequence) -> list[Edit]:
    edits = [edit for item in mappings_in(rules) for edit in _item(text, item)]
    if not any(item.get("else") is not None for item in mappings_in(rules)):
        has_error = any(_asks_for_error(item) for item in mappings_in(rules))
        edits.append(append_items(text, rules, DEFAULT_RULES[1:] if has_error else DEFAULT_RULES))
    return edits


def _asks_for_error(item: Mapping) -> bool:
    """Whether an entry takes every error, so that a rule for the rest of them could never match."""
    when = item.get("expr") or item.get("when")
    words = when.text.replace('"', "'").strip("{ }").split() if isinstance(when, Scalar) else []
    return words in (["outcome.status", "==", "'error'"], ["output.status", "==", "'error'"])


def mappings_in(rules: Sequence) -> list[Mapping]:
    return [item for item in rules.items if isinstance(item, Mapping)]


def _item(text: str, item: Mapping) -> list[Edit]:
    otherwise = item.get("else")
    if isinstance(otherwise, Mapping):
        return [] if otherwise.get("then") is not None else _wrapped(text, otherwise)
    condition = next(entry for entry in item.entries if entry.key.text in CONDITIONS)
    renamed = [rename_key(condition, "when")] if condition.key.text == "expr" else []
    if item.get("then") is not None:
        return renamed
    if condition is item.entries[0]:
        return [*renamed, *_wrapped(text, item, skip=1)]
    return _reordered(text, item, condition)


def _wrapped(text: str, body: Mapping, skip: int = 0) -> list[Edit]:
    """Puts the entries, but for the first `skip`, under a `then` of their own."""
    first, end = body.entries[skip].key.start, body.entries[-1].end
    if body.flow:
        return [Edit(first, first, "then: { "), Edit(end, end, " }")]
    start = line_start(text, first)
    lines = insert_lines(text, start, [" " * column(text, first) + "then:"])
    return [lines, *shift(text, start, below(text, end), INDENT)]


def _reordered(text: str, item: Mapping, condition: Entry) -> list[Edit]:
    """The condition goes to the front; it may stand anywhere among the directives."""
    first, last = item.entries[0].key.start, item.entries[-1]
    if item.flow:
        head = f"when: {text[condition.value.start : condition.value.end]}, then: {{ "
        taken = cut_entry(text, condition, item)
        if condition is last:
            return [Edit(first, first, head), Edit(taken.start, taken.end, " }")]
        return [Edit(first, first, head), taken, Edit(last.end, last.end, " }")]
    pad, margin = " " * INDENT, column(text, first)
    value = tail(text, condition, item)
    below_when = [" " * margin + line for line in value.lines[1:]]
    lines = [f"when:{value.lines[0]}", *below_when, " " * margin + "then:", " " * margin + pad]
    start, stop = line_start(text, condition.key.start), below(text, condition.end)
    kept = [*shift(text, first, start, INDENT), *shift(text, stop, below(text, last.end), INDENT)]
    return [Edit(first, first, newline(text).join(lines)), Edit(start, stop, ""), *kept]


def append_items(text: str, rules: Sequence, items: list[New]) -> Edit:
    if rules.flow:
        written = ", ".join(str(flow_text(item)) for item in items)
        at = rules.items[-1].end if rules.items else rules.start + 1
        return Edit(at, at, f", {written}" if rules.items else written)
    margin = column(text, rules.start)
    return insert_lines(text, below(text, rules.end), [line for item in items for line in item_lines(item, margin)])


def rewrite_exprs(document: Document) -> Iterator[Rewrite]:
    """`expr` to `when` in rules and arcs that otherwise have today's form."""
    for holder in _guarded(document.root):
        entry = holder.entry("expr")
        if entry is not None:
            yield attempt(CODE, entry.key.span, "renamed `expr` to `when`", _renamed, holder, entry)


def _guarded(root: Mapping) -> Iterator[Mapping]:
    yield from rules(root)
    for step in steps(root):
        yield from arcs(step)
        yield from mappings(mapping(mapping(mapping(step, "spec"), "policy"), "admit"), "rules")


def _renamed(holder: Mapping, entry: Entry) -> list[Edit]:
    if holder.get("when") is not None:
        raise Untranslatable("there is a `when` beside it; keep the one you mean")
    return [rename_key(entry, "when")]
