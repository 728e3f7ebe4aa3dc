"""The only code that changes state: one function an event, the same when live and on replay.

It never judges. What an event leaves to decide it hands back, and `decide` takes it from there.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.gathering import Clash, Gathered, part_of
from noetl.engine.output import NOTHING, Error, Output, is_of_tool
from noetl.engine.program import Program
from noetl.engine.reference import LOOP_REFERENCE
from noetl.engine.scopes import overlaid, patched
from noetl.engine.state import (
    FAILURES_MAX,
    Arrive,
    Begin,
    Iteration,
    LoopRun,
    Pending,
    Route,
    State,
    StepRun,
    Tally,
    Tend,
    empty,
)
from noetl.engine.workerside import pipeline_of
from noetl.playbook.model import Directive, LoopMode

_PARALLEL, _SEQUENTIAL = LoopMode.PARALLEL, LoopMode.SEQUENTIAL
_RETRY = Directive.RETRY

DATA_INLINE_BYTES_MAX = 64 * 1024
"""The most data of its iterations that a loop keeps in state; beyond it the log itself is the manifest."""


def evolve(program: Program, state: State, fact: e.Fact) -> Sequence[Pending]:  # noqa: C901, PLR0911, PLR0912
    """Apply a fact; what it leaves to decide is returned. One arm an event, so that the type checker misses none."""
    state.seq += 1
    match fact:
        case e.TaskDone():
            return _task_done(program, state, fact)
        case e.TaskStarted():
            return _task_started(state, fact)
        case e.IterationDone():
            return _iteration_done(program, state, fact)
        case e.IterationStarted():
            return _iteration_started(program, state, fact)
        case e.TaskWaiting():
            return _task_waiting(state, fact)
        case e.IterationFailed():
            return _iteration_failed(program, state, fact)
        case e.StepStarted():
            return _step_started(state, fact)
        case e.StepDone():
            return _step_done(state, fact)
        case e.StepFailed():
            return _step_failed(state, fact)
        case e.StepScheduled():
            return _scheduled(program, state, fact)
        case e.StepSkipped():
            return _skipped(state, fact)
        case e.CtxPatched():
            return _ctx_patched(program, state, fact)
        case e.NextEvaluated():
            return _next_evaluated(state, fact)
        case e.LoopStarted():
            return _loop_started(state, fact)
        case e.LoopDone():
            return _loop_done(state, fact)
        case e.ExecutionRequested():
            return _requested(state, fact)
        case e.RequestEvaluated():
            return _evaluated(state, fact)
        case e.WorkflowStarted():
            return _workflow_started(state, fact)
        case e.WorkflowFinished():
            return _finished(state, fact)
        case e.ExecutionCancelled() | e.PlaybookProcessed():
            return ()
        case _:
            assert_never(fact)


def fold(program: Program, execution_id: str, facts: Iterable[e.Fact], snapshot: State | None = None) -> State:
    """The state that a log comes to; with a snapshot, that and what follows it."""
    state = snapshot if snapshot is not None else empty(execution_id)
    for fact in facts:
        evolve(program, state, fact)
    return state


def _requested(state: State, fact: e.ExecutionRequested) -> Sequence[Pending]:
    state.digest = fact.digest
    state.parent = fact.parent
    state.origin = fact.origin
    return ()


def _evaluated(state: State, fact: e.RequestEvaluated) -> Sequence[Pending]:
    state.workload = _values(fact.workload)
    state.error = fact.error
    return ()


def _workflow_started(state: State, fact: e.WorkflowStarted) -> Sequence[Pending]:
    state.status = "running"
    seed = fact.seed or e.Seed((e.Token(fact.entry_step, e.Trigger("workflow.started")),))
    state.ctx, state.outputs, state.counts = seed.ctx, dict(seed.outputs), dict(seed.counts)
    state.output = seed.output
    state.begun = dict(seed.begun)
    state.ctx_bytes = len(msgspec.json.encode(seed.ctx))
    state.steps = {step: Tally("kept") for step in seed.outputs}
    state.waiting.extend(seed.tokens)
    return [Arrive(token) for token in seed.tokens]


def _scheduled(program: Program, state: State, fact: e.StepScheduled) -> Sequence[Pending]:
    state.counts[fact.step] = state.counts.get(fact.step, 0) + 1
    _leave_door(state, fact.tokens)
    ready = program.steps[fact.step]
    last = fact.tokens[-1]
    run = StepRun(
        fact.step_run_id,
        fact.step,
        _values(fact.input),
        last.trigger,
        args=_merged(fact.tokens),
        cursor=cursors.start({}) if ready.step.tool and not ready.levels else None,
        deadline_at=fact.deadline_at,
        timeout_s=fact.timeout_s,
        origin_run=state.begun.pop(fact.step, ""),
    )
    state.runs[run.id] = run
    _count_run(state, run)
    return () if run.cursor is not None else (Begin(run.id),)


def _count_run(state: State, run: StepRun) -> None:
    before = state.steps.get(run.step)
    runs, retries = (before.runs, before.retries) if before is not None else (0, 0)
    state.steps[run.step] = Tally("running", runs + 1, retries, run.id, state.seq)


def _merged(tokens: Sequence[e.Token]) -> dict[str, object]:
    """v10's token payload; at a join those of all tokens, the later over the earlier."""
    args: dict[str, object] = {}
    for token in tokens:
        args |= token.args
    return args


def _skipped(state: State, fact: e.StepSkipped) -> Sequence[Pending]:
    _leave_door(state, fact.tokens)
    state.steps.setdefault(fact.step, Tally("skipped")).status = "skipped"
    return ()


def _leave_door(state: State, tokens: Sequence[e.Token]) -> None:
    for token in tokens:
        state.waiting.remove(token)


def _ctx_patched(program: Program, state: State, fact: e.CtxPatched) -> Sequence[Pending]:
    state.ctx = patched(state.ctx, fact.patch)
    state.ctx_bytes += len(msgspec.json.encode(fact.patch))
    if state.ctx_bytes > program.ctx_bytes_max:
        state.ctx_bytes = len(msgspec.json.encode(state.ctx))
    return ()


def _next_evaluated(state: State, fact: e.NextEvaluated) -> Sequence[Pending]:
    run = state.runs.pop(fact.step_run_id)
    state.outputs[run.step] = cursors.kept(run.output)
    if not fact.tokens:
        state.output = run.output
    state.waiting.extend(fact.tokens)
    return [Arrive(token) for token in fact.tokens]


def _finished(state: State, fact: e.WorkflowFinished) -> Sequence[Pending]:
    state.status = fact.status
    state.output = fact.output
    state.error = fact.error
    for run in state.runs.values():
        if run.boundary is None:
            _tell_end(state, run, "failed" if fact.status == "failed" else "cancelled")
    state.runs.clear()
    state.waiting.clear()
    return ()


def _step_started(state: State, fact: e.StepStarted) -> Sequence[Pending]:
    state.runs[fact.step_run_id].is_started = True
    return ()


def _step_done(state: State, fact: e.StepDone) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    _tell_end(state, run, "done")
    _leave(run)
    return _boundary(run, fact.output, e.Trigger("step.done", run.step, "success", run.id))


def _step_failed(state: State, fact: e.StepFailed) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    _tell_end(state, run, "failed", fact.output.error)
    _leave(run)
    return _boundary(
        run, fact.output, e.Trigger("step.failed", run.step, "error", run.id, fact.output.error, fact.loop)
    )


def _tell_end(state: State, run: StepRun, status: str, error: Error | None = None) -> None:
    """Of several runs of a step the last one that was scheduled is told of."""
    tally = state.steps[run.step]
    if tally.last != run.id:
        return
    tally.status, tally.ended, tally.error = status, state.seq, error
    if run.loop is not None:
        tally.done, tally.failed, tally.total = run.loop.succeeded, run.loop.failed, run.loop.count


def _leave(run: StepRun) -> None:
    """The pipeline or the loop is over; what it wrote to `step` stays for the arcs."""
    if run.cursor is not None:
        bottom = run.cursor.frames[0]
        assert isinstance(bottom, cursors.Frame)
        run.output_kind, run.step_scope = bottom.output_kind, bottom.step
    if run.loop is not None:
        run.step_scope = run.loop.step
    run.cursor = run.loop = None
    run.is_parked = False


def _boundary(run: StepRun, output: Output, trigger: e.Trigger) -> Sequence[Pending]:
    run.output = output
    run.boundary = trigger
    return (Route(run.id),)


def _loop_started(state: State, fact: e.LoopStarted) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    around = loop_at(run, fact.path[:-1]) if fact.path else None
    loop = LoopRun(fact.path, len(fact.path), fact.count, fact.collection, fact.mode, fact.max_in_flight)
    loop.step = around.step if around is not None else {}
    if fact.kept is not None:
        _keep(loop, fact.kept)
    if around is not None:
        around.live[fact.path[-1]].loop = loop
        around.begun.pop(fact.path[-1], None)
    else:
        run.loop = loop
        run.origin_run = fact.kept.step_run_id if fact.kept is not None else run.origin_run
        _tell_loop(state, run)
    return (Tend(run.id, fact.path),)


def _tell_loop(state: State, run: StepRun) -> None:
    tally = state.steps[run.step]
    if tally.last == run.id:
        tally.looped = state.seq


def _keep(loop: LoopRun, kept: e.Kept) -> None:
    """Iterations that succeeded before are over; the fact stays as it is, so the loop takes a copy of its parts."""
    loop.ended = kept.ended.copy()
    loop.succeeded = kept.succeeded
    loop.data_bytes = kept.data_bytes
    loop.step = kept.step
    loop.overlay = kept.overlay
    loop.begun = {started.path[-1]: started for started in kept.begun}
    loop.next = loop.ended.first_gap(0)


def _loop_done(state: State, fact: e.LoopDone) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    if fact.path:
        return ()
    _tell_end(state, run, "done")
    _leave(run)
    return _boundary(run, fact.output, e.Trigger("loop.done", run.step, "success", run.id, None, fact.loop))


def _task_started(state: State, fact: e.TaskStarted) -> Sequence[Pending]:
    holder = holder_at(state.runs[fact.step_run_id], fact.path)
    assert holder.cursor is not None
    cursor = cursors.task_started(holder.cursor, fact)
    holder.cursor = cursor if fact.path else _outside_loop(cursor)
    return ()


def _task_done(program: Program, state: State, fact: e.TaskDone) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    holder = holder_at(run, fact.path)
    assert holder.cursor is not None
    frame = cursors.frame_of(holder.cursor, fact)
    assert frame is not None
    if fact.directive is _RETRY:
        state.steps[run.step].retries += 1
    kind = pipeline_of(program, frame, run.step).tasks[frame.pc].task.kind
    cursor = cursors.task_done(holder.cursor, fact, program.playbook.dialect, kind)
    holder.cursor = cursor if fact.path else _outside_loop(cursor)
    return ()


def _outside_loop(cursor: cursors.Cursor) -> cursors.Cursor:
    """Outside a loop ctx holds what the pipeline wrote, and perhaps what others wrote since."""
    return cursors.Cursor(cursor.frames, cursor.task_runs) if cursor.ctx else cursor


def _task_waiting(state: State, fact: e.TaskWaiting) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    holder = holder_at(run, fact.path)
    assert holder.cursor is not None
    holder.cursor = cursors.task_waiting(holder.cursor, fact)
    holder.is_parked = not fact.is_over
    state.children += fact.child is not None
    return (Tend(run.id, ()),) if fact.path and holder.is_parked else ()


def holder_at(run: StepRun, path: e.Path) -> StepRun | Iteration:
    """What holds the cursor: the step run itself, or an iteration in flight."""
    holder: StepRun | Iteration = run
    for index in path:
        assert holder.loop is not None
        holder = holder.loop.live[index]
    return holder


def loop_at(run: StepRun, path: e.Path) -> LoopRun:
    """The loop whose iterations are numbered under `path`."""
    loop = holder_at(run, path).loop if path else run.loop
    assert loop is not None
    return loop


def _iteration_started(program: Program, state: State, fact: e.IterationStarted) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    if fact.call:
        return _block_iteration(program, run, fact)
    loop = loop_at(run, fact.path[:-1])
    index = fact.path[-1]
    if index >= loop.next:
        loop.next = loop.ended.first_gap(index + 1)
    if loop.level + 1 < len(program.steps[run.step].levels):
        loop.live[index] = Iteration()
        return (Tend(run.id, loop.path),)
    loop.live[index] = Iteration(cursors.start(loop.step))
    return ()


def _iteration_done(program: Program, state: State, fact: e.IterationDone) -> Sequence[Pending]:
    run = state.runs[fact.step_run_id]
    if fact.call:
        return _block_iteration(program, run, fact)
    loop = loop_at(run, fact.path[:-1])
    index = fact.path[-1]
    loop.succeeded += 1
    if loop.mode is _SEQUENTIAL:
        loop.step = fact.step
        loop.overlay = overlaid(loop.overlay, fact.ctx) if loop.level > 0 else {}
    del loop.live[index]
    reducers = program.steps[run.step].levels[loop.level].loop.reduce
    writes = fact.ctx if loop.mode is _PARALLEL else {}
    loop.ended.add(index, part_of(index, _inline(loop, fact.output), writes, fact.reduced, reducers), reducers)
    return (Tend(run.id, loop.path),)


def _iteration_failed(program: Program, state: State, fact: e.IterationFailed) -> Sequence[Pending]:
    """What a failed iteration wrote to ctx is gone; what it wrote to `step` a sequential loop carries on."""
    run = state.runs[fact.step_run_id]
    if fact.call:
        return _block_iteration(program, run, fact)
    loop = loop_at(run, fact.path[:-1])
    index = fact.path[-1]
    loop.failed += 1
    _tell_failure(state, run)
    ended = loop.live.pop(index)
    if loop.mode is _SEQUENTIAL:
        loop.step = _step_of(ended)
    reducers = program.steps[run.step].levels[loop.level].loop.reduce
    loop.ended.add(index, Gathered(_inline(loop, NOTHING), clash=_clash_inside(fact)), reducers)
    if program.steps[run.step].is_best_effort:
        return (Tend(run.id, loop.path),)
    for depth in range(len(fact.path)):
        around = loop_at(run, fact.path[:depth])
        around.failure = around.failure or fact.output
    return (Tend(run.id, loop.path), Tend(run.id, ())) if loop.path else (Tend(run.id, ()),)


def _tell_failure(state: State, run: StepRun) -> None:
    tally = state.steps[run.step]
    if tally.last == run.id and len(tally.failures) < FAILURES_MAX:
        tally.failures.append(state.seq)


def _clash_inside(fact: e.IterationFailed) -> Clash | None:
    """Why writes in a loop inside do not go together; the loops around tell at their end, whatever ended first."""
    error = fact.output.error
    if not fact.by_server or error is None or error.kind != "ctx_conflict":
        return None
    return Clash(fact.path[-1], "", message=error.message)


def _step_of(iteration: Iteration) -> e.Values:
    if iteration.loop is not None:
        return iteration.loop.step
    assert iteration.cursor is not None
    return iteration.cursor.frames[0].step


def _block_iteration(
    program: Program, run: StepRun, fact: e.IterationStarted | e.IterationDone | e.IterationFailed
) -> Sequence[Pending]:
    holder = holder_at(run, fact.path)
    assert holder.cursor is not None
    holder.cursor = cursors.apply(holder.cursor, fact, program.playbook.dialect, "")
    return ()


def _inline(loop: LoopRun, output: Output) -> list[object] | None:
    """The data of an iteration as the loop carries it; past the bound the loop lets all of it go."""
    if loop.data_bytes > DATA_INLINE_BYTES_MAX:
        return None
    data = output.data
    loop.data_bytes += 5 if data is None else len(msgspec.json.encode(data)) + 1
    if _is_elsewhere(output):
        loop.data_bytes = DATA_INLINE_BYTES_MAX + 1
    if loop.data_bytes <= DATA_INLINE_BYTES_MAX:
        return [data]
    loop.ended.drop_data()
    return None


def _is_elsewhere(output: Output) -> bool:
    """Whether the data of an iteration is what a tool stored, or that of a large loop inside it."""
    return is_of_tool(output) or (output.ref is not None and output.ref.type == LOOP_REFERENCE)


def _values(data: object) -> e.Values:
    return data if isinstance(data, dict) else {}
