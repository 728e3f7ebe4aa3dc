"""A log as text, one short line an event, so that a failing test shows what happened."""

from collections.abc import Iterable, Mapping

import msgspec

from noetl.engine import events as e
from noetl.engine.envelope import NAMES
from noetl.engine.names import entity_id
from noetl.engine.output import Error, Output, Status


def compact(facts: Iterable[e.Fact]) -> str:
    return "\n".join(line(fact) for fact in facts)


def only(facts: Iterable[e.Fact], *prefixes: str) -> str:
    """The lines whose event's name begins with one of the prefixes."""
    return "\n".join(line(fact) for fact in facts if NAMES[type(fact)][0].startswith(prefixes))


def line(fact: e.Fact) -> str:
    return " ".join((NAMES[type(fact)][0], *(part for part in _parts(fact) if part)))


def _parts(fact: e.Fact) -> tuple[str, ...]:  # noqa: C901, PLR0911, PLR0912
    match fact:
        case e.ExecutionRequested():
            return (fact.path,)
        case e.RequestEvaluated():
            return (_error(fact.error),)
        case e.WorkflowStarted():
            return (fact.entry_step,)
        case e.StepScheduled():
            return fact.step_run_id, _data(fact.input)
        case e.StepSkipped():
            return (fact.step,)
        case e.LoopStarted():
            return entity_id(fact.step_run_id, fact.path), f"{fact.count} {fact.mode} {fact.max_in_flight}"
        case e.LoopDone():
            counts = fact.loop
            ended = f"{counts.succeeded}+{counts.failed}+{counts.skipped}/{counts.total}"
            return entity_id(fact.step_run_id, fact.path), ended, _output(fact.output)
        case e.CtxPatched():
            return _data(fact.patch), f"by {entity_id(fact.origin.path, fact.origin.iteration)}"
        case e.NextEvaluated():
            truths = ",".join("?" if truth is None else "yes" if truth else "no" for truth in fact.arcs)
            return fact.step_run_id, f"[{truths}]", _error(fact.error)
        case e.ExecutionCancelled():
            return (fact.reason or "",)
        case e.WorkflowFinished():
            return fact.status, _output(fact.output), " ".join(f"ends {child}" for child in fact.children)
        case e.PlaybookProcessed():
            return (fact.status,)
        case e.StepStarted():
            return (fact.step_run_id,)
        case e.TaskStarted():
            again = f"again of {fact.key}" if fact.key != fact.task_run_id else ""
            return (
                fact.task_run_id,
                again,
                f"calls {fact.call.block}" if fact.call is not None else "",
                _patch(fact.patch),
            )
        case e.TaskDone():
            onward = "" if fact.next is None else f"to {fact.next}"
            return fact.task_run_id, _output(fact.output), str(fact.directive), onward, _patch(fact.patch)
        case e.TaskWaiting():
            return fact.task_run_id, _wait(fact)
        case e.IterationStarted():
            return (_iteration(fact),)
        case e.IterationDone() | e.IterationFailed():
            return _iteration(fact), _output(fact.output)
        case e.StepDone() | e.StepFailed():
            return fact.step_run_id, _output(fact.output)


def _iteration(fact: e.IterationStarted | e.IterationDone | e.IterationFailed) -> str:
    return f"of {fact.call}" if fact.call else entity_id(fact.step_run_id, fact.path)


def _wait(fact: e.TaskWaiting) -> str:
    if fact.is_over:
        return f"over {_output(fact.output)}" if fact.output is not None else "over"
    return (
        f"until {fact.due_at:g}" if fact.due_at is not None else f"for {fact.child.execution_id}" if fact.child else ""
    )


def _patch(patch: e.Patch) -> str:
    scopes = {"ctx": patch.ctx, "step": patch.step, "iter": patch.iter}
    return " ".join(f"{name}{_data(own)}" for name, own in scopes.items() if own)


def _output(output: Output) -> str:
    if output.status is Status.ERROR:
        return _error(output.error)
    return "-" if output.data is None and output.ref is None else "ref" if output.data is None else _data(output.data)


def _error(error: object) -> str:
    return f"!{error.kind}" if isinstance(error, Error) else ""


def _data(value: object) -> str:
    if isinstance(value, Mapping) and not value:
        return ""
    return msgspec.json.encode(value).decode()
