"""What a run goes on with, as people are told: what is kept of it, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.names import step_of
from noetl.engine.state import LoopRun, State, Tally

NAMES_MAX = 6
"""So many steps are named, more of them are counted."""


class Carried(msgspec.Struct, frozen=True):
    """What a rerun began with: the seed, and the loops that go on."""

    seed: e.Seed
    loops: Sequence[e.LoopStarted] = ()


def carried(facts: Iterable[e.Fact]) -> Carried:
    """From the first facts of a rerun."""
    seeds = [fact.seed for fact in facts if isinstance(fact, e.WorkflowStarted) and fact.seed is not None]
    loops = [fact for fact in facts if isinstance(fact, e.LoopStarted) and fact.kept is not None and not fact.path]
    return Carried(seeds[0] if seeds else e.Seed(()), loops)


def told_carried(found: Carried) -> Iterator[str]:
    going_on = {step_of(loop.step_run_id) for loop in found.loops}
    begins = dict.fromkeys(token.step for token in found.seed.tokens if token.step not in going_on)
    kept = [step for step in found.seed.outputs if step not in begins and step not in going_on]
    if kept:
        yield f"kept: {_listed(kept)}"
    yield from (_told_loop(loop) for loop in found.loops)
    if begins:
        yield f"begins with: {_listed(list(begins))}"


def _told_loop(loop: e.LoopStarted) -> str:
    assert loop.kept is not None
    kept, begun = loop.kept.succeeded, len(loop.kept.begun)
    inside = f", {begun} of them from the middle" if begun else ""
    return f"{step_of(loop.step_run_id)}: {kept} of {_iterations(loop.count)} kept, {loop.count - kept} to run{inside}"


def told_resumed(state: State) -> str:
    """Where a run that was interrupted goes on."""
    ended = [(tally.ended, step) for step, tally in state.steps.items() if _has_ended(tally)]
    after = f" after {max(ended)[1]}" if ended else ""
    live = [_with_counts(run.step, run.loop) if run.loop is not None else run.step for run in state.runs.values()]
    return f"goes on{after}{': ' if live else ''}{_listed(live)}"


def _has_ended(tally: Tally) -> bool:
    return tally.ended > 0 and tally.status != "running"


def _with_counts(step: str, loop: LoopRun) -> str:
    """An iteration that failed is done too: it does not run again."""
    failed = f", {loop.failed} failed" if loop.failed else ""
    return f"{step} ({loop.succeeded + loop.failed} of {_iterations(loop.count)} done{failed})"


def _iterations(count: int) -> str:
    return f"{count} iteration{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= NAMES_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_MAX])} and {len(names) - NAMES_MAX} more"
