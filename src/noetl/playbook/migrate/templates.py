"""Words inside templates: `outcome` is `output`, `args` is `input`, `result` is the data, `success` is `ok`."""

import re
from collections.abc import Iterator

from noetl.expressions.sites import Site
from noetl.expressions.template import NameUse, Segment
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.migrate.endings import Scene, final_kinds, task_of
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.source.nodes import Mapping
from noetl.playbook.source.positions import locate, replace_in_scalar

ARGS, OUTCOME, RESULT, SUCCESS, FIELD = "NOE602", "NOE603", "NOE607", "NOE711", "NOE712"
OUTPUTS = ("outcome", "output")
RESULTS = ("result", "result_ref")
AFTER_TASK = (Site.RULE_WHEN, Site.RULE_SET, Site.TASK_SET, Site.SELECT, Site.DELAY)
AFTER_STEP = (Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS)
HTTP_PARTS = {"data": "output.data", "status_code": "output.http.status", "headers": "output.http.headers"}
HTTP_WHOLE = "{" + ", ".join(f"'{part}': {path}" for part, path in HTTP_PARTS.items()) + "}"
OLD_FIELDS: dict[tuple[str, ...], str] = {
    ("py", "exception"): "output.py.exception_type",
    ("pg", "message"): "output.error.message",
}

_FILTERS = r"(?:\s*\|\s*(?:lower|string|trim))*"
_SUCCESS_BEHIND = re.compile(rf"{_FILTERS}[\s)]*[=!]=\s*(['\"])(success)\1")
_SUCCESS_BEFORE = re.compile(r"(['\"])(success)\1\s*[=!]=[\s(]*$")
_SUCCESS_AMONG = re.compile(rf"{_FILTERS}[\s)]+(?:not\s+)?in\s*[\[(][^\])]*?(['\"])(success)\1")


def in_scalar(scene: Scene, use: TemplateUse, start: int, end: int, new: str) -> Edit:
    edit = replace_in_scalar(scene.document.source, use.node, start, end, new)
    if edit is None:
        raise Untranslatable(f"write `{new}` here by hand; the text is folded or escaped in a way that hides the place")
    return edit


def owner_of(scene: Scene, use: TemplateUse) -> Mapping | None:
    """The node of the step in which a template stands."""
    step = scene.owner(use.place)
    return scene.document.node(step) if step is not None else None


def rewrite_status(document: Document) -> Iterator[Rewrite]:
    """`outcome.status == 'success'`; an event's status keeps the word."""
    scene = Scene(document)
    for use in document.notes.templates:
        for name in use.template.names:
            for start, end in _successes(scene, use, name):
                span = locate(scene.document.source, use.node, start, end).span
                what = "an output's status `success` is `ok`"
                yield attempt(SUCCESS, span, what, _replaced, scene, use, start, end, "ok")


def _replaced(scene: Scene, use: TemplateUse, start: int, end: int, new: str) -> list[Edit]:
    return [in_scalar(scene, use, start, end, new)]


def _successes(scene: Scene, use: TemplateUse, name: NameUse) -> Iterator[tuple[int, int]]:
    is_output = name.root in OUTPUTS or _is_result_holder(scene, use, name)
    if not is_output or [segment.name for segment in name.segments] != ["status"]:
        return
    text = use.template.text
    behind = segment_end(text, name.segments[0])
    for found in (
        _SUCCESS_BEHIND.match(text, behind),
        _SUCCESS_AMONG.match(text, behind),
        _SUCCESS_BEFORE.search(text, 0, name.start),
    ):
        if found is not None:
            yield found.span(2)


def _is_result_holder(scene: Scene, use: TemplateUse, name: NameUse) -> bool:
    """Whether a name is a task of the pipeline or a step."""
    is_task = use.site.sees_tasks and name.root in use.place.frame.tasks
    return is_task or name.root in scene.steps


def segment_end(text: str, segment: Segment) -> int:
    """The end of a key behind a root name, its bracket included."""
    if text[segment.start] not in "'\"":
        return segment.end
    return text.index("]", segment.end) + 1


def rewrite_fields(document: Document) -> Iterator[Rewrite]:
    """Parts of an output that had another name."""
    scene = Scene(document)
    for use in document.notes.templates:
        for name in use.template.names:
            new = OLD_FIELDS.get(tuple(segment.name for segment in name.segments[:2])) if name.root in OUTPUTS else None
            if new is not None:
                end = segment_end(use.template.text, name.segments[1])
                span = locate(scene.document.source, use.node, name.start, end).span
                what = f"the output's `{name.segments[0].name}.{name.segments[1].name}` is `{new}`"
                yield attempt(FIELD, span, what, _replaced, scene, use, name.start, end, new)


def rewrite_words(document: Document) -> Iterator[Rewrite]:
    """`outcome`, `args` and `result`, each use by itself."""
    scene = Scene(document)
    for use in document.notes.templates:
        for name in use.template.names:
            yield from _words(scene, use, name)


def _words(scene: Scene, use: TemplateUse, name: NameUse) -> Iterator[Rewrite]:
    reads_result = bool(name.segments) and name.segments[0].name in RESULTS
    if name.root in OUTPUTS and reads_result:
        span = locate(
            scene.document.source, use.node, name.start, segment_end(use.template.text, name.segments[0])
        ).span
        yield attempt(RESULT, span, "`result` is the output's `data`", _result, scene, use, name)
    elif reads_result and _is_result_holder(scene, use, name):
        span = locate(
            scene.document.source, use.node, name.start, segment_end(use.template.text, name.segments[0])
        ).span
        yield attempt(RESULT, span, "`result` is the output's `data`", _held_result, scene, use, name)
    elif name.root in ("outcome", "args"):
        new = "output" if name.root == "outcome" else "input"
        span = locate(scene.document.source, use.node, name.start, name.end).span
        code = OUTCOME if name.root == "outcome" else ARGS
        what = f"`{name.root}` in a template is `{new}`"
        yield attempt(code, span, what, _replaced, scene, use, name.start, name.end, new)


def _result(scene: Scene, use: TemplateUse, name: NameUse) -> list[Edit]:
    """The whole chain as far as its meaning differs."""
    text = use.template.text
    first = name.segments[0]
    if first.name == "result_ref":
        return _replaced(scene, use, name.start, segment_end(text, first), "output.ref")
    if not _is_http(scene, use):
        return _replaced(scene, use, name.start, segment_end(text, first), "output.data")
    if len(name.segments) == 1:
        return _replaced(scene, use, name.start, segment_end(text, first), HTTP_WHOLE)
    part = name.segments[1]
    if part.name not in HTTP_PARTS:
        raise Untranslatable(f"the result of http has `data`, `status_code` and `headers`, but no `{part.name}`")
    return _replaced(scene, use, name.start, segment_end(text, part), HTTP_PARTS[part.name])


def _is_http(scene: Scene, use: TemplateUse) -> bool:
    """Whether the output that a template sees is that of an http task."""
    owner = scene.owner(use.place)
    task = task_of(owner, use.place.task)
    if use.site in AFTER_TASK and task is not None:
        return task.kind == "http"
    kinds = final_kinds(owner) if use.site in AFTER_STEP else {each.kind for each in owner.tool} if owner else set()
    if "http" in kinds and len(kinds) > 1:
        raise Untranslatable("the output may be that of http or of another kind; set what you need in the task itself")
    return "http" in kinds


def _held_result(scene: Scene, use: TemplateUse, name: NameUse) -> list[Edit]:
    """`<task>.result` and `<step>.result`."""
    text = use.template.text
    first = name.segments[0]
    if first.name == "result_ref":
        return _replaced(scene, use, name.end, segment_end(text, first), ".ref")
    own = scene.owner(use.place)
    task = task_of(own, name.root) if own is not None and use.site.sees_tasks else None
    kinds = {task.kind} if task is not None else final_kinds(scene.steps.get(name.root))
    if "http" not in kinds:
        return _replaced(scene, use, name.end, segment_end(text, first), ".data")
    if kinds == {"http"} and len(name.segments) > 1 and name.segments[1].name == "data":
        return _replaced(scene, use, name.end, segment_end(text, name.segments[1]), ".data")
    raise Untranslatable("of an http task only `data` can be read from elsewhere; set the rest in the task itself")
