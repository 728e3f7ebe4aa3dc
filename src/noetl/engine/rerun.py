"""A rerun: a new execution that takes over what another one had reached and runs only the rest.

What runs again: the last run of the step asked for, each run whose failure ended the origin, each run that had not
ended, and everything that followed from these. All else is as it was: ctx and outputs as the other runs left them,
tokens that waited, the numbering of runs. With failed iterations only, the loop's iterations that had succeeded keep
what they gave, at every level: of an outer iteration in which an inner one failed, only that one runs again.
The seed stands in the new log's own first events, so that the new log folds alone.
"""

from collections.abc import Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.evolve import fold
from noetl.engine.names import step_of
from noetl.engine.program import Program
from noetl.engine.state import LoopRun, State, StepRun


class Cut(msgspec.Struct, frozen=True):
    """Where a rerun begins. Without a step it begins where the origin failed."""

    from_step: str | None = None
    failed_iterations: bool = False


def rerun(
    program: Program, execution_id: str, facts: Sequence[e.Fact], cut: Cut, *, now: float
) -> RequestExecution | Rejection:
    """The request that starts the rerun of an execution, whose facts are given from its first on."""
    refusal = _refusal(execution_id, facts)
    if refusal is not None:
        return refusal
    scheduled = {fact.step_run_id: seq for seq, fact in enumerate(facts, 1) if isinstance(fact, e.StepScheduled)}
    asked = _asked(execution_id, facts, scheduled, cut)
    if isinstance(asked, Rejection):
        return asked
    again = _following(facts, {*asked, *_failed_runs(facts)})
    loop = asked[0] if cut.failed_iterations else None
    state = fold(program, execution_id, _taken_over(facts, again, loop))
    tokens = _tokens(facts, state)
    if not tokens:
        return Rejection("unexpected", f"execution {execution_id} has nothing to run again; name a step to run from")
    seq = min([scheduled[run] for run in again if run in scheduled], default=len(facts))
    seed = _seed(state, tokens, scheduled)
    first = e.WorkflowStarted(program.playbook.entry_step, seed)
    origin = e.Origin(execution_id, seq, cut.from_step, cut.failed_iterations)
    kept = _kept_loop(program, execution_id, state.runs[loop], facts, seed, now) if loop is not None else ()
    return _request(facts, state, origin, (first, *kept))


def _refusal(execution_id: str, facts: Sequence[e.Fact]) -> Rejection | None:
    if not any(isinstance(fact, e.WorkflowStarted) for fact in facts):
        return Rejection("unexpected", f"execution {execution_id} never started a step; request it anew")
    if not any(isinstance(fact, e.WorkflowFinished) for fact in facts):
        return Rejection("unexpected", f"execution {execution_id} is still running; wait for its end, or cancel it")
    return None


def _asked(execution_id: str, facts: Sequence[e.Fact], scheduled: dict[str, int], cut: Cut) -> list[str] | Rejection:
    """The run to begin with, if one was asked for: the last one that fits."""
    runs = list(scheduled)
    if cut.failed_iterations:
        unfinished = _unfinished_loops(facts)
        runs = [run for run in runs if run in unfinished]
    if cut.from_step is not None:
        runs = [run for run in runs if step_of(run) == cut.from_step]
    if not cut.failed_iterations and cut.from_step is None:
        return []
    if runs:
        return runs[-1:]
    what = "with failed iterations" if cut.failed_iterations else "to run from"
    step = f"run of step `{cut.from_step}`" if cut.from_step is not None else "loop"
    return Rejection("unknown", f"execution {execution_id} has no {step} {what}")


def _unfinished_loops(facts: Sequence[e.Fact]) -> set[str]:
    """The runs of loops of which some iteration did not succeed."""
    whole = _whole(facts)
    counts = {fact.step_run_id: fact.count for fact in facts if isinstance(fact, e.LoopStarted) and not fact.path}
    return {run for run, count in counts.items() if sum(len(path) == 1 for path in whole.get(run, ())) < count}


def _whole(facts: Sequence[e.Fact]) -> dict[str, set[e.Path]]:
    """Of each loop the iterations that gave all they should: themselves, and in the loops inside them."""
    found: dict[str, set[e.Path]] = {}
    for fact in facts:
        match fact:
            case e.LoopStarted(kept=e.Kept() as kept):
                ended = set(range(fact.count)) - set(kept.ended.gaps(fact.count))
                found.setdefault(fact.step_run_id, set()).update((*fact.path, index) for index in ended)
            case e.IterationDone(call=""):
                found.setdefault(fact.step_run_id, set()).add(fact.path)
    for fact in facts:
        if isinstance(fact, e.IterationFailed) and not fact.call and fact.step_run_id in found:
            found[fact.step_run_id] -= {fact.path[:length] for length in range(1, len(fact.path) + 1)}
    return found


def _failed_runs(facts: Sequence[e.Fact]) -> set[str]:
    """The runs that ended the execution: failed with no arc taken, or with a guard that raised."""
    return {
        fact.step_run_id
        for fact in facts
        if isinstance(fact, e.NextEvaluated)
        and (fact.error is not None or (fact.trigger.name == "step.failed" and not fact.tokens))
    }


def _following(facts: Sequence[e.Fact], roots: set[str]) -> set[str]:
    """The runs, and those that began with a token of theirs."""
    found = set(roots)
    for fact in facts:
        if isinstance(fact, e.StepScheduled) and _came_from(fact.tokens, found):
            found.add(fact.step_run_id)
    return found


def _came_from(tokens: Sequence[e.Token], runs: set[str]) -> bool:
    return any(token.trigger.step_run_id in runs for token in tokens)


def _taken_over(facts: Sequence[e.Fact], again: set[str], loop: str | None) -> list[e.Fact]:
    """The log as it would be had nothing of what runs again happened; of the loop, only what succeeded."""
    if loop is None:
        return [fact for fact in facts if _is_taken_over(fact, again)]
    whole = _whole(facts).get(loop, set())
    begun = {fact.path for fact in facts if isinstance(fact, e.LoopStarted) and fact.step_run_id == loop} - whole
    return [
        fact
        for fact in facts
        if (_is_kept(fact, whole, begun) if _run_of(fact) == loop else _is_taken_over(fact, again))
    ]


def _is_taken_over(fact: e.Fact, again: set[str]) -> bool:
    match fact:
        case e.ExecutionCancelled() | e.WorkflowFinished() | e.PlaybookProcessed():
            return False
        case e.StepSkipped():
            return not _came_from(fact.tokens, again)
        case _:
            return _run_of(fact) not in again


def _run_of(fact: e.Fact) -> str | None:
    return fact.origin.step_run_id if isinstance(fact, e.CtxPatched) else getattr(fact, "step_run_id", None)


def _is_kept(fact: e.Fact, whole: set[e.Path], begun: set[e.Path]) -> bool:
    """What a loop is taken over with. What is inside a whole iteration is part of its end."""
    match fact:
        case e.StepScheduled():
            return True
        case e.LoopStarted():
            return fact.path in begun
        case e.CtxPatched():
            return fact.origin.iteration in whole
        case e.IterationStarted(call="", path=(*around, _)):
            return tuple(around) not in whole and (fact.path in whole or fact.path in begun)
        case e.IterationDone(call="", path=(*around, _)):
            return tuple(around) not in whole and fact.path in whole
        case _:
            return False


def _tokens(facts: Sequence[e.Fact], state: State) -> list[e.Token]:
    """The tokens at doors, and those of runs that had not ended, which start again."""
    tokens = list(state.waiting)
    for fact in facts:
        if isinstance(fact, e.StepScheduled) and fact.step_run_id in state.runs:
            tokens.extend(fact.tokens)
    return tokens


def _seed(state: State, tokens: Sequence[e.Token], scheduled: dict[str, int]) -> e.Seed:
    counts = dict(state.counts)
    for run in scheduled:
        step, _, number = run.partition("#")
        counts[step] = max(counts.get(step, 0), int(number))
    return e.Seed(tuple(tokens), state.ctx, state.outputs, counts, state.output)


def _kept_loop(
    program: Program, execution_id: str, run: StepRun, facts: Sequence[e.Fact], seed: e.Seed, now: float
) -> tuple[e.StepScheduled, e.LoopStarted]:
    """The loop's step scheduled as it was, with its recorded input and collection."""
    assert run.loop is not None
    step = program.steps[run.step].step
    id_ = f"{run.step}#{seed.counts[run.step] + 1}"
    before = next(fact for fact in facts if isinstance(fact, e.StepScheduled) and fact.step_run_id == run.id)
    deadline_at = now + step.deadline_s if step.deadline_s is not None else None
    scheduled = e.StepScheduled(id_, run.step, before.input, before.tokens, step.timeout_s, deadline_at)
    return scheduled, _loop_started(id_, run.loop, execution_id, run.id)


def _loop_started(id_: str, loop: LoopRun, origin_id: str, origin_run: str) -> e.LoopStarted:
    inside = (iteration.loop for iteration in loop.live.values() if iteration.loop is not None)
    begun = [_loop_started(id_, inner, origin_id, origin_run) for inner in inside]
    begun += [_renamed(started, id_) for started in loop.begun.values()]
    kept = e.Kept(
        origin_id, origin_run, loop.ended, loop.succeeded, loop.data_bytes, loop.step, loop.overlay, tuple(begun)
    )
    return e.LoopStarted(id_, loop.path, loop.count, loop.collection, loop.mode, loop.max_in_flight, kept)


def _renamed(started: e.LoopStarted, id_: str) -> e.LoopStarted:
    """A loop that the origin itself had taken over and not gone on with."""
    assert started.kept is not None
    inside = tuple(_renamed(inner, id_) for inner in started.kept.begun)
    kept = msgspec.structs.replace(started.kept, begun=inside)
    return msgspec.structs.replace(started, step_run_id=id_, kept=kept)


def _request(
    facts: Sequence[e.Fact],
    state: State,
    origin: e.Origin,
    seed: Sequence[e.WorkflowStarted | e.StepScheduled | e.LoopStarted],
) -> RequestExecution:
    first = next(fact for fact in facts if isinstance(fact, e.ExecutionRequested))
    return RequestExecution(
        first.path, first.digest, state.workload, first.version, origin=origin, trace_id=first.trace_id, seed=seed
    )
