"""A member of a scope that nobody writes, one letter away from one that somebody does."""

from collections.abc import Iterable, Iterator, Mapping

from noetl.errors import closest
from noetl.expressions.template import NameUse
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.rules.names import Sense, read_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, are_numbered, is_safe
from noetl.playbook.rules.written import owners
from noetl.playbook.source.positions import replace_in_scalar

OUTPUT = ("status", "data", "ref", "error", "meta", "loop")
"""What every output has; its kind adds blocks."""

EVENT = ("name", "step", "status", "step_run_id", "error", "loop")
ITERATION = ("index", "count", "parent")

ERROR = ("kind", "retryable", "message", "details")
LOOP = ("total", "succeeded", "failed", "skipped")
DEEPER = {
    ("output", "error"): ERROR,
    ("output", "loop"): LOOP,
    ("output", "meta"): ("attempt", "duration_ms", "started_at", "ts", "task_run_id", "delivery", "trace_id"),
    ("event", "error"): ERROR,
    ("event", "loop"): LOOP,
}
"""What the parts of an output and of an event hold."""

ELSEWHERE = {
    "output": {"body": "data", "json": "data", "text": "data", "rows": "data", "value": "data", "response": "data",
               "status_code": "http.status", "headers": "http.headers", "exit_code": "process.exit_code",
               "stdout": "process.stdout", "stderr": "process.stderr", "row_count": "pg.row_count"},
    "output.http": {"status_code": "status", "code": "status", "header": "headers"},
    "output.process": {"returncode": "exit_code", "return_code": "exit_code", "code": "exit_code", "rc": "exit_code"},
    "output.error": {"type": "kind", "msg": "message", "text": "message"},
    "output.loop": {"success": "succeeded", "ok": "succeeded", "errors": "failed", "count": "total"},
    "event": {"type": "name", "kind": "name", "event": "name", "state": "status"},
    "event.error": {"type": "kind", "msg": "message", "text": "message"},
    "event.loop": {"success": "succeeded", "ok": "succeeded", "errors": "failed", "count": "total"},
}  # fmt: skip
"""What other tools call the parts of an output and of an event."""

WHENCE = {
    "workload": "`workload` declares",
    "ctx": "some `set` writes",
    "step": "some `set` writes",
    "iter": "the loops and `set` give",
    "output": "an output has",
    "input": "some `input` gives",
    "event": "an event has",
}
"""Where the members of a scope come from, for the message."""


def check(document: Document) -> Iterator[Diagnostic]:
    scopes = {scope: Spelling(tuple(members)) for scope, members in _members(document).items()}
    known = {scope: frozenset(spelling.names) for scope, spelling in scopes.items()}
    for use in document.notes.templates:
        for name in use.template.names:
            members = known.get(name.root)
            if members is None or not name.segments or name.defaulted:
                continue
            if name.segments[0].name in members:
                yield from _deeper(document, use, name)
                continue
            near = _other_name(name.root, name.segments[0].name) or scopes[name.root].nearest(name.segments[0].name)
            if near is not None and not are_numbered(near, name.segments[0].name):
                yield _report(document, use, name, near)
    yield from _of_tasks_and_steps(document, scopes["output"])


def _deeper(document: Document, use: TemplateUse, name: NameUse) -> Iterator[Diagnostic]:
    first = name.segments[0].name
    members = DEEPER.get((name.root, first)) or (document.vocabulary.blocks.get(first) if name.root == "output" else ())
    if not members or len(name.segments) == 1 or name.segments[1].name in members:
        return
    part, member = f"{name.root}.{name.segments[0].name}", name.segments[1].name
    near = _other_name(part, member) or closest(member, members)
    if near is not None:
        yield _report(document, use, name, near, 1)


def _other_name(part: str, member: str) -> str | None:
    return ELSEWHERE.get(part, {}).get(member)


def _of_tasks_and_steps(document: Document, members: Spelling) -> Iterator[Diagnostic]:
    """A task or a step by its name is read like its output."""
    known, readings = frozenset(members.names), document.once(read_names)
    for reading in (*readings[Sense.TASK], *readings[Sense.STEP]):
        for name in reading.names:
            if name.segments and not name.defaulted and name.segments[0].name not in known:
                near = members.nearest(name.segments[0].name)
                if near is not None:
                    yield _report(document, reading.use, name, near)


def _report(document: Document, use: TemplateUse, name: NameUse, near: str, depth: int = 0) -> Diagnostic:
    member = name.segments[depth]
    path = ".".join((name.root, *(segment.name for segment in name.segments[:depth])))
    message = f"nothing gives `{path}.{member.name}`; did you mean `{path}.{near}`?"
    whence = f"`{path}` has" if depth else WHENCE.get(name.root, WHENCE["output"])
    hint = f"{whence} `{near}`; if `{member.name}` is meant, give it a `default(…)`"
    edit = replace_in_scalar(document.source, use.node, member.start, member.end, near)
    fix = [edit] if edit is not None and is_safe(member.name, near) else []
    return RULE.in_template(document, use, member, message, hint, fix)


def _members(document: Document) -> Mapping[str, Iterable[str]]:
    written: dict[str, list[str]] = {"ctx": [], "step": [], "iter": []}
    for use in document.notes.sets:
        scope, _, path = use.target.partition(".")
        if scope in written:
            written[scope].append(path.partition(".")[0])
    iterators = [
        level.iterator for owner in owners(document) if owner.loop is not None for level in owner.loop.levels()
    ]
    return {
        "workload": document.playbook.workload,
        "ctx": written["ctx"],
        "step": written["step"],
        "iter": [*iterators, *ITERATION, *written["iter"]],
        "output": [*OUTPUT, *document.vocabulary.blocks],
        "input": ["joined", *_given(document)],
        "event": EVENT,
    }


def _given(document: Document) -> Iterator[str]:
    """The keys of every `input`: a step's, a task's, a block's, and what v10 arcs hand on."""
    for owner in owners(document):
        yield from owner.input
        for task in owner.tool:
            yield from (*task.input, *task.fields)
    for step in document.playbook.workflow:
        for arc in step.next.arcs:
            yield from arc.args


RULE = Rule("NOE513", "near-miss", Severity.WARNING, check)
