"""`arcs[].args` become `set: ctx.…` on the arc and `input` on the step it leads to.

A v10 token carries its args on through the steps it passes; where a later step needs one, the way is written out arc by
arc. All steps that hang together so are rewritten at once or not at all.
"""

import re
from collections.abc import Iterator
from collections.abc import Mapping as Lookup

import msgspec

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.document import Document
from noetl.playbook.migrate.blocks import below, column, insert_lines, is_inline
from noetl.playbook.migrate.compose import New, block_lines, comments, cut_entry, entry_end, put, tail
from noetl.playbook.migrate.endings import Scene
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt, rename_key
from noetl.playbook.migrate.templates import in_scalar, segment_end
from noetl.playbook.migrate.tokens import Tokens, Way
from noetl.playbook.migrate.walk import arcs, steps
from noetl.playbook.model import Join, OnDeny, RouteMode
from noetl.playbook.source.nodes import Entry, Mapping
from noetl.playbook.source.scalars import quote
from noetl.playbook.structure import is_name

CODE = "NOE605"

Names = dict[tuple[str, str], str]
"""The ctx name for each step and key."""


class Handover(msgspec.Struct):
    scene: Scene
    tokens: Tokens
    names: Names


def rewrite_arc_args(document: Document) -> Iterator[Rewrite]:
    written = [arc for step in steps(document.root) for arc in arcs(step) if arc.entry("args") is not None]
    if not written:
        return
    tokens = Tokens(document)
    handover = Handover(Scene(document), tokens, _named(document, tokens))
    for group in tokens.groups():
        edits, reason = _group_edits(handover, group)
        for way in (way for target in sorted(group) for way in tokens.ways[target] if way.arc.args):
            arc = document.node(way.arc)
            written = [other for other in written if other is not arc]
            yield Rewrite(CODE, _span(arc), "handed the values of `args` on through `ctx`", tuple(edits), reason)
    for arc in written:
        yield attempt(CODE, _span(arc), "left out `args` without values", _emptied, document.source.text, arc)


def _span(arc: Mapping) -> Span:
    key = arc.key("args")
    assert key is not None
    return key.span


def _emptied(text: str, arc: Mapping) -> list[Edit]:
    """No step receives these `args`: there is none of that name, or there is nothing in them."""
    entry = arc.entry("args")
    assert entry is not None
    if not isinstance(entry.value, Mapping) or entry.value.entries:
        raise Untranslatable("the arc leads to no step that could receive them")
    return [cut_entry(text, entry, arc)]


def _group_edits(handover: Handover, group: set[str]) -> tuple[list[Edit], str | None]:
    try:
        return [edit for target in sorted(group) for edit in _target_edits(handover, target)], None
    except Untranslatable as refusal:
        return [], refusal.reason


def _target_edits(handover: Handover, target: str) -> list[Edit]:
    tokens = handover.tokens
    _check_target(tokens, target)
    carried = tokens.carried(target)
    edits = [edit for way in tokens.ways[target] for edit in _arc_edits(handover, way, target, carried)]
    bound = sorted(key for key in carried if _is_bound(tokens, target, key))
    return [*edits, *_input_edits(handover, target, bound), *_server_reads(handover, target)]


def _is_bound(tokens: Tokens, target: str, key: str) -> bool:
    """Whether the step takes a value: one it needs, or one that every arc to it gives."""
    is_given = target != tokens.entry and all(key in way.arc.args for way in tokens.ways[target])
    return key not in tokens.steps[target].input and (key in tokens.needed[target] or is_given)


def _check_target(tokens: Tokens, target: str) -> None:
    step = tokens.steps[target]
    missing = tokens.needed[target] - tokens.sure[target]
    if missing:
        raise Untranslatable(f'`{min(missing)}` reaches step "{target}" on some ways only; give it on all of them')
    if step.admit is not None and step.admit.on_deny is OnDeny.WAIT:
        raise Untranslatable(
            f'tokens may wait at step "{target}", each with values of its own, and `ctx` holds only one'
        )
    passed = {key for key in tokens.passed_on(target) if key in step.input}
    if passed:
        raise Untranslatable(f'step "{target}" has an `input` `{min(passed)}` and hands a token\'s `{min(passed)}` on')
    mixed = {key for key in tokens.carried(target) if tokens.is_sometimes_reference(target, key)}
    if mixed:
        raise Untranslatable(f'`{min(mixed)}` is a reference on some ways to step "{target}" only')
    sources = [way.source for way in tokens.ways[target] if tokens.steps[way.source].next.mode is RouteMode.INCLUSIVE]
    if len(set(sources)) < len(sources) and step.join is Join.EACH:
        raise Untranslatable(f'one step may send two tokens to step "{target}" at once, and `ctx` holds only one')


def _arc_edits(handover: Handover, way: Way, target: str, carried: Lookup[str, None]) -> list[Edit]:
    text = handover.scene.document.source.text
    arc = handover.scene.document.node(way.arc)
    through: dict[str, New] = {
        f"ctx.{handover.names[target, key]}": _reading("input", key)
        for key in carried
        if key not in way.arc.args and key in handover.tokens.needed[target] & handover.tokens.given[way.source]
    }
    entry = arc.entry("args")
    if entry is None:
        return _added(text, arc, through)
    if not isinstance(entry.value, Mapping) or not is_inline(entry):
        raise Untranslatable("`args` holds no mapping of its own")
    if arc.get("set") is not None:
        own = _moved(handover, arc, entry, entry.value, target)
        return [*_added(text, arc, own | through), cut_entry(text, entry, arc)]
    renamed = [rename_key(inner, f"ctx.{handover.names[target, inner.key.text]}") for inner in entry.value.entries]
    more = [edit for key, value in through.items() for edit in put(text, arc, ("args", key), value)]
    return [rename_key(entry, "set"), *renamed, *more]


def _moved(handover: Handover, arc: Mapping, entry: Entry, values: Mapping, target: str) -> dict[str, New]:
    """The values of `args` for the `set` beside it, and the comments between them."""
    text = handover.scene.document.source.text
    found: dict[str, New] = {}
    at = entry.key.end
    for inner in values.entries:
        found |= dict.fromkeys(comments(text, at, inner.key.start, inner.value), "")
        found[f"ctx.{handover.names[target, inner.key.text]}"] = tail(text, inner, values)
        at = inner.end if values.flow else entry_end(text, inner)
    beside = arc.get("set")
    if any(key.startswith("#") for key in found) and isinstance(beside, Mapping) and beside.flow:
        raise Untranslatable("`args` holds comments that cannot stand between the brackets of `set`")
    return found


def _added(text: str, arc: Mapping, values: dict[str, New]) -> list[Edit]:
    """Puts values into the `set` of an arc, or gives it one."""
    if arc.get("set") is None:
        return put(text, arc, ("set",), values) if values else []
    return [edit for key, value in values.items() for edit in put(text, arc, ("set", key), value)]


def _reading(scope: str, key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    path = f"{scope}.{key}" if is_name(key) else f"{scope}['{escaped}']"
    return quote(f"{{{{ {path} }}}}")


def _input_edits(handover: Handover, target: str, keys: list[str]) -> list[Edit]:
    if not keys:
        return []
    text = handover.scene.document.source.text
    step = handover.scene.document.node(handover.tokens.steps[target])
    values: dict[str, New] = {
        key if is_name(key) else quote(key): _reading("ctx", handover.names[target, key]) for key in keys
    }
    word = "input" if step.get("input") is not None else "args"
    if step.get(word) is not None:
        return [edit for key, value in values.items() for edit in put(text, step, (word, key), value)]
    if step.flow:
        return put(text, step, ("input",), values)
    above = step.entry("desc") or step.entry("step")
    assert above is not None
    lines = block_lines("input", values, column(text, step.entries[0].key.start))
    return [insert_lines(text, below(text, above.end), lines)]


def _server_reads(handover: Handover, target: str) -> list[Edit]:
    """Templates that read the args before the step's `input` is bound read them from ctx."""
    edits = []
    for use, name in handover.tokens.server_reads(target):
        if not name.segments:
            raise Untranslatable(
                f'a template of step "{target}" reads `{name.root}` as a whole; name the values it needs'
            )
        new = handover.names.get((target, name.segments[0].name))
        if new is not None:
            end = segment_end(use.template.text, name.segments[0])
            edits.append(in_scalar(handover.scene, use, name.start, end, f"ctx.{new}"))
    return edits


def _named(document: Document, tokens: Tokens) -> Names:
    """Names that nothing else uses, the same on every run."""
    taken = _ctx_names(document)
    names: Names = {}
    for step in document.playbook.workflow:
        for key in tokens.carried(step.name):
            wanted = _wanted(tokens, step.name, key)
            name, number = wanted, 2
            while name in taken:
                name, number = f"{wanted}_{number}", number + 1
            taken.add(name)
            names.setdefault((step.name, key), name)
    return names


def _wanted(tokens: Tokens, target: str, key: str) -> str:
    plain = re.sub(r"\W", "_", f"{target}_{key}")
    is_reference = (target, key) in tokens.references
    return f"{plain}_ref" if is_reference and not plain.endswith("_ref") else plain


def _ctx_names(document: Document) -> set[str]:
    read = {
        name.segments[0].name
        for use in document.notes.templates
        for name in use.template.names
        if name.root == "ctx" and name.segments
    }
    written = {use.target.split(".")[1] for use in document.notes.sets if use.target.startswith("ctx.")}
    return read | written
