"""A rerun: a new execution that takes over what another one had reached and runs only the rest.

What runs again: the last run of the step asked for, each run whose failure ended the origin, each run that had not
ended, and everything that followed from these. All else is as it was: ctx and outputs as the other runs left them,
tokens that waited, the numbering of runs. A loop that runs again keeps the iterations that had succeeded, at every
level: of an outer iteration in which an inner one failed, only that one runs again. A loop runs anew where its step was
asked for, where it follows from that step, and where there is nothing of it to keep.
The seed stands in the new log's own first events, so that the new log folds alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.carrying import as_written, refusal_of
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.evolve import fold
from noetl.engine.names import step_of
from noetl.engine.program import Program
from noetl.engine.salvage import Salvage, salvage, unfinished
from noetl.engine.state import LoopRun, State
from noetl.errors import closest

Salvaged = Mapping[str, Salvage]
"""The runs of loops that go on, and what of each is kept."""


class Cut(msgspec.Struct, frozen=True):
    """Where a rerun begins. Without a step it begins where the origin failed or was stopped."""

    from_step: str | None = None
    failed_iterations: bool = False


def rerun(
    program: Program,
    execution_id: str,
    facts: Sequence[e.Fact],
    cut: Cut,
    *,
    now: float,
    text: Program | None = None,
) -> RequestExecution | Rejection:
    """The request that starts the rerun of an execution, whose facts are given from its first on.

    `program` is what it ran. With a `text` the rest runs that instead, or the answer says why it cannot.
    """
    refusal = _refusal(execution_id, facts)
    if refusal is not None:
        return refusal
    scheduled = {fact.step_run_id: seq for seq, fact in enumerate(facts, 1) if isinstance(fact, e.StepScheduled)}
    asked = _asked(execution_id, facts, scheduled, cut)
    if isinstance(asked, Rejection):
        return asked
    again = _following(facts, {*asked, *_failed_runs(facts), *_unended(facts)})
    loops = _going_on(facts, asked, again, cut)
    state = fold(program, execution_id, _taken_over(facts, again, loops))
    tokens = _tokens(facts, state)
    if not tokens:
        return _nothing_left(execution_id, facts)
    difference = refusal_of(program, text, state, tokens) if text is not None else None
    if difference is not None:
        return difference
    first = next(fact for fact in facts if isinstance(fact, e.ExecutionRequested))
    seq = min([scheduled[run] for run in again], default=len(facts))
    origin = e.Origin(execution_id, seq, cut.from_step, cut.failed_iterations, first.digest if text else None)
    seed = _seed(state, tokens, scheduled)
    started = e.WorkflowStarted((text or program).playbook.entry_step, seed)
    loops_started = _loops(program, text or program, execution_id, facts, state, seed, now)
    return _request(first, text, origin, (started, *loops_started))


def _refusal(execution_id: str, facts: Sequence[e.Fact]) -> Rejection | None:
    if not any(isinstance(fact, e.WorkflowStarted) for fact in facts):
        return Rejection("unexpected", f"execution {execution_id} never started a step; run the playbook anew")
    if not any(isinstance(fact, e.WorkflowFinished) for fact in facts):
        return Rejection("unexpected", f"execution {execution_id} is still running; wait for its end, or cancel it")
    return None


def _nothing_left(execution_id: str, facts: Sequence[e.Fact]) -> Rejection:
    loops = ", ".join(sorted({step_of(run) for run in unfinished(facts)}))
    failed = f", or run the failed iterations of {loops}" if loops else ""
    return Rejection(
        "unexpected", f"execution {execution_id} has nothing to run again; name a step to run from{failed}"
    )


def _asked(execution_id: str, facts: Sequence[e.Fact], scheduled: Iterable[str], cut: Cut) -> list[str] | Rejection:
    """The run to begin with, if one was asked for: the last one that fits."""
    if not cut.failed_iterations and cut.from_step is None:
        return []
    known = unfinished(facts) if cut.failed_iterations else set(scheduled)
    fit = [run for run in scheduled if run in known]
    runs = [run for run in fit if cut.from_step in (None, step_of(run))]
    return runs[-1:] or Rejection("unknown", f"execution {execution_id} has no {_missed(cut, fit)}")


def _missed(cut: Cut, fit: Sequence[str]) -> str:
    """What there is none of, and what there is."""
    what = "with failed iterations" if cut.failed_iterations else "to run from"
    if cut.from_step is None:
        return f"loop {what}"
    steps = list(dict.fromkeys(map(step_of, fit)))
    near = closest(cut.from_step, steps)
    there = f"; {'they are in' if cut.failed_iterations else 'it ran'}: {', '.join(steps)}" if steps else ""
    meant = f"; did you mean `{near}`?" if near is not None else ""
    return f"run of step `{cut.from_step}` {what}{there}{meant}"


def _failed_runs(facts: Iterable[e.Fact]) -> Iterator[str]:
    """The runs that ended the execution: failed with no arc taken, or with a guard that raised."""
    for fact in facts:
        if isinstance(fact, e.NextEvaluated) and (
            fact.error is not None or (fact.trigger.name == "step.failed" and not fact.tokens)
        ):
            yield fact.step_run_id


def _unended(facts: Iterable[e.Fact]) -> set[str]:
    """The runs that were under way when the execution ended."""
    open_: set[str] = set()
    for fact in facts:
        if isinstance(fact, e.StepScheduled):
            open_.add(fact.step_run_id)
        elif isinstance(fact, e.NextEvaluated):
            open_.remove(fact.step_run_id)
    return open_


def _following(facts: Iterable[e.Fact], roots: Iterable[str]) -> set[str]:
    """The runs, and those that began with a token of theirs."""
    found = set(roots)
    for fact in facts:
        if isinstance(fact, e.StepScheduled) and _came_from(fact.tokens, found):
            found.add(fact.step_run_id)
    return found


def _came_from(tokens: Sequence[e.Token], runs: set[str]) -> bool:
    return any(token.trigger.step_run_id in runs for token in tokens)


def _going_on(facts: Sequence[e.Fact], asked: Sequence[str], again: set[str], cut: Cut) -> Salvaged:
    """The loops that do not run anew."""
    found = salvage(facts)
    anew = _following(facts, asked)
    halves = {run: kept for run, kept in found.items() if kept.whole and run in again and run not in anew}
    return halves | {run: found[run] for run in asked if cut.failed_iterations}


def _taken_over(facts: Iterable[e.Fact], again: set[str], loops: Salvaged) -> Iterator[e.Fact]:
    """The log as it would be had nothing of what runs again happened; of loops that go on, only what is kept."""
    for fact in facts:
        loop = loops.get(_run_of(fact) or "")
        if loop.keeps(fact) if loop is not None else _is_taken_over(fact, again):
            yield fact


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


def _tokens(facts: Iterable[e.Fact], state: State) -> list[e.Token]:
    """The tokens at doors, those of runs that start again among them, and those of loops that go on."""
    return [*state.waiting, *(token for scheduled in _open(facts, state) for token in scheduled.tokens)]


def _open(facts: Iterable[e.Fact], state: State) -> Iterator[e.StepScheduled]:
    """How the loops that go on were scheduled."""
    return (fact for fact in facts if isinstance(fact, e.StepScheduled) and fact.step_run_id in state.runs)


def _seed(state: State, tokens: Sequence[e.Token], scheduled: Iterable[str]) -> e.Seed:
    counts = dict(state.counts)
    for run in scheduled:
        step, _, number = run.partition("#")
        counts[step] = max(counts.get(step, 0), int(number))
    return e.Seed(tuple(tokens), state.ctx, state.outputs, counts, state.output)


def _loops(
    program: Program,
    text: Program,
    execution_id: str,
    facts: Iterable[e.Fact],
    state: State,
    seed: e.Seed,
    now: float,
) -> Iterator[e.StepScheduled | e.LoopStarted]:
    """The steps of the loops that go on, scheduled as they were, with their recorded input and collection."""
    counts = dict(seed.counts)
    for before in _open(facts, state):
        run = state.runs[before.step_run_id]
        assert run.loop is not None
        counts[run.step] += 1
        id_, step = f"{run.step}#{counts[run.step]}", text.steps[run.step].step
        deadline_at = now + step.deadline_s if step.deadline_s is not None else None
        yield e.StepScheduled(id_, run.step, before.input, before.tokens, step.timeout_s, deadline_at)
        started = _loop_started(id_, run.loop, execution_id, run.id)
        yield as_written(started, program.steps[run.step], text.steps[run.step])


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
    first: e.ExecutionRequested,
    text: Program | None,
    origin: e.Origin,
    seed: Sequence[e.WorkflowStarted | e.StepScheduled | e.LoopStarted],
) -> RequestExecution:
    """With the workload as it was given: what the playbook adds to it may have changed with the text."""
    workload = first.workload if isinstance(first.workload, Mapping) else {}
    digest = first.digest if text is None else text.playbook.digest
    version = first.version if text is None else text.playbook.metadata.version
    return RequestExecution(first.path, digest, workload, version, origin=origin, trace_id=first.trace_id, seed=seed)
