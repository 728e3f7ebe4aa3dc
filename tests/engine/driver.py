"""Runs whole playbooks in one process with given tool outputs: the engine and nothing else.

One driver is one execution; child executions are drivers of their own, and all share a clock. Timers, children and
their answers follow from `effects` alone. After a run the log is encoded, decoded and folded, and must come to the
state that was reached, so that a test cannot pass on a state that events do not explain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Self, assert_never

import msgspec

from noetl.engine import cursor as cursors
from noetl.engine import effects as fx
from noetl.engine import events as e
from noetl.engine import view
from noetl.engine.binding import Places
from noetl.engine.codec import decode, encode
from noetl.engine.commands import CancelExecution, Command, EndWait, Rejection, Report, Reported, RequestExecution
from noetl.engine.decide import FACTS_MAX, Surroundings, continuation, transact
from noetl.engine.envelope import Event, stamp
from noetl.engine.evolve import fold
from noetl.engine.loops import ctx_at, is_stopping, loop_under, scratch_at
from noetl.engine.output import Output, failed
from noetl.engine.pipeline import Await, Bound, Finished, Record, Run, bind, call_child, next_move, settle, wait
from noetl.engine.program import Program
from noetl.engine.reference import External, Reference, encode_value
from noetl.engine.state import LoopRun, State, StepRun, empty
from noetl.engine.workerside import Given
from noetl.playbook.compile import compile_playbook
from tests.engine.logs import compact, line

MOVES_MAX = 100_000
EPOCH = 1_750_000_000.0
"""When a driver's clock begins; its `now` counts from there."""

HELD_S = 60.0
"""A worker waits this long itself; a longer delay is a durable timer."""

Tool = Callable[[str, Mapping[str, object], Mapping[str, object]], Output]
"""Given the task's name, its fields and its input, the output of one run."""


def nothing(_name: str, _fields: Mapping[str, object], _given: Mapping[str, object]) -> Output:
    return Output()


class Stored:
    """Lists kept outside the log, by the name in their locator."""

    def __init__(self, lists: Mapping[str, Sequence[object]] | None = None) -> None:
        self.lists = lists or {}

    def length(self, stored: External | Reference) -> int | None:
        found = self.lists.get(self.name(stored))
        return len(found) if found is not None else None

    def element(self, stored: External | Reference, index: int) -> object:
        return self.lists[self.name(stored)][index]

    def fetch(self, reference: Reference) -> bytes:
        return encode_value(self.lists[self.name(reference)])

    def name(self, stored: External | Reference) -> str:
        reference = stored.reference if isinstance(stored, External) else stored
        return str(reference.locator.get("name"))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0


class Driver:
    """`playbooks` are the texts of those that tasks may call, by path; `seed` chooses how parallel work interleaves."""

    facts_max = FACTS_MAX

    def __init__(
        self,
        text: str,
        tool: Tool = nothing,
        workload: Mapping[str, object] | None = None,
        *,
        playbooks: Mapping[str, str] | None = None,
        stored: view.Stored | None = None,
        seed: int | None = None,
        clock: Clock | None = None,
        request: tuple[str, RequestExecution] | None = None,
    ) -> None:
        compilation = compile_playbook(text, "playbook.yaml")
        assert compilation.playbook is not None, [found.message for found in compilation.diagnostics]
        self.playbook = compilation.playbook
        self.program = Program(self.playbook, Places("playbook.yaml", compilation.source_map()))
        self.tool = tool
        self.playbooks = playbooks or {}
        self.stored: view.Stored = stored or Stored()
        self.chance = Random(seed) if seed is not None else None
        self.clock = clock or Clock()
        name, command = request or ("x", RequestExecution(self.playbook.metadata.path, "", workload or {}))
        self.state: State = empty(name)
        self.events: list[Event] = []
        self.timers: dict[str, tuple[float, Command]] = {}
        self.children: dict[str, Driver] = {}
        self.answers: list[EndWait] = []
        self.send(msgspec.structs.replace(command, digest=self.playbook.digest))

    @property
    def now(self) -> float:
        return self.clock.now

    @property
    def facts(self) -> list[e.Fact]:
        return [event.fact for event in self.events]

    @property
    def data(self) -> object:
        return self.state.output.data

    def send(self, command: Command) -> Rejection | None:
        """One transaction: the facts of a command, and what they change outside the log."""
        around = Surroundings(self.now, self.stored, facts_max=self.facts_max)
        answer = transact(self.program, self.state, command, around)
        if isinstance(answer, Rejection):
            return answer
        parent = self.state.parent.execution_id if self.state.parent is not None else None
        stamped = stamp(
            answer,
            execution_id=self.state.execution_id,
            after=len(self.events),
            timestamp=EPOCH + self.now,
            parent=parent,
        )
        self.events.extend(stamped)
        for fact in answer:
            print(line(fact))
            for effect in fx.effects(self.program, self.state, fact, self.now):
                self.carry_out(effect)
        go_on = continuation(self.program, self.state, command, answer, around)
        if go_on is not None:
            self.carry_out(go_on)
        return None

    def carry_out(self, effect: fx.Effect) -> None:
        match effect:
            case fx.SetTimer():
                self.timers[effect.timer_id] = effect.due_at, effect.command
            case fx.ClearTimers():
                gone = [name for name in self.timers if _is_under(name, effect.step_run_id, effect.path)]
                self.timers = {name: timer for name, timer in self.timers.items() if name not in gone}
            case fx.EndAll():
                self.timers.clear()
            case fx.StartChild():
                self.children.setdefault(effect.execution_id, self.child(effect))
            case fx.CancelChild():
                self.children[effect.execution_id].send(CancelExecution("the caller has ended"))
            case fx.TellParent():
                self.answers.append(effect.command)
            case fx.OfferWork() | fx.EndWork() | fx.StopWork():
                pass
            case _:
                assert_never(effect)

    def child(self, effect: fx.StartChild) -> "Driver":
        return Driver(
            self.playbooks[effect.path],
            self.tool,
            playbooks=self.playbooks,
            clock=self.clock,
            request=(effect.execution_id, fx.as_request(effect, "")),
        )

    def run(self, moves: int = MOVES_MAX) -> Self:
        """Carry on until nothing is left to do, or for so many moves."""
        for _ in range(moves):
            if self.state.has_ended or not self.step():
                break
        self.check()
        return self

    def step(self) -> bool:
        """One move of this execution or of one below it; where there is none, the next timer."""
        return self.work() or self.fire(self.next_timer())

    def work(self) -> bool:
        if "continue" in self.timers:
            return self.fire((self.now, self, "continue"))
        moves = [*self.moves(), *(child.work for child in self.children.values() if not child.state.has_ended)]
        if self.chance is not None:
            self.chance.shuffle(moves)
        return any(move() for move in moves) or self.hear()

    def hear(self) -> bool:
        """The answers of children that have ended."""
        answers = [answer for child in self.children.values() for answer in child.answers]
        for child in self.children.values():
            child.answers.clear()
        for answer in answers:
            self.send(answer)
        return bool(answers)

    def next_timer(self) -> tuple[float, "Driver", str] | None:
        own = [(due, self, name) for name, (due, _) in self.timers.items()]
        below = [timer for child in self.children.values() if (timer := child.next_timer()) is not None]
        return min([*own, *below], key=lambda timer: timer[0], default=None)

    def fire(self, timer: tuple[float, "Driver", str] | None) -> bool:
        if timer is None:
            return False
        due, owner, name = timer
        self.clock.now = max(self.now, due)
        owner.send(owner.timers.pop(name)[1])
        return True

    def moves(self) -> Iterator[Callable[[], bool]]:
        for run in list(self.state.runs.values()):
            if run.cursor is not None and not run.is_parked:
                yield lambda run=run: self.move(run, ())  # type: ignore[misc]
            if run.loop is not None:
                for path in self.paths(run, run.loop):
                    yield lambda run=run, path=path: self.move(run, path)  # type: ignore[misc]

    def paths(self, run: StepRun, loop: LoopRun) -> Iterator[e.Path]:
        """The iterations that can go on, and the next one that can start."""
        for index, iteration in loop.live.items():
            if iteration.loop is not None:
                yield from self.paths(run, iteration.loop)
            elif iteration.cursor is not None and not iteration.is_parked:
                yield (*loop.path, index)
        is_leaf = loop.level + 1 == len(self.program.steps[run.step].levels)
        if is_leaf and loop.next < loop.count and len(loop.live) < loop.max_in_flight and not is_stopping(run, loop):
            yield (*loop.path, loop.next)

    def move(self, run: StepRun, path: e.Path = ()) -> bool:
        """One move of a pipeline. An iteration that has not begun begins."""
        started: list[Reported] = [] if run.is_started else [e.StepStarted(run.id)]
        loop = loop_under(run, path[:-1]) if path else None
        if loop is not None and path[-1] not in loop.live:
            self.report(run, *started, e.IterationStarted(run.id, path))
            return True
        cursor = loop.live[path[-1]].cursor if loop is not None else run.cursor
        assert cursor is not None
        cursor, given = self.in_hand(cursor), self.given(run, path)
        match next_move(self.program, cursor, given, now=self.now, draw=0.5):
            case Record(facts, not_before):
                self.clock.now = max(self.now, not_before or 0.0)
                self.report(run, *started, *facts)
            case Run() as work:
                self.report(run, *started, *self.run_task(cursor, given, work))
            case Finished() as end:
                self.report(run, *started, self.end(run, path, end))
            case Await():
                return False
        return True

    def in_hand(self, cursor: cursors.Cursor) -> cursors.Cursor:
        """The cursor as a worker has it, with all data that is stored elsewhere."""
        return cursor

    def given(self, run: StepRun, path: e.Path) -> Given:
        return Given(
            self.state.execution_id,
            run.step,
            run.id,
            path,
            self.state.workload,
            ctx_at(self.state, run, path),
            run.input,
            scratch_at(run, path, self.program, self.stored) if path else None,
            self.state.outputs,
        )

    def run_task(self, cursor: cursors.Cursor, given: Given, work: Run) -> Sequence[Reported]:
        if work.not_before is not None and work.not_before > self.now + HELD_S:
            return (wait(work.started, work.not_before),)
        self.clock.now = max(self.now, work.not_before or 0.0)
        begun = () if work.is_recorded else (work.started,)
        started = cursor if work.is_recorded else cursors.apply(cursor, work.started, self.playbook.dialect, "")
        bound = bind(self.program, work)
        output = bound if isinstance(bound, Output) else self.call(work, bound)
        if isinstance(output, e.TaskWaiting):
            return *begun, output
        own = bound.own if isinstance(bound, Bound) else {}
        done = settle(self.program, started, given, output, own=own, now=self.now, draw=0.5)
        return *begun, done

    def call(self, work: Run, bound: Bound) -> Output | e.TaskWaiting:
        kind = work.task.task.kind
        if kind == "playbook":
            return call_child(self.program, self.state.execution_id, work, bound, self.now)
        return Output() if kind == "noop" else self.tool(work.task.task.name, bound.fields, bound.input)

    def end(self, run: StepRun, path: e.Path, end: Finished) -> Reported:
        if path:
            failure = e.IterationFailed(run.id, path, end.output)
            return failure if end.is_failed else e.IterationDone(run.id, path, end.output)
        return e.StepFailed(run.id, end.output) if end.is_failed else e.StepDone(run.id, end.output)

    def report(self, run: StepRun, *facts: Reported) -> None:
        refused = self.send(Report(run.id, facts))
        assert refused is None, f"{refused}\n{self.log()}"

    def check(self) -> None:
        """The log alone comes to the state that was reached."""
        decoded = [decode(data) for data in self.history()]
        facts = [event.fact for event in decoded if isinstance(event, Event)]
        assert len(facts) == len(self.events)
        folded = fold(self.program, self.state.execution_id, facts)
        assert as_json(folded) == as_json(self.state)

    def history(self) -> list[bytes]:
        return [encode(event) for event in self.events]

    def log(self) -> str:
        return compact(self.facts)


def _is_under(timer_id: str, step_run_id: str, path: e.Path) -> bool:
    """Whether a timer belongs to a step run, or to an iteration of it and what is inside."""
    around = f"{step_run_id}[{','.join(map(str, path))}" if path else step_run_id
    return timer_id.startswith(around) and timer_id[len(around)] in ":[,]"


def as_json(state: State) -> bytes:
    return msgspec.json.encode(msgspec.to_builtins(state, str_keys=True), order="sorted")


def fails(kind: str = "exception", message: str = "it broke", *, retryable: bool = False) -> Output:
    return failed(kind, message, retryable=retryable)
