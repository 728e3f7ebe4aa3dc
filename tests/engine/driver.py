"""Runs whole playbooks in one process with given tool outputs: the engine and nothing else.

Every transaction is checked against a fold of the log, so that a test cannot pass on a state that events do not explain.
"""

from collections.abc import Callable, Mapping

import msgspec

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.commands import Command, EndWait, Rejection, Report, Reported, RequestExecution
from noetl.engine.decide import Surroundings, transact
from noetl.engine.evolve import fold
from noetl.engine.loops import loop_under, scratch_at
from noetl.engine.output import Output
from noetl.engine.pipeline import Await, Finished, Given, Record, Run, bind, kind_of, next_move, settle
from noetl.engine.program import Program
from noetl.engine.reference import External, Reference
from noetl.engine.scopes import patched
from noetl.engine.state import LoopRun, State, StepRun, empty
from noetl.playbook.compile import compile_playbook

MOVES_MAX = 100_000

Tool = Callable[[str, Mapping[str, object], Mapping[str, object]], Output]
"""Given the task's name, its fields and its input, the output of one run."""


class NoCollections:
    def length(self, stored: External | Reference) -> int | None:
        return None

    def element(self, stored: External | Reference, index: int) -> object:
        raise AssertionError("no collection is kept elsewhere")


class Driver:
    def __init__(
        self,
        text: str,
        tool: Tool,
        workload: Mapping[str, object] | None = None,
        request: RequestExecution | None = None,
    ) -> None:
        """Without a `request` the playbook is requested with the workload."""
        compilation = compile_playbook(text, "playbook.yaml")
        assert compilation.playbook is not None, compilation.diagnostics
        self.program = Program(compilation.playbook)
        self.tool = tool
        self.state: State = empty("x")
        self.facts: list[e.Fact] = []
        self.now = 0.0
        self.around = Surroundings(self.now, NoCollections())
        digest = compilation.playbook.digest
        self.send(request or RequestExecution(compilation.playbook.metadata.path, digest, workload or {}))

    def send(self, command: Command) -> Rejection | None:
        answer = transact(self.program, self.state, command, Surroundings(self.now, NoCollections()))
        if isinstance(answer, Rejection):
            return answer
        self.facts.extend(answer)
        return None

    def run(self) -> "Driver":
        """Carry on until nothing is left to do."""
        for _ in range(MOVES_MAX):
            if self.state.has_ended or not self.work():
                break
        folded = fold(self.program, "x", self.facts)
        assert msgspec.to_builtins(folded) == msgspec.to_builtins(self.state)
        return self

    def work(self) -> bool:
        for run in list(self.state.runs.values()):
            if not run.is_started:
                self.report(run, e.StepStarted(run.id))
            if run.cursor is not None:
                return self.move(run, ())
            if run.loop is not None:
                path = self.pick(run.loop)
                if path is not None:
                    return self.iterate(run, path)
        return False

    def pick(self, loop: LoopRun) -> e.Path | None:
        for index, iteration in loop.live.items():
            if iteration.loop is not None:
                inner = self.pick(iteration.loop)
                if inner is not None:
                    return inner
            elif iteration.cursor is not None:
                return (*loop.path, index)
        if loop.level + 1 < self.levels or loop.next >= loop.count or loop.failure is not None:
            return None
        return (*loop.path, loop.next) if len(loop.live) < loop.max_in_flight else None

    @property
    def levels(self) -> int:
        run = next(run for run in self.state.runs.values() if run.loop is not None)
        return len(self.program.steps[run.step].levels)

    def iterate(self, run: StepRun, path: e.Path) -> bool:
        loop = loop_under(run, path[:-1])
        assert loop is not None
        if path[-1] not in loop.live:
            self.report(run, e.IterationStarted(run.id, path))
        return self.move(run, path)

    def move(self, run: StepRun, path: e.Path) -> bool:
        loop = loop_under(run, path[:-1]) if path else None
        cursor = loop.live[path[-1]].cursor if loop is not None else run.cursor
        assert cursor is not None
        given = self.given(run, path)
        match next_move(self.program, cursor, given, now=self.now, draw=0.5):
            case Record(fact):
                self.report(run, fact)
            case Run() as work:
                self.carry_out(run, cursor, given, work)
            case Finished(output):
                self.finish(run, path, output)
            case Await():
                return False
        return True

    def given(self, run: StepRun, path: e.Path) -> Given:
        ctx = self.state.ctx
        for depth in range(len(path)):
            loop = loop_under(run, path[:depth])
            assert loop is not None
            ctx = patched(ctx, loop.overlay)
        return Given(
            "x",
            run.step,
            run.id,
            path,
            self.state.workload,
            ctx,
            run.input,
            scratch_at(run, path, self.program, NoCollections()) if path else None,
            self.state.outputs,
        )

    def carry_out(self, run: StepRun, cursor: cursors.Cursor, given: Given, work: Run) -> None:
        if work.not_before is not None:
            self.now = max(self.now, work.not_before)
        bound = bind(work.task, work.scope)
        output = bound if isinstance(bound, Output) else self.call(work, *bound)
        started = cursors.apply(cursor, work.started, self.program.playbook.dialect, "")
        done = settle(self.program, started, given, output, now=self.now, draw=0.5)
        self.report(run, work.started, done)

    def call(self, work: Run, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        if work.task.task.kind == "noop":
            return Output()
        return self.tool(work.task.task.name, fields, given)

    def finish(self, run: StepRun, path: e.Path, output: Output) -> None:
        is_ok = output.error is None
        if path:
            self.report(
                run, e.IterationDone(run.id, path, output) if is_ok else e.IterationFailed(run.id, path, output)
            )
        else:
            self.report(run, e.StepDone(run.id, output) if is_ok else e.StepFailed(run.id, output))

    def report(self, run: StepRun, *facts: Reported) -> None:
        refused = self.send(Report(run.id, facts))
        assert refused is None, f"{refused}\n{self.log()}"

    def log(self) -> str:
        return "\n".join(f"{seq:>4} {fact}" for seq, fact in enumerate(self.facts, 1))
