"""How a run begins: the engine goes ahead with the values that are known, up to the first task of each step it reaches.

No tool runs. What a task would give is not known, so that nothing behind one is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

import msgspec

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.binding import BindingFailed
from noetl.engine.commands import Command, Report, Reported, RequestExecution
from noetl.engine.decide import Surroundings, transact
from noetl.engine.evolve import fold
from noetl.engine.loops import ctx_at, loop_under, scratch_at
from noetl.engine.output import Error, Output, failed
from noetl.engine.pipeline import Bound, Finished, Record, Run, bind, next_move, settle
from noetl.engine.program import Program
from noetl.engine.reference import External, Reference
from noetl.engine.state import LoopRun, State, StepRun, empty
from noetl.engine.workerside import Given, with_input
from noetl.playbook.model import Directive, Task

EXECUTION = "00000000-0000-7000-8000-000000000000"
"""Stands for the id that a run would have."""

MOVES_MAX = 1_000
"""Moves that need no tool: calls of blocks, rules that decide before a task."""


UNBOUND = "template"
"""The kind of error of a task whose templates cannot be evaluated."""

FAILURES: Mapping[str, tuple[str, ...]] = {
    "python": ("input", "exception"),
    "http": ("input",),
    "resolve": ("input",),
    "playbook": ("playbook_failed",),
}
"""Kinds of errors that can be foreseen for a tool, its templates apart."""


class FirstTask(NamedTuple):
    """A task that a run begins with. `outer` is what its `input` sees of all that is known, `inner` its other fields.

    `bound` is what its tool gets, None where that is not known. `fatal` are kinds of errors that make the run fail.
    """

    task: Task
    path: str
    outer: Mapping[str, object]
    inner: Mapping[str, object]
    bound: Bound | None
    fatal: frozenset[str]

    @property
    def is_fatal(self) -> bool:
        """Whether the run fails where one of its templates does."""
        return UNBOUND in self.fatal

    def scope(self, path: str) -> Mapping[str, object]:
        """What the template at a path of the model sees."""
        return self.outer if path.startswith(f"{self.path}/input/") else self.inner


class Beginning(NamedTuple):
    """`error` is why a run fails before anything else could happen."""

    error: Error | None
    tasks: Mapping[str, FirstTask]


def beginning(program: Program, workload: Mapping[str, object]) -> Beginning:
    played = _Played(program, empty(EXECUTION), [])
    played.send(RequestExecution(program.playbook.metadata.path, program.playbook.digest, workload))
    tasks: dict[str, FirstTask] = {}
    seen: set[str] = set()
    while new := [run_id for run_id in played.state.runs if run_id not in seen]:
        seen.update(new)
        for run_id in new:
            reached = _reached(played, run_id)
            if reached is not None:
                tasks[reached.work.task.path] = _first(played, reached)
    return Beginning(played.error, tasks)


class _Reached(NamedTuple):
    run_id: str
    path: e.Path
    work: Run


class _Played:
    """An execution in memory that nobody else sees."""

    def __init__(self, program: Program, state: State, facts: list[e.Fact]) -> None:
        self.program = program
        self.state = state
        self.facts = facts

    @property
    def error(self) -> Error | None:
        """The first cause, where it has failed."""
        ended = next((fact for fact in self.facts if isinstance(fact, e.WorkflowFinished)), None)
        if ended is None or ended.status != "failed":
            return None
        of_task = ended.output.error
        return of_task if of_task is not None else ended.error

    def send(self, command: Command) -> None:
        facts = transact(self.program, self.state, command, Surroundings(0.0, _NothingStored()))
        assert isinstance(facts, list), facts
        self.facts += facts

    def report(self, run: StepRun, *facts: Reported) -> None:
        begun: tuple[Reported, ...] = () if run.is_started else (e.StepStarted(run.id),)
        self.send(Report(run.id, (*begun, *facts)))

    def again(self) -> _Played:
        """The same once more, to try something out."""
        return _Played(self.program, fold(self.program, EXECUTION, self.facts), list(self.facts))


def _reached(played: _Played, run_id: str) -> _Reached | None:
    """The first tool that a step run comes to, in a loop that of the first iteration. None where it comes to none."""
    path = _open(played, run_id)
    return _driven(played, run_id, path) if path is not None else None


def _driven(played: _Played, run_id: str, path: e.Path) -> _Reached | None:
    for _ in range(MOVES_MAX):
        run = played.state.runs.get(run_id)
        cursor = _cursor(run, path) if run is not None else None
        if run is None or cursor is None:
            break
        move = next_move(played.program, cursor, _given(played, run, path), now=0.0, draw=0.0)
        if isinstance(move, Run):
            return _Reached(run_id, path, move)
        if not isinstance(move, Record):
            assert isinstance(move, Finished), move
            played.report(run, _end(run, path, move))
            break
        played.report(run, *move.facts)
    return None


def _open(played: _Played, run_id: str) -> e.Path | None:
    """The path of the first iteration, which is begun; the empty one without a loop. None where there is nothing."""
    run = played.state.runs.get(run_id)
    if run is None or run.loop is None:
        return () if run is not None and run.cursor is not None else None
    loop: LoopRun | None = run.loop
    while loop is not None and loop.level + 1 < len(played.program.steps[run.step].levels):
        loop = loop.live[0].loop if 0 in loop.live else None
    if loop is None:
        return None
    path = (*loop.path, 0)
    played.report(run, e.IterationStarted(run.id, path))
    return path


def _cursor(run: StepRun, path: e.Path) -> cursors.Cursor | None:
    loop = loop_under(run, path[:-1]) if path else None
    if loop is None:
        return run.cursor if not path else None
    return loop.live[path[-1]].cursor if path[-1] in loop.live else None


def _given(played: _Played, run: StepRun, path: e.Path) -> Given:
    state = played.state
    return Given(
        EXECUTION,
        run.step,
        run.id,
        path,
        state.workload,
        ctx_at(state, run, path),
        run.input,
        scratch_at(run, path, played.program, _NothingStored()) if path else None,
        state.outputs,
    )


def _end(run: StepRun, path: e.Path, end: Finished) -> Reported:
    if path:
        return (e.IterationFailed if end.is_failed else e.IterationDone)(run.id, path, end.output)
    return (e.StepFailed if end.is_failed else e.StepDone)(run.id, end.output)


def _first(played: _Played, reached: _Reached) -> FirstTask:
    work = reached.work
    inner, bound = _with_own_input(played.program, work), bind(played.program, work)
    kinds = (UNBOUND, *FAILURES.get(work.task.task.kind, ()))
    fatal = frozenset(kind for kind in kinds if _is_fatal(played.again(), reached, kind))
    known = None if isinstance(bound, Output) else bound
    return FirstTask(work.task.task, work.task.path, work.scope, inner, known, fatal)


def _with_own_input(program: Program, work: Run) -> Mapping[str, object]:
    """Without the input, where that cannot be known: it may hold a secret."""
    try:
        own = work.task.input(work.scope)
    except BindingFailed:
        return {name: value for name, value in work.scope.items() if name not in ("input", "args")}
    return with_input(work.scope, own, program.playbook.dialect)


def _is_fatal(played: _Played, reached: _Reached, kind: str) -> bool:
    """Whether the run fails where this task does, with an error of a kind: its rules, a loop or an arc may take that.

    A rule that tries again comes to the same end, only later.
    """
    run_id, path, work = reached
    run = played.state.runs[run_id]
    cursor = _cursor(run, path)
    assert cursor is not None
    started = cursors.apply(cursor, work.started, played.program.playbook.dialect, "")
    output = failed(kind, "this cannot go well")
    done = settle(played.program, started, _given(played, run, path), output, own={}, now=0.0, draw=0.0)
    if done.directive is Directive.RETRY:
        done = msgspec.structs.replace(done, directive=Directive.FAIL, next=None, due_at=None)
    played.report(run, work.started, done)
    return _driven(played, run_id, path) is None and played.error is not None


class _NothingStored:
    """All values are at hand: they come from a file or from the command line."""

    def length(self, stored: External | Reference) -> NoReturn:
        raise AssertionError(stored)

    def element(self, stored: External | Reference, index: int) -> NoReturn:
        raise AssertionError(stored, index)

    def fetch(self, reference: Reference) -> NoReturn:
        raise AssertionError(reference)
