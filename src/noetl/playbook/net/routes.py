"""What one step's router does after each of the events in which a run of the step can end."""

from collections.abc import Iterable

import msgspec

from noetl.playbook.model import Directive, FailureMode, Step
from noetl.playbook.net.choices import ENDINGS, LOOP_DONE, STEP_DONE, STEP_FAILED, Choices, step_choices
from noetl.playbook.net.pipeline import Pipeline
from noetl.playbook.net.truth import Every, Fact, Formula, Negation, Some

Ending = tuple[str, str]
"""The boundary event and the status of the output that comes with it."""


class Route(msgspec.Struct, frozen=True, gc=False):
    """`success` and `failure` are the rows that can occur. Those in `odd` occur only in unlikely ways."""

    step: Step
    choices: Choices
    success: int
    failure: int
    odd: int

    def may_take(self, index: int, rows: int) -> bool:
        return bool(self.choices.taken[index].may & rows)

    def is_on_failure(self, index: int) -> bool:
        """Whether the arc is about failures: a failure may take it and a success never does."""
        may = self.choices.table.truths[index].may
        return bool(may & self.failure) and not may & self.success

    def rows_of(self, event: str) -> int:
        """All rows with this boundary event, whether or not this step can end in it."""
        blocks = zip(ENDINGS, self.choices.table.cases, strict=True)
        return _union(block for (name, _), block in blocks if name == event)


def build_route(step: Step, pipeline: Pipeline) -> Route:
    choices = step_choices(tuple(arc.when for arc in step.next.arcs), step.next.mode)
    likely, unlikely = _endings(step, pipeline)
    rows = dict(zip(ENDINGS, choices.table.cases, strict=True))
    possible = likely | unlikely
    return Route(
        step=step,
        choices=choices,
        success=_union(rows[each] for each in possible if each[0] != STEP_FAILED),
        failure=_union(rows[each] for each in possible if each[0] == STEP_FAILED),
        odd=choices.table.odd | _union(rows[each] for each in unlikely),
    )


def mentions(formula: Formula, fact: Fact) -> bool:
    match formula:
        case Fact():
            return formula == fact
        case Negation(part=part):
            return mentions(part, fact)
        case Every(parts=parts) | Some(parts=parts):
            return any(mentions(part, fact) for part in parts)
        case _:
            return False


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _endings(step: Step, pipeline: Pipeline) -> tuple[set[Ending], set[Ending]]:
    """How a run of the step can end, and how it could end besides in ways that no one plans for."""
    if step.loop is not None:
        unlikely = {(STEP_FAILED, "ok")}
        if step.failure is FailureMode.BEST_EFFORT:
            unlikely.add((LOOP_DONE, "error"))
        return {(LOOP_DONE, "ok"), (STEP_FAILED, "error")}, unlikely
    if step.tool:
        found = _pipeline_endings(pipeline)
        return found - {(STEP_FAILED, "ok")}, found & {(STEP_FAILED, "ok")}
    is_timed = step.timeout_s is not None or step.deadline_s is not None
    return {(STEP_DONE, "ok")}, {(STEP_FAILED, "error")} if is_timed else set()


def _pipeline_endings(pipeline: Pipeline) -> set[Ending]:
    found: set[Ending] = {(STEP_FAILED, "error")}
    errors_pass = False
    skips = False
    for number, turn in pipeline.turns():
        point, may = pipeline.points[number], turn.way.taken.may
        is_ok, is_error = bool(may & point.spot.success), bool(may & point.errors)
        if turn.way.target == pipeline.failed:
            found.update({(STEP_FAILED, "ok")} if is_ok else ())
            continue
        errors_pass |= is_error and turn.directive is not Directive.RETRY
        if turn.way.target == pipeline.end:
            skips |= number % 2 == 0 or turn.directive is Directive.SKIP
            found.update({(STEP_DONE, "ok")} if is_ok else ())
            found.update({(STEP_DONE, "error")} if is_error else ())
    # Where the last task was skipped, the output is that of an earlier one.
    if skips:
        found.update({(STEP_DONE, "ok")}, {(STEP_DONE, "error")} if errors_pass else ())
    return found
