"""`vars`: those of the root that nobody writes are `workload`, those of a step that nobody writes are its `input`, and
those that tasks write are `step`. Where a name could be either, a person has to say which.
"""

from collections.abc import Iterator

from noetl.expressions.template import NameUse, is_template
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.migrate.blocks import is_inline
from noetl.playbook.migrate.endings import Scene
from noetl.playbook.migrate.merging import listed, merge_entry
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt, rename_key
from noetl.playbook.migrate.sets import holders
from noetl.playbook.migrate.templates import in_scalar, owner_of
from noetl.playbook.migrate.walk import scalars, steps, tasks, tasks_of
from noetl.playbook.reading import mapping
from noetl.playbook.reading import text as text_of
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar
from noetl.playbook.source.positions import locate

Uses = list[tuple[TemplateUse, NameUse]]

CODE = "NOE706"
RECEIVERS = ("python", "script", "workbook")
LATER = ("outcome", "output", "result", "_prev", "iter", "vars")


def rewrite_variables(document: Document) -> Iterator[Rewrite]:
    """First what reads `vars`, together with where they are declared; then whatever else reads `vars`."""
    uses = [(use, name) for use in document.notes.templates for name in use.template.names if name.root == "vars"]
    scene, written = Scene(document), _written(document)
    declared = document.root.entry("vars")
    if declared is not None:
        what = "moved `vars` to `workload`"
        yield attempt(CODE, declared.key.span, what, _root, scene, declared, uses, written)
    for step in steps(document.root):
        entry = step.entry("vars")
        if entry is not None:
            what = "moved `vars` to the step's `input`"
            yield attempt(CODE, entry.key.span, what, _step, scene, step, entry, uses, written)
    if declared is None:
        yield from _uses(scene, uses)


def _written(document: Document) -> set[str]:
    """The names that anything writes to `vars` while the playbook runs."""
    found = {use.target.removeprefix("step.") for use in document.notes.sets if use.target.startswith("step.")}
    for task in tasks(document.root):
        found |= {entry.key.text for node in _written_in(task.body.get("eval")) for entry in node.entries}
    for holder in holders(document.root):
        found |= _keys(holder, "set_vars")
    return found


def _written_in(node: Node | None) -> Iterator[Mapping]:
    if isinstance(node, Mapping):
        written = mapping(node, "set_vars")
        if written is not None:
            yield written
        for entry in node.entries:
            yield from _written_in(entry.value)
    elif node is not None and not isinstance(node, Scalar):
        for item in node.items:
            yield from _written_in(item)


def _root(scene: Scene, declared: Entry, uses: Uses, written: set[str]) -> list[Edit]:
    document = scene.document
    names = _data(declared)
    if written & names:
        raise Untranslatable(f"tasks write {listed(written & names)}; such values belong in `ctx` or `step`")
    if any(step.get("vars") is not None for step in steps(document.root)):
        raise Untranslatable("steps have `vars` too; move those first")
    edits = _moved_to_workload(document, declared)
    for use, name in uses:
        if not name.segments:
            raise Untranslatable("a template reads `vars` as a whole; name the values it needs")
        if name.segments[0].name in names:
            edits.append(in_scalar(scene, use, name.start, name.end, "workload"))
        elif name.segments[0].name not in written:
            raise Untranslatable(f"a template reads `vars.{name.segments[0].name}`, which is not declared")
    return edits


def _data(declared: Entry) -> set[str]:
    """The names of a declaration that is plain data."""
    if not isinstance(declared.value, Mapping) or not is_inline(declared):
        raise Untranslatable("`vars` holds no mapping of its own")
    if any(is_template(scalar.text) for scalar in scalars(declared.value)):
        raise Untranslatable("`vars` holds templates, and `workload` is data; compute the values in a step's `set`")
    return set(declared.value.keys())


def _moved_to_workload(document: Document, declared: Entry) -> list[Edit]:
    """Renamed, or its lines put under the `workload` there is."""
    workload = document.root.entry("workload")
    if workload is None:
        return [rename_key(declared, "workload")]
    return merge_entry(document.source.text, document.root, declared, workload)


def _step(scene: Scene, step: Mapping, entry: Entry, uses: Uses, written: set[str]) -> list[Edit]:
    document = scene.document
    if not isinstance(entry.value, Mapping) or not is_inline(entry):
        raise Untranslatable("`vars` holds no mapping of its own")
    names = set(entry.value.keys())
    if document.root.get("vars") is not None:
        raise Untranslatable("the playbook has `vars` too; say which of them is meant where both are read")
    if names & written:
        raise Untranslatable(f"tasks write {listed(names & written)}; set it in the step's first task instead")
    _check_step(step, entry, names)
    given = step.entry("input") or step.entry("args")
    edits = [rename_key(entry, "input")] if given is None else merge_entry(document.source.text, step, entry, given)
    for use, name in uses:
        if owner_of(scene, use) is step and name.segments and name.segments[0].name in names:
            edits.append(in_scalar(scene, use, name.start, name.end, "input"))
    return edits


def _check_step(step: Mapping, entry: Entry, names: set[str]) -> None:
    for task in tasks_of(step):
        if text_of(task.body, "kind") in RECEIVERS:
            reason = "the step's `input` is also handed to its python, script and workbook tasks; add the values there"
            raise Untranslatable(reason)
        if names & {*_keys(task.body, "input"), *_keys(task.body, "args")}:
            raise Untranslatable("a task's `input` has one of these names too")
    if any(
        f"{word}." in scalar.text or f"{{{{ {word}" in scalar.text for scalar in scalars(entry.value) for word in LATER
    ):
        raise Untranslatable("a value reads what is known only while the step runs; write it with `set`")


def _keys(body: Mapping, word: str) -> set[str]:
    found = mapping(body, word)
    return set(found.keys()) if found is not None else set()


def _uses(scene: Scene, uses: Uses) -> Iterator[Rewrite]:
    """What still reads `vars` reads what tasks wrote in this step run."""
    for use, name in uses:
        step = owner_of(scene, use)
        declared = mapping(step, "vars") if step is not None else None
        if declared is None:
            span = locate(scene.document.source, use.node, name.start, name.end).span
            what = "`vars` in a template is `step`"
            yield attempt(CODE, span, what, _one, scene, use, name)


def _one(scene: Scene, use: TemplateUse, name: NameUse) -> list[Edit]:
    return [in_scalar(scene, use, name.start, name.end, "step")]
