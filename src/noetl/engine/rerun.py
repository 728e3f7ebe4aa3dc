"""A rerun: a new execution that takes over what another one had reached and runs only the rest.

What runs again: the last run of the step asked for, each run whose failure ended the origin, each run that had not
ended, and everything that followed from these. All else is as it was: ctx and outputs as the other runs left them,
tokens that waited, the numbering of runs. A loop that runs again keeps the iterations that had succeeded, at every
level: of an outer iteration in which an inner one failed, only that one runs again. A loop runs anew where its step was
asked for, where it follows from that step, and where there is nothing of it to keep.
The seed stands in the new log's own first events, so that the new log folds alone.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from noetl.engine import events as e
from noetl.engine.carrying import as_written, refusal_of
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.evolve import evolve
from noetl.engine.names import step_of
from noetl.engine.program import Program
from noetl.engine.salvage import Salvage
from noetl.engine.state import LoopRun, State, empty
from noetl.engine.survey import Survey
from noetl.errors import closest


class Cut(msgspec.Struct, frozen=True):
    """Where a rerun begins. Without a step it begins where the origin failed or was stopped."""

    from_step: str | None = None
    failed_iterations: bool = False


class Plan(msgspec.Struct, frozen=True):
    """What of an execution runs `again`, and of these the `loops` that do not run anew, with what is kept of each.

    `begun` are the other runs that had come to their end without success, or to none, by their step.
    """

    execution_id: str
    cut: Cut
    survey: Survey
    again: Set[str]
    loops: Mapping[str, Salvage]
    begun: Mapping[str, str]

    def takes_over(self, fact: e.Fact) -> bool:
        """Whether it would have happened had nothing of what runs again; of loops that go on, only what is kept."""
        loop = self.loops.get(_run_of(fact) or "")
        return loop.keeps(fact) if loop is not None else _is_taken_over(fact, self.again)


def plan(execution_id: str, survey: Survey, cut: Cut) -> Plan | Rejection:
    """What is to run again, from a survey of the whole log."""
    refusal = _refusal(execution_id, survey)
    if refusal is not None:
        return refusal
    asked = _asked(execution_id, survey, cut)
    if isinstance(asked, Rejection):
        return asked
    again = survey.following({*asked, *survey.stuck})
    anew = survey.following(asked)
    loops = _going_on(survey, asked, again - anew, cut)
    begun = {step_of(run): run for run in survey.scheduled if run in survey.stuck and run not in {*anew, *loops}}
    return Plan(execution_id, cut, survey, again, loops, begun)


class Takeover:
    """A second pass over the log: what is left of it without what runs again, and the request that follows from it.

    `program` is what the execution ran. With a `text` the rest runs that instead, or the answer says why it cannot.
    """

    def __init__(self, program: Program, planned: Plan, text: Program | None = None) -> None:
        self._program = program
        self._plan = planned
        self._text = text
        self._state = empty(planned.execution_id)
        self._loops: list[e.StepScheduled] = []

    def note(self, fact: e.Fact) -> None:
        """Takes each fact of the log, from its first on."""
        if not self._plan.takes_over(fact):
            return
        evolve(self._program, self._state, fact)
        if isinstance(fact, e.StepScheduled) and fact.step_run_id in self._plan.loops:
            self._loops.append(fact)

    def request(self, now: float) -> RequestExecution | Rejection:
        """What starts the rerun, once the log is read to its end."""
        text = self._text
        tokens = [*self._state.waiting, *(token for scheduled in self._loops for token in scheduled.tokens)]
        if not tokens:
            return _nothing_left(self._plan)
        difference = refusal_of(self._program, text, self._state, tokens) if text is not None else None
        if difference is not None:
            return difference
        seed = _seed(self._state, tokens, self._plan)
        started = e.WorkflowStarted((text or self._program).playbook.entry_step, seed)
        return _request(self._plan, text, (started, *self._loops_started(seed, now)))

    def _loops_started(self, seed: e.Seed, now: float) -> Iterator[e.StepScheduled | e.LoopStarted]:
        """The steps of the loops that go on, scheduled as they were, with their recorded input and collection."""
        counts, text = dict(seed.counts), self._text or self._program
        for before in self._loops:
            run = self._state.runs[before.step_run_id]
            assert run.loop is not None
            counts[run.step] += 1
            id_, step = f"{run.step}#{counts[run.step]}", text.steps[run.step].step
            deadline_at = now + step.deadline_s if step.deadline_s is not None else None
            yield e.StepScheduled(id_, run.step, before.input, before.tokens, step.timeout_s, deadline_at)
            started = _loop_started(id_, run.loop, self._plan.execution_id, run.id)
            yield as_written(started, self._program.steps[run.step], text.steps[run.step])


def _refusal(execution_id: str, survey: Survey) -> Rejection | None:
    if not survey.is_started:
        return Rejection("unexpected", f"execution {execution_id} never started a step; run the playbook anew")
    if not survey.is_finished:
        return Rejection("unexpected", f"execution {execution_id} is still running; wait for its end, or cancel it")
    return None


def _nothing_left(planned: Plan) -> Rejection:
    loops = ", ".join(sorted(set(map(step_of, planned.survey.unfinished))))
    failed = f", or run the failed iterations of {loops}" if loops else ""
    return Rejection(
        "unexpected", f"execution {planned.execution_id} has nothing to run again; name a step to run from{failed}"
    )


def _asked(execution_id: str, survey: Survey, cut: Cut) -> Sequence[str] | Rejection:
    """The runs to begin with, if any were asked for: the last one of a step that is named, or all loops that fit."""
    if cut.from_step is None:
        return _failed_loops(execution_id, survey) if cut.failed_iterations else []
    fit = list(survey.unfinished if cut.failed_iterations else survey.scheduled)
    runs = [run for run in fit if step_of(run) == cut.from_step]
    return runs[-1:] or Rejection("unknown", f"execution {execution_id} has no {_missed(cut.from_step, cut, fit)}")


def _failed_loops(execution_id: str, survey: Survey) -> Sequence[str] | Rejection:
    """Each loop with failed iterations, but for those that run anew since they follow from another such loop.

    A run after which its step ran once more counts as superseded: people are told of the later one.
    """
    unfinished = list(survey.unfinished)
    found: list[str] = []
    for run in unfinished:
        if not _is_superseded(survey, run) and run not in survey.following(found):
            found.append(run)
    if found or not unfinished:
        return found or Rejection("unknown", f"execution {execution_id} has no loop with failed iterations")
    steps = ", ".join(dict.fromkeys(map(step_of, unfinished)))
    return Rejection(
        "unknown",
        f"execution {execution_id} has failed iterations only in runs after which the step ran again: {steps}; "
        "name the step to run from",
    )


def _is_superseded(survey: Survey, run: str) -> bool:
    return any(step_of(later) == step_of(run) for later in survey.following([run]) if later != run)


def _missed(step: str, cut: Cut, fit: Sequence[str]) -> str:
    """What there is none of, and what there is."""
    what = "with failed iterations" if cut.failed_iterations else "to run from"
    steps = list(dict.fromkeys(map(step_of, fit)))
    near = closest(step, steps)
    there = f"; {'they are in' if cut.failed_iterations else 'it ran'}: {', '.join(steps)}" if steps else ""
    meant = f"; did you mean `{near}`?" if near is not None else ""
    return f"run of step `{step}` {what}{there}{meant}"


def _going_on(survey: Survey, asked: Sequence[str], stuck: Set[str], cut: Cut) -> Mapping[str, Salvage]:
    """The loops that do not run anew."""
    halves = {run: loop for run, loop in survey.loops.items() if loop.has_any and run in stuck}
    return halves | {run: survey.loops[run] for run in asked if cut.failed_iterations}


def _is_taken_over(fact: e.Fact, again: Set[str]) -> bool:
    match fact:
        case e.ExecutionCancelled() | e.WorkflowFinished() | e.PlaybookProcessed():
            return False
        case e.StepSkipped():
            return not _came_from(fact.tokens, again)
        case _:
            return _run_of(fact) not in again


def _came_from(tokens: Sequence[e.Token], runs: Set[str]) -> bool:
    return any(token.trigger.step_run_id in runs for token in tokens)


def _run_of(fact: e.Fact) -> str | None:
    return fact.origin.step_run_id if isinstance(fact, e.CtxPatched) else getattr(fact, "step_run_id", None)


def _seed(state: State, tokens: Sequence[e.Token], planned: Plan) -> e.Seed:
    counts = dict(state.counts)
    for run in planned.survey.scheduled:
        step, _, number = run.partition("#")
        counts[step] = max(counts.get(step, 0), int(number))
    return e.Seed(tuple(tokens), state.ctx, state.outputs, counts, state.output, planned.begun)


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
    planned: Plan, text: Program | None, seed: Sequence[e.WorkflowStarted | e.StepScheduled | e.LoopStarted]
) -> RequestExecution:
    """With the workload as it was given: what the playbook adds to it may have changed with the text."""
    survey, cut, first = planned.survey, planned.cut, planned.survey.first
    assert first is not None
    seq = min([survey.scheduled[run] for run in planned.again], default=survey.length)
    before = first.digest if text is not None else None
    origin = e.Origin(planned.execution_id, seq, cut.from_step, cut.failed_iterations, before)
    workload = first.workload if isinstance(first.workload, Mapping) else {}
    digest = first.digest if text is None else text.playbook.digest
    version = first.version if text is None else text.playbook.metadata.version
    return RequestExecution(first.path, digest, workload, version, origin=origin, trace_id=first.trace_id, seed=seed)
