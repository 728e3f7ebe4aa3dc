"""Watches a log from outside and keeps its own books: tokens, runs, iterations; nothing comes after the end."""

from collections import Counter

from noetl.engine import events as e
from noetl.engine.state import State


class Monitor:
    def __init__(self) -> None:
        self.born = 0
        self.consumed = 0
        self.numbers: Counter[str] = Counter()
        self.scheduled: set[str] = set()
        self.bounded: set[str] = set()
        self.routed: set[str] = set()
        self.in_flight: Counter[tuple[str, e.Path]] = Counter()
        self.room: dict[tuple[str, e.Path], int] = {}
        self.order: dict[tuple[str, e.Path], int] = {}
        self.loops: dict[tuple[str, e.Path], e.LoopStarted] = {}
        self.iterations: set[tuple[str, e.Path]] = set()
        self.iterations_ended: set[tuple[str, e.Path]] = set()
        self.task_runs: set[str] = set()
        self.task_ends: set[str] = set()
        self.finished: e.WorkflowFinished | None = None
        self.is_processed = False
        self.count = 0

    def see(self, fact: e.Fact) -> None:
        assert not self.is_processed, f"{type(fact).__name__} after the end"
        if self.finished is not None:
            assert isinstance(fact, e.PlaybookProcessed), f"{type(fact).__name__} after workflow.finished"
        self.count += 1
        self._see(fact)

    def _see(self, fact: e.Fact) -> None:
        match fact:
            case e.WorkflowStarted():
                self._workflow_started(fact)
            case e.StepScheduled():
                self._scheduled(fact)
            case e.StepSkipped():
                self.consumed += len(fact.tokens)
            case e.StepDone() | e.StepFailed():
                self._boundary(fact.step_run_id)
            case e.LoopStarted():
                self._loop_started(fact)
            case e.LoopDone(path=()):
                self._boundary(fact.step_run_id)
            case e.NextEvaluated():
                self._routed(fact)
            case e.IterationStarted(call=""):
                self._iteration_started(fact)
            case e.IterationDone(call="") | e.IterationFailed(call=""):
                self._iteration_ended(fact)
            case e.TaskStarted():
                assert fact.task_run_id not in self.task_runs, f"{fact.task_run_id} started twice"
                self.task_runs.add(fact.task_run_id)
            case e.TaskDone():
                self._task_done(fact)
            case e.WorkflowFinished():
                self.finished = fact
            case e.PlaybookProcessed():
                assert self.finished is not None
                assert fact.status == self.finished.status
                self.is_processed = True
            case _:
                pass

    def _workflow_started(self, fact: e.WorkflowStarted) -> None:
        """A rerun begins with tokens of its origin and goes on with its numbers."""
        self.born += len(fact.seed.tokens) if fact.seed is not None else 1
        self.numbers.update(fact.seed.counts if fact.seed is not None else {})

    def _scheduled(self, fact: e.StepScheduled) -> None:
        self.consumed += len(fact.tokens)
        assert fact.step_run_id not in self.scheduled
        assert fact.tokens, "a step runs without a token"
        self.numbers[fact.step] += 1
        assert fact.step_run_id == f"{fact.step}#{self.numbers[fact.step]}"
        self.scheduled.add(fact.step_run_id)

    def _boundary(self, run: str) -> None:
        assert run in self.scheduled
        assert run not in self.bounded, f"{run} has two boundary events"
        self.bounded.add(run)
        for key in [key for key in self.in_flight if key[0] == run]:
            del self.in_flight[key]

    def _routed(self, fact: e.NextEvaluated) -> None:
        assert fact.step_run_id in self.bounded, "arcs were evaluated before the step ended"
        assert fact.step_run_id not in self.routed, f"{fact.step_run_id} was routed twice"
        self.routed.add(fact.step_run_id)
        self.born += len(fact.tokens)
        if fact.error is None:
            assert len(fact.tokens) == sum(1 for arc in fact.arcs if arc)

    def _loop_started(self, fact: e.LoopStarted) -> None:
        key = (fact.step_run_id, fact.path)
        assert key not in self.loops, f"the loop at {key} started twice"
        self.loops[key] = fact
        self.room[key] = fact.max_in_flight

    def _iteration_started(self, fact: e.IterationStarted) -> None:
        key = (fact.step_run_id, fact.path)
        around = (fact.step_run_id, fact.path[:-1])
        assert key not in self.iterations, f"iteration {key} started twice"
        assert fact.step_run_id not in self.bounded
        assert 0 <= fact.path[-1] < self.loops[around].count
        self.iterations.add(key)
        self.in_flight[around] += 1
        assert self.in_flight[around] <= self.room[around], f"more iterations in flight than allowed at {around}"
        if self.loops[around].mode == "sequential":
            skips = fact.path[-1] - self.order.get(around, 0)
            keeps = self.loops[around].kept is not None
            assert skips == 0 or (keeps and skips > 0), "a sequential loop went out of order"
            self.order[around] = fact.path[-1] + 1

    def _iteration_ended(self, fact: e.IterationDone | e.IterationFailed) -> None:
        key = (fact.step_run_id, fact.path)
        assert key in self.iterations
        assert key not in self.iterations_ended, f"iteration {key} ended twice"
        self.iterations_ended.add(key)
        self.in_flight[fact.step_run_id, fact.path[:-1]] -= 1

    def _task_done(self, fact: e.TaskDone) -> None:
        assert fact.task_run_id not in self.task_ends, f"{fact.task_run_id} ended twice"
        assert fact.ran == (fact.task_run_id in self.task_runs), f"{fact.task_run_id} ended without having started"
        self.task_ends.add(fact.task_run_id)

    def agree(self, state: State) -> None:
        """The books against the state, after a transaction."""
        assert state.seq == self.count
        assert state.has_ended == self.is_processed
        if not state.has_ended:
            assert self.born == self.consumed + len(state.waiting), "a token was lost or made from nothing"
            assert set(state.runs) == self.scheduled - self.routed
            return
        assert not state.runs
        assert not state.waiting
        if state.status == "completed":
            assert self.born == self.consumed, "the execution completed with a token left"
            assert self.scheduled == self.bounded == self.routed
