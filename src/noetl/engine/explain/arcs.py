"""Why an arc was or was not taken."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import assert_never

import msgspec

from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.program import Program
from noetl.playbook.model import Arc, Guard, RouteMode


class Verdict(StrEnum):
    TAKEN = "taken"
    FALSE = "false"
    BEATEN = "beaten"
    AFTER_FAILURE = "after_failure"
    RAISED = "raised"
    UNDECIDED = "undecided"


class ArcExplained(msgspec.Struct, frozen=True):
    """One arc of one step run. `truth` is null where the guard was not evaluated; `winner` is the arc that beat it.

    Where a template raised, `raised` is what it belongs to: this arc's guard or args, or something else.
    """

    step: str
    step_run_id: str
    seq: int
    index: int
    target: str
    guard: Guard
    mode: RouteMode
    truth: bool | None
    verdict: Verdict
    winner: int | None = None
    raised: str | None = None
    error: str | None = None

    @property
    def text(self) -> str:
        return f"{self.step_run_id} → {self.target} {_reason(self)} (event {self.seq})"


def explain_arcs(
    program: Program, events: Iterable[Event], step: str, target: str | None = None
) -> Iterator[ArcExplained]:
    """Every arc of every run of a step that was routed, in order; with a target, only the arcs to it."""
    for event in events:
        if isinstance(event.payload, e.NextEvaluated) and event.payload.step == step:
            yield from (arc for arc in _explained(program, event.seq, event.payload) if target in (None, arc.target))


def guard_words(guard: Guard) -> str:
    return f"its guard `{guard}`" if isinstance(guard, str) else f"its guard `{str(guard).lower()}`"


def _explained(program: Program, seq: int, fact: e.NextEvaluated) -> Iterator[ArcExplained]:
    router = program.steps[fact.step].step.next
    failing, raised = _failing(fact)
    winner = next((index for index, truth in enumerate(fact.arcs) if truth), None)
    for index, arc in enumerate(router.arcs):
        truth = fact.arcs[index] if index < len(fact.arcs) else None
        verdict = _verdict(fact, arc, index, truth, failing)
        has_raised = verdict is Verdict.RAISED
        yield ArcExplained(
            fact.step,
            fact.step_run_id,
            seq,
            index,
            arc.step,
            arc.when,
            router.mode,
            truth,
            verdict,
            winner if verdict is Verdict.BEATEN else None,
            raised,
            fact.error.message if fact.error is not None and has_raised else None,
        )


def _verdict(fact: e.NextEvaluated, arc: Arc, index: int, truth: bool | None, failing: int | None) -> Verdict:
    if fact.error is not None:
        return Verdict.RAISED if index == failing else Verdict.FALSE if truth is False else Verdict.UNDECIDED
    if truth:
        return Verdict.TAKEN
    if truth is None:
        return Verdict.BEATEN
    return Verdict.AFTER_FAILURE if arc.when is None and fact.trigger.name == "step.failed" else Verdict.FALSE


def _failing(fact: e.NextEvaluated) -> tuple[int | None, str | None]:
    """The arc whose template raised, and what of it; the error names the place: `workflow/fetch/next/1/when`."""
    if fact.error is None:
        return None, None
    path = str(fact.error.named.get("path", ""))
    number, _, part = path.removeprefix(f"workflow/{fact.step}/next/").partition("/")
    if not number.isdecimal():
        return None, "the step's own `set`"
    return int(number), "guard" if part == "when" else "args"


def _reason(arc: ArcExplained) -> str:
    words = guard_words(arc.guard)
    match arc.verdict:
        case Verdict.TAKEN if arc.guard is None:
            return "was taken: it has no `when` and the step succeeded"
        case Verdict.TAKEN:
            return f"was taken: {words} was true"
        case Verdict.FALSE:
            return f"was not taken: {words} was false"
        case Verdict.BEATEN:
            return f"was not taken: in exclusive mode the first true arc wins, and that was arc {(arc.winner or 0) + 1}"
        case Verdict.AFTER_FAILURE:
            return "was not taken: the step failed, and an arc without `when` is taken on success only"
        case Verdict.RAISED:
            return f"could not be decided: {words if arc.raised == 'guard' else 'its `args`'} raised: {arc.error}"
        case Verdict.UNDECIDED:
            other = f"the {arc.raised} of another arc" if arc.raised in ("guard", "args") else arc.raised
            return f"was not decided: {other} raised"
        case _:
            assert_never(arc.verdict)
