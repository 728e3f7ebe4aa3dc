"""`_prev` after http: in v10 it is a mapping with `data`, `status_code` and `headers`, today it is the data itself."""

from collections.abc import Iterator

from noetl.expressions.template import NameUse
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.migrate.endings import Scene
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.templates import in_scalar, segment_end
from noetl.playbook.model import Block, Directive, Rule, Step, Task
from noetl.playbook.source.positions import locate

CODE = "NOE607"
NOTHING = ""
"""The producer of `_prev` before any task gave a result."""

PASSING = (Directive.CONTINUE, Directive.SKIP, Directive.JUMP)


def rewrite_previous(document: Document) -> Iterator[Rewrite]:
    """Each use of `_prev` whose meaning differs between v10 and today."""
    scene = Scene(document)
    states: dict[str, dict[str, frozenset[str]]] = {}
    for use in document.notes.templates:
        for name in use.template.names:
            if name.root != "_prev":
                continue
            producers = _producers(scene, use, states)
            if "http" in producers:
                end = segment_end(use.template.text, name.segments[0]) if name.segments else name.end
                span = locate(document.source, use.node, name.start, end).span
                what = "`_prev` after http is the data itself"
                yield attempt(CODE, span, what, _data, scene, use, name, producers)


def _producers(scene: Scene, use: TemplateUse, states: dict[str, dict[str, frozenset[str]]]) -> frozenset[str]:
    owner = scene.owner(use.place)
    if owner is None:
        return frozenset()
    title = use.place.frame.title
    if title not in states:
        states[title] = producers_of(owner)
    # Where two steps share a name, the task may be the other's.
    everything = frozenset(task.kind for task in owner.tool) | {NOTHING}
    return states[title].get(use.place.task or "", everything)


def _data(scene: Scene, use: TemplateUse, name: NameUse, producers: frozenset[str]) -> list[Edit]:
    if producers != {"http"}:
        raise Untranslatable(
            "whether an http task gave `_prev` is not certain here; read the task's own `.data` instead"
        )
    if not name.segments or name.segments[0].name != "data":
        raise Untranslatable("`_prev` is only the data now; set the status or the headers in the http task itself")
    return [in_scalar(scene, use, name.start, segment_end(use.template.text, name.segments[0]), "_prev")]


def producers_of(owner: Step | Block) -> dict[str, frozenset[str]]:
    """For each task the kinds of the tasks whose result may be `_prev` when it starts."""
    tasks = {task.name: task for task in owner.tool}
    followers = {
        task.name: _followers(task, after.name if after is not None else None)
        for task, after in zip(owner.tool, [*owner.tool[1:], None], strict=False)
    }
    found: dict[str, frozenset[str]] = {task.name: frozenset() for task in owner.tool}
    waiting = [(owner.tool[0].name, frozenset((NOTHING,)))] if owner.tool else []
    while waiting:
        name, arriving = waiting.pop()
        if name in tasks and not arriving <= found[name]:
            found[name] |= arriving
            leaving = _leaving(tasks[name], found[name])
            waiting.extend((follower, leaving) for follower in followers[name])
    return found


def _followers(task: Task, after: str | None) -> set[str]:
    rules = (*task.policy.rules, *task.policy.before) if task.policy is not None else ()
    jumps = {rule.then.to for rule in rules if rule.then.do is Directive.JUMP}
    return {name for name in (*jumps, after) if name is not None}


def _leaving(task: Task, arriving: frozenset[str]) -> frozenset[str]:
    if task.kind == "noop":
        return arriving
    may_keep = task.policy is not None and (bool(task.policy.before) or _passes_errors(task.policy.rules))
    return frozenset((task.kind,)) | (arriving if may_keep else frozenset())


def _passes_errors(rules: tuple[Rule, ...]) -> bool:
    """Whether the pipeline may go on behind an error, or behind an output that was dropped."""
    for rule in rules:
        if rule.then.do is Directive.SKIP or (rule.then.do in PASSING and not _asks_for(rule, "ok", "success")):
            return True
        if rule.then.do not in PASSING and _asks_for(rule, "error"):
            return any(later.then.do is Directive.SKIP for later in rules)
    return True


def _asks_for(rule: Rule, *statuses: str) -> bool:
    """Whether a guard is exactly a question for the status."""
    words = str(rule.when).replace('"', "'").strip("{ }").split()
    return any(
        words == [f"{root}.status", "==", f"'{status}'"] for root in ("output", "outcome") for status in statuses
    )
