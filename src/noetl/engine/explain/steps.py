"""Whether a step ran, and if not, why: turned away at its door, or never reached."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from noetl.engine import events as e
from noetl.engine.envelope import Event
from noetl.engine.explain.arcs import ArcExplained, Verdict, explain_arcs, guard_words
from noetl.engine.program import Program
from noetl.playbook.model import Admit, Guard


class Fate(StrEnum):
    RAN = "ran"
    SKIPPED = "skipped"
    AT_DOOR = "at_door"
    UNREACHED = "unreached"


class Skip(msgspec.Struct, frozen=True):
    """A token that was turned away. `guard` is that of the rule that denied; `rule` is null where none matched."""

    step: str
    seq: int
    reason: str
    sources: tuple[str, ...]
    rule: int | None = None
    guard: Guard = None
    is_else: bool = False

    @property
    def text(self) -> str:
        came = f" (token from {', '.join(self.sources)})" if self.sources else ""
        return f"{self.step} was skipped{came}: {_denial(self)} (event {self.seq})"


class StepExplained(msgspec.Struct, frozen=True):
    """`arcs` are those that lead to the step from runs that were routed; `silent` are sources that never were."""

    step: str
    fate: Fate
    runs: tuple[str, ...] = ()
    skips: tuple[Skip, ...] = ()
    arcs: tuple[ArcExplained, ...] = ()
    silent: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(_lines(self))


def explain_step(program: Program, events: Sequence[Event], step: str) -> StepExplained:
    runs, skips = _runs(events, step), _skips(program, events, step)
    sources = [name for name, ready in program.steps.items() if any(arc.arc.step == step for arc in ready.arcs)]
    arcs = [arc for source in sources for arc in explain_arcs(program, events, source, step)]
    routed = {event.payload.step for event in events if isinstance(event.payload, e.NextEvaluated)}
    silent = tuple(source for source in sources if source not in routed)
    came = any(arc.verdict is Verdict.TAKEN for arc in arcs) or program.playbook.entry_step == step
    fate = Fate.RAN if runs else Fate.SKIPPED if skips else Fate.AT_DOOR if came else Fate.UNREACHED
    return StepExplained(step, fate, runs, skips, tuple(arcs), silent)


def _runs(events: Sequence[Event], step: str) -> tuple[str, ...]:
    facts = (event.payload for event in events)
    return tuple(fact.step_run_id for fact in facts if isinstance(fact, e.StepScheduled) and fact.step == step)


def _skips(program: Program, events: Sequence[Event], step: str) -> tuple[Skip, ...]:
    admit = program.steps[step].step.admit
    return tuple(
        _skip(event.seq, event.payload, admit)
        for event in events
        if isinstance(event.payload, e.StepSkipped) and event.payload.step == step
    )


def _skip(seq: int, fact: e.StepSkipped, admit: Admit | None) -> Skip:
    sources = tuple(token.trigger.step_run_id for token in fact.tokens if token.trigger.step_run_id is not None)
    if admit is None or fact.rule is None:
        return Skip(fact.step, seq, fact.reason, sources)
    rule = admit.rules[fact.rule]
    return Skip(fact.step, seq, fact.reason, sources, fact.rule, rule.when, rule.is_else)


def _denial(skip: Skip) -> str:
    if skip.reason != "denied":
        return skip.reason
    if skip.rule is None:
        return "no admission rule matched, and without `else` that denies"
    number = skip.rule + 1
    if skip.is_else:
        return f"admission rule {number}, the `else`, denies"
    return f"admission rule {number} denies, and {guard_words(skip.guard)} was true"


def _lines(found: StepExplained) -> list[str]:
    return [
        f"{found.step} {_FATES[found.fate]}{', '.join(found.runs)}",
        *(skip.text for skip in found.skips),
        *(arc.text for arc in found.arcs),
        *(f"{source}, which has an arc to it, was not routed" for source in found.silent),
    ]


_FATES = {
    Fate.RAN: "ran: ",
    Fate.SKIPPED: "was reached and turned away",
    Fate.AT_DOOR: "was reached and has not been let in",
    Fate.UNREACHED: "was never reached",
}
