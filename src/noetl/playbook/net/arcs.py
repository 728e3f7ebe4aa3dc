"""Checks one router at a time: arcs that are never taken, tokens that can be lost, failures that no arc takes."""

from collections.abc import Iterator

from noetl.playbook.model import Step
from noetl.playbook.net.choices import LOOP_DONE, STEP_DONE, STEP_FAILED
from noetl.playbook.net.findings import (
    Certainty,
    LoopDoneWithoutLoop,
    LostToken,
    NetFinding,
    NeverArc,
    NeverReason,
    ShadowedArc,
    StepDoneOnLoop,
    UnroutedFailure,
)
from noetl.playbook.net.routes import Route, mentions
from noetl.playbook.net.truth import Fact, Literal


def check_arcs(route: Route) -> Iterator[NetFinding]:
    """Arcs that are never taken, or not when their author thinks."""
    real = route.success | route.failure
    for index, arc in enumerate(route.step.next.arcs):
        if awaits_wrong_event(route, index):
            kind = LoopDoneWithoutLoop if route.step.loop is None else StepDoneOnLoop
            yield kind(route.step, arc, Certainty.MAY if route.may_take(index, real) else Certainty.MUST)
        elif route.choices.is_never_true(index, real):
            yield NeverArc(route.step, arc, _reason(route, index))
        elif route.choices.is_never_taken(index, real):
            shadows = route.choices.shadows_of(index, real)
            yield ShadowedArc(route.step, arc, tuple(route.step.next.arcs[each] for each in shadows))


def awaits_wrong_event(route: Route, index: int) -> bool:
    """Whether the arc waits for the success that the step never has: `step.done` for a loop step."""
    right, wrong = (STEP_DONE, LOOP_DONE) if route.step.loop is None else (LOOP_DONE, STEP_DONE)
    may = route.choices.table.truths[index].may
    is_about_wrong = mentions(route.choices.formulas[index], Fact("event.name", wrong))
    return is_about_wrong and not may & route.rows_of(right) and bool(may & route.rows_of(wrong))


def _reason(route: Route, index: int) -> NeverReason:
    if route.choices.formulas[index] == Literal(False):
        return NeverReason.CONSTANT
    may = route.choices.table.truths[index].may
    if not route.success and may & route.rows_of(STEP_DONE):
        return NeverReason.NO_SUCCESS
    if not route.failure and may & route.rows_of(STEP_FAILED):
        return NeverReason.NO_FAILURE
    return NeverReason.CONTRADICTION


def lost_token(route: Route, turns_back: bool) -> LostToken | None:
    """`turns_back` says that a lone conditional arc closes a cycle: then not taking it is its exit."""
    arcs = route.step.next.arcs
    if not route.success & ~route.choices.none.must:
        missed = [index for index in range(len(arcs)) if _was_meant_for_success(route, index)]
        certainty = Certainty.MUST
    else:
        missed = [index for index in range(len(arcs)) if route.may_take(index, route.success)]
        is_open = route.choices.none.may & route.success & ~route.odd
        certainty = Certainty.MAY
        if not is_open or (turns_back and len(missed) == 1):
            return None
    if not missed or not route.success:
        return None
    return LostToken(route.step, tuple(arcs[index] for index in missed), certainty)


def _was_meant_for_success(route: Route, index: int) -> bool:
    """An arc that is never taken, and not because it waits for a failure."""
    may_fail = route.choices.table.truths[index].may & route.rows_of(STEP_FAILED)
    return not may_fail or awaits_wrong_event(route, index)


def can_fail(step: Step) -> bool:
    """Whether a failure is worth a word: a lone `noop` fails only if its policy says so."""
    return step.loop is not None or any(task.kind != "noop" or task.policy is not None for task in step.tool)


def takes_every_failure(route: Route) -> bool:
    return not route.choices.none.may & route.failure & ~route.odd


def unrouted_failure(route: Route) -> UnroutedFailure | None:
    """Set where arcs are written for failures and yet leave some untaken."""
    arcs = route.step.next.arcs
    chosen = tuple(arc for index, arc in enumerate(arcs) if route.is_on_failure(index))
    return UnroutedFailure(route.step, chosen) if chosen else None
