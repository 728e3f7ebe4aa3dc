"""What the caller of a child execution is told when the child did not complete: the first cause, then where it lies."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from noetl.engine.events import WorkflowFinished
from noetl.engine.names import step_of, task_label
from noetl.engine.output import Error

ORIGIN = "origin"
"""Under this name the details of an error say in which execution below it the first cause lies."""


def child_error(path: str, execution_id: str, fact: WorkflowFinished) -> Error:
    """However deep executions are nested, the message begins with the first cause and holds it once."""
    kind = "cancelled" if fact.status == "cancelled" else "playbook_failed"
    error = fact.error or Error(fact.status, f"it {fact.status}")
    below = origin_of(error)
    if below is None:
        step = step_to_blame(error)
        origin: dict[str, object] = {"playbook": path, "execution_id": execution_id, "step": step}
        if step is not None and fact.output.meta.task_run_id is not None:
            origin["task"] = task_label(fact.output.meta.task_run_id)
    else:
        origin = {**below, "called_by": [*callers_of(below), path]}
    return Error(kind, f"{cause_of(error)}{_where(origin)}", details={ORIGIN: origin})


def origin_of(error: Error) -> Mapping[str, object] | None:
    """The execution below that is to blame; None where the cause lies in the execution itself."""
    found = error.named.get(ORIGIN)
    return found if isinstance(found, Mapping) else None


def cause_of(error: Error) -> str:
    """The message without the words about where it comes from."""
    origin, step = origin_of(error), step_to_blame(error)
    message = error.message.removesuffix(_where(origin)) if origin is not None else error.message
    return message.removeprefix(unrouted(step)) if step is not None else message


def unrouted(step: str) -> str:
    """How the message begins of an execution that a failed step ended."""
    return f"step `{step}` failed and no arc takes it: "


def _where(origin: Mapping[str, object]) -> str:
    step = f", step `{origin['step']}`" if origin.get("step") else ""
    task = f", task `{origin['task']}`" if origin.get("task") else ""
    called = "".join(f", called by `{caller}`{times}" for caller, times in callers_shown(origin))
    return f" (in playbook `{origin.get('playbook')}`{step}{task}{called})"


def callers_of(origin: Mapping[str, object]) -> list[object]:
    """The playbooks between, from the inmost outwards."""
    found = origin.get("called_by")
    return list(found) if isinstance(found, list | tuple) else []


def callers_shown(origin: Mapping[str, object]) -> Iterator[tuple[object, str]]:
    """Each of them once, with the words for how often it called itself."""
    for caller, calls in groupby(callers_of(origin)):
        count = len(list(calls))
        yield caller, f" {count} times" if count > 1 else ""


def step_to_blame(error: Error) -> str | None:
    """The step whose failure ended the execution."""
    run = error.named.get("step_run_id")
    return step_of(run) if isinstance(run, str) else None
