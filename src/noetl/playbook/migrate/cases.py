"""`case`, where it does nothing but route, becomes arcs; what else it did is left to a person."""

import re
from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import column, holds, insert_lines, is_inline, line_start
from noetl.playbook.migrate.compose import (
    New,
    commented,
    comments,
    cut_entry,
    entry_end,
    flow_text,
    item_lines,
    plain,
    replace_entry,
)
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import steps
from noetl.playbook.model import RouteMode
from noetl.playbook.reading import mapping
from noetl.playbook.reading import text as text_of
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar, Sequence

CODE = "NOE707"
EVENTS = frozenset(("step.done", "step.failed", "loop.done"))
_EVENT_NAME = re.compile(r"event\.name\s*[=!]=\s*['\"]([^'\"]*)['\"]")


def rewrite_cases(document: Document) -> Iterator[Rewrite]:
    for step in steps(document.root):
        entry = step.entry("case")
        if entry is not None:
            yield attempt(
                CODE, entry.key.span, "made `case` arcs of `next`", _routed, document.source.text, step, entry
            )


def _routed(text: str, step: Mapping, entry: Entry) -> list[Edit]:
    if not isinstance(entry.value, Sequence) or not is_inline(entry):
        raise Untranslatable("`case` holds no list of its own")
    found = [_arc(text, entry.value, item) for item in entry.value.items]
    if not found:
        raise Untranslatable("`case` is empty; delete it")
    arcs = [commented(comments(text, entry.key.end, entry.value.start, entry.key), found[0]), *found[1:]]
    routed = step.get("next")
    if routed is None:
        return replace_entry(text, step, entry, ("next", "arcs"), [*arcs])
    return [_before(text, routed, arcs), cut_entry(text, entry, step)]


def _arc(text: str, cases: Sequence, item: Node) -> dict[str, New]:
    if not isinstance(item, Mapping) or not holds(cases, item):
        raise Untranslatable("an entry of `case` is no mapping that stands here")
    arc = _target(_then(item))
    when = item.get("when")
    if isinstance(when, Scalar):
        _check_events(when.text)
        arc["when"] = plain(when)
    last = item.entries[-1]
    return commented(comments(text, item.start, entry_end(text, last), item), arc)


def _then(item: Mapping) -> Node | None:
    """What one entry does; it is only routing if that is `next` alone."""
    unknown = set(item.keys()) - {"when", "then", "else"}
    if unknown:
        raise Untranslatable(f"`{min(unknown)}` in `case` does more than routing; make it a task's rule")
    holder = mapping(item, "else") or item
    then = holder.get("then") if holder.get("then") is not None else holder
    if isinstance(then, Sequence) and len(then.items) == 1:
        then = then.items[0]
    if not isinstance(then, Mapping) or set(then.keys()) != {"next"}:
        raise Untranslatable("`then` does more than name the next step; make the rest a task's rule or a `set`")
    return then.get("next")


def _target(node: Node | None) -> dict[str, New]:
    if isinstance(node, Sequence):
        if len(node.items) != 1:
            raise Untranslatable("one entry leads to several steps; write an arc for each, with `mode: inclusive`")
        node = node.items[0]
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return {"step": node.text}
    name = text_of(node, "step")
    if name is None or not isinstance(node, Mapping) or len(node.entries) > 1:
        raise Untranslatable("`next` holds more than a step's name; write the arc by hand")
    return {"step": name}


def _check_events(when: str) -> None:
    for found in _EVENT_NAME.finditer(when):
        if found[1] not in EVENTS:
            raise Untranslatable(
                f"there is no event `{found[1]}` at a step's end; there are {', '.join(sorted(EVENTS))}"
            )


def _before(text: str, routed: Node, arcs: list[dict[str, New]]) -> Edit:
    """Puts arcs before those there are."""
    found = routed.get("arcs") if isinstance(routed, Mapping) else None
    if not isinstance(found, Sequence) or not found.items or not holds(found, found.items[0]):
        raise Untranslatable("`next` has no arcs of its own beside it")
    if text_of(mapping(routed, "spec"), "mode") == RouteMode.INCLUSIVE:
        raise Untranslatable("`next` is inclusive, so all its arcs would fire beside those of `case`")
    if not found.flow:
        margin = column(text, found.start)
        lines = [line for arc in arcs for line in item_lines(arc, margin)]
        return insert_lines(text, line_start(text, found.start), lines)
    written = [flow_text(arc) for arc in arcs]
    if None in written:
        raise Untranslatable("`case` holds comments that cannot stand between the brackets of `next`")
    return Edit(found.items[0].start, found.items[0].start, "".join(f"{arc}, " for arc in written))
