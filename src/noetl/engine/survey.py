"""What a rerun must know of a log before it can tell what to take over, gathered in one pass over it.

It holds what there is of runs of steps. Of iterations it holds marks: a log of a million takes a megabyte.
"""

from collections.abc import Iterable, Iterator, Sequence, Set

from noetl.engine import events as e
from noetl.engine.salvage import Salvage

UNREAD: Set[type[e.Body]] = frozenset(
    {
        e.RequestEvaluated,
        e.StepSkipped,
        e.LoopDone,
        e.CtxPatched,
        e.ExecutionCancelled,
        e.StepStarted,
        e.TaskStarted,
        e.TaskDone,
        e.TaskWaiting,
        e.IterationStarted,
        e.StepDone,
    }
)
"""Facts that a survey learns nothing from: most of a log."""


class Survey:
    """`scheduled` are the runs of steps by the place of their first fact. `length` is how far the log was read.

    `stuck` are the runs that ended the execution, failed with no arc taken or with a guard that raised, and those that
    were under way when it ended.
    """

    def __init__(self) -> None:
        self.first: e.ExecutionRequested | None = None
        self.is_started = False
        self.is_finished = False
        self.length = 0
        self.scheduled: dict[str, int] = {}
        self.stuck: set[str] = set()
        self.loops: dict[str, Salvage] = {}
        self._before: dict[str, Sequence[str]] = {}

    @property
    def unfinished(self) -> Iterator[str]:
        """The runs of loops of which some iteration did not succeed, in their order."""
        return (run for run, loop in self.loops.items() if loop.is_unfinished)

    def following(self, roots: Iterable[str]) -> set[str]:
        """The runs, and those that began with a token of theirs."""
        found = set(roots)
        for run, before in self._before.items():
            if not found.isdisjoint(before):
                found.add(run)
        return found

    def note(self, seq: int, fact: e.Fact) -> None:
        """Takes the facts of a log in their order; those that are `UNREAD` may be left out."""
        self.length = seq
        match fact:
            case e.ExecutionRequested():
                self.first = fact
            case e.WorkflowStarted():
                self.is_started = True
            case e.WorkflowFinished():
                self.is_finished = True
            case e.StepScheduled():
                self._scheduled(seq, fact)
            case e.NextEvaluated():
                self._routed(fact)
            case e.LoopStarted(path=()):
                self.loops[fact.step_run_id] = Salvage(fact)
            case e.LoopStarted() | e.IterationDone() | e.IterationFailed() | e.StepFailed():
                loop = self.loops.get(fact.step_run_id)
                if loop is not None:
                    loop.note(fact)
            case _:
                pass

    def _scheduled(self, seq: int, fact: e.StepScheduled) -> None:
        run = fact.step_run_id
        self.scheduled[run] = seq
        self.stuck.add(run)
        self._before[run] = [token.trigger.step_run_id for token in fact.tokens if token.trigger.step_run_id]

    def _routed(self, fact: e.NextEvaluated) -> None:
        if fact.error is None and (fact.trigger.name != "step.failed" or fact.tokens):
            self.stuck.remove(fact.step_run_id)
