"""A name that exists in the playbook but cannot be read where it stands."""

from collections.abc import Iterator

from noetl.expressions.sites import SCOPE_WORDS, Site
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.names import Known, Reading, Sense, known_names, read_names
from noetl.playbook.rules.rule import Rule

AFTER_STEP = frozenset({Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS})
OUTPUTS = frozenset({"output", "outcome"})

_KEEP = 'keep the value where it arises, `set: {{ ctx.{name}: "{{{{ … }}}}" }}`, and read `ctx.{name}` here'
_AFTER_PIPELINE = {
    "_prev": "`output.data` is what the last task returned",
    "_attempt": "`output.meta.attempt` is the attempt of the last task",
}
_BIND = '''bind it in the step's `input`, where the server sees it, and read it from there:
  input:
    cause: "{{ event.name }}"'''


def check(document: Document) -> Iterator[Diagnostic]:
    known = document.once(known_names)
    readings = document.once(read_names)
    for reading in readings[Sense.HIDDEN]:
        yield _report(document, reading, *_explain_scope(reading, known))
    for reading in readings[Sense.FOREIGN]:
        yield _report(document, reading, *_explain_foreign(reading, known))


def _report(document: Document, reading: Reading, reason: str, hint: str) -> Diagnostic:
    message = f"`{reading.root}` cannot be read in {reading.use.site.title}: {reason}"
    return RULE.in_template(document, reading.use, reading.names[0], message, hint)


def _explain_scope(reading: Reading, known: Known) -> tuple[str, str]:
    """Why the word is hidden, and what to read instead."""
    site = reading.use.site
    if site is Site.KEYCHAIN_FIELD:
        return "the keychain is looked up before the workflow starts", "`workload` and `execution_id` are there"
    if reading.root == "iter":
        return _explain_iter(reading, known)
    if reading.root == "event":
        return "events are known to the server only", _BIND
    if site is Site.WORKBOOK_INPUT:
        return "the block has not run yet", "these are defaults; callers give values in the `input` of their task"
    if site.is_worker_side:
        return "the task has not run yet", _before_task(reading)
    if reading.root in OUTPUTS:
        return "the step has not run yet", _keep(reading)
    if reading.root == "step":
        return "it begins with the step run", _keep(reading)
    hint = _AFTER_PIPELINE.get(reading.root) if site in AFTER_STEP else None
    return "it lives inside a pipeline, on the worker", hint or _keep(reading)


def _explain_iter(reading: Reading, known: Known) -> tuple[str, str]:
    title = reading.place.frame.title
    if title not in known.loops:
        name = reading.names[0].segments[0].name if reading.names[0].segments else "x"
        return f"{title} has no loop", f"add a `loop`, or keep the value in `step.{name}` or `ctx.{name}`"
    if reading.use.site in AFTER_STEP:
        hint = "`output.data` is the list of what the iterations returned, `output.loop` their counts"
        return "it is evaluated once, after the last iteration", hint
    hint = "move it to a task's `input`, which is bound in each iteration"
    if reading.use.site is Site.LOOP_IN:
        hint = "the list comes from `workload`, `ctx` or `input`"
    return "it is evaluated before the iterations begin", hint


def _before_task(reading: Reading) -> str:
    tasks, task = reading.place.frame.tasks, reading.place.task
    before = tasks[: tasks.index(task)] if task in tasks else ()
    if not before:
        return "`_prev` is the data of the task before, null at first"
    return f'`_prev` is the data of the task that ran before; `{before[-1]}.data` that of task "{before[-1]}"'


def _keep(reading: Reading) -> str:
    """How to carry a value over in ctx, under the most telling name that the text gives."""
    words = [segment.name for segment in reading.names[0].segments]
    if reading.root not in SCOPE_WORDS:
        words.insert(0, reading.root)
    telling = [word for word in words if word not in ("data", "ref")]
    suffix = "_ref" if words[-1:] == ["ref"] else ""
    return _KEEP.format(name=f"{telling[-1] if telling else 'x'}{suffix}")


def _explain_foreign(reading: Reading, known: Known) -> tuple[str, str]:
    """A task, an iterator or a step that is known elsewhere."""
    root, frame, is_after = reading.root, reading.place.frame, reading.use.site in AFTER_STEP
    if reading.use.site is Site.KEYCHAIN_FIELD:
        return _explain_scope(reading, known)
    if root in frame.tasks:
        hint = f"`output` is the output of the last task; or {_keep(reading)}" if is_after else _keep(reading)
        return f"it is a task of {frame.title}, known inside that pipeline only", hint
    owner = known.tasks.get(root)
    if owner is not None:
        hint = _keep(reading)
        if owner.is_step:
            hint = f"`{owner.name}.data` is the data of its last task; or {hint}"
        return f"it is a task of {owner.title}, known inside that pipeline only", hint
    owner = known.iterators[root]
    if owner.title == frame.title:
        return _explain_iter(reading, known)
    return f"it is the iterator of {owner.title}, known inside that loop only", _keep(reading)


RULE = Rule("NOE503", "hidden-scope", Severity.ERROR, check)
