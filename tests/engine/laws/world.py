"""Executions, workers, timers and messages in one process, in an order that a seed decides.

What may happen next is known from effects and leases alone, as in a real shell: what they forget, nobody does.
"""

from collections.abc import Callable
from functools import partial
from random import Random

import msgspec

from noetl.engine import events as e
from noetl.engine import leases
from noetl.engine.commands import (
    CancelExecution,
    Command,
    Continue,
    EndWait,
    FailPoison,
    Rejection,
    Report,
    RequestExecution,
)
from noetl.engine.decide import FACTS_MAX
from noetl.engine.effects import CancelChild, SetTimer, StartChild, TellParent, as_request
from noetl.engine.incidents import Rows, stranded
from noetl.engine.loops import loop_under
from noetl.engine.names import child_execution_id
from noetl.engine.output import failed
from noetl.engine.program import Program
from noetl.engine.size import hydrate
from noetl.engine.worklist import Row
from tests.engine.laws.cases import Case, compiled
from tests.engine.laws.executions import Execution, frozen
from tests.engine.laws.outcomes import workload
from tests.engine.laws.workers import Holding
from tests.engine.stores import Blobs

ROOT = "x"
MOVES_MAX = 400
EXECUTIONS_MAX = 30
LEASE_S = 60.0
LATE_REPORTS_MAX = 20


class Trouble(msgspec.Struct, frozen=True):
    """How often, in moves out of a thousand, something goes wrong."""

    crash: int = 20
    late: int = 30
    cancel: int = 2
    doubled: int = 100
    kills: bool = True


TROUBLE = Trouble()
NO_TROUBLE = Trouble(0, 0, 0, 0, kills=False)


class World:
    """`request` is another one than the plainest, such as that of a rerun; `store` is then that of its origin.

    With `limit_bytes` no event is larger; large data is stored.
    """

    def __init__(
        self,
        case: Case,
        trouble: Trouble = TROUBLE,
        order: int = 0,
        request: RequestExecution | None = None,
        store: Blobs | None = None,
        limit_bytes: int | None = None,
    ) -> None:
        self.case = case
        self.trouble = trouble
        self.chance = Random(f"{case.seed}/{order}")
        self.now = 0.0
        self.epoch = 0
        self.moves = 0
        self.playbooks = [Program(compiled(text)) for text in (case.text, *case.callees)]
        self.executions: dict[str, Execution] = {}
        self.holdings: list[Holding] = []
        self.messages: list[StartChild | CancelChild | TellParent] = []
        self.late: list[tuple[str, Report]] = []
        self.refusals = 0
        self.store = store or Blobs()
        self.store.logs = self.store.logs or self.executions
        self.limit_bytes = limit_bytes
        playbook = self.playbooks[0].playbook
        asked = workload(case.seed) if case.is_bulky else {}
        plainest = RequestExecution(playbook.metadata.path, playbook.digest, asked)
        self._begin(ROOT, self.playbooks[0], request or plainest)

    @property
    def root(self) -> Execution:
        return self.executions[ROOT]

    @property
    def unended(self) -> list[str]:
        return [name for name, execution in self.executions.items() if not execution.state.has_ended]

    def run(self) -> "World":
        """Until nothing can happen any more; a run that goes in circles is cancelled."""
        while actions := self._possible():
            self.moves += 1
            self.chance.choice(actions)()
            self._trouble()
            self._nothing_is_stranded()
            if self.moves == MOVES_MAX:
                self.send(self.root, CancelExecution("too long"))
            assert self.moves <= 2 * MOVES_MAX, "the execution does not end, though it was cancelled"
        assert not self.unended, f"nothing can happen any more, but these have not ended: {self.unended}"
        return self

    def _nothing_is_stranded(self) -> None:
        """Whatever lives has a lease, work, a timer, a message or a child."""
        known = {name for name, execution in self.executions.items() if not execution.state.has_ended}
        for message in self.messages:
            if isinstance(message, StartChild):
                known.add(message.execution_id)
            elif isinstance(message, TellParent):
                known.add(child_execution_id(message.execution_id, message.command.task_run_id))
        for execution in self.executions.values():
            rows = Rows(execution.work, execution.timers.values(), known)
            found = stranded(execution.program, execution.state, rows, self.now)
            assert not found, found

    # ------------------------------------------------------------------------------ what can happen

    def _possible(self) -> list[Callable[[], None]]:
        found: list[Callable[[], None]] = [holding.move for holding in self.holdings]
        for name, execution in self.executions.items():
            found.extend(self._claims(name, execution))
        targets = set()
        for message in self.messages:
            if message.execution_id not in targets:
                targets.add(message.execution_id)
                found.append(partial(self._deliver, message))
        due = [
            (timer.due_at, name, timer)
            for name, execution in self.executions.items()
            for timer in execution.timers.values()
        ]
        if due:
            at, name, timer = min(due, key=lambda each: each[:2])
            if at <= self.now or not found or self.chance.random() < 0.1:
                found.append(lambda: self._fire(name, timer))
        return found

    def _claims(self, name: str, execution: Execution) -> list[Callable[[], None]]:
        rows = [row for row in list(execution.work) if self._is_open(execution, row)]
        return [partial(self._take, name, row) for row in rows if self._claim(execution, row, 1) is not None]

    def _is_open(self, execution: Execution, row: Row) -> bool:
        """A server hands out nothing of a run that has ended."""
        run = execution.state.runs.get(row[0])
        if run is None or run.boundary is not None:
            return False
        return run.cursor is not None or loop_under(run, row[1]) is not None

    def _claim(self, execution: Execution, row: Row, slots: int) -> tuple[leases.Work, leases.Lease] | None:
        return leases.claim(
            execution.work[row],
            worker="w",
            epoch=self.epoch + 1,
            now=self.now,
            lease_s=LEASE_S,
            slots=slots,
            indexes_max=slots * 2,
        )

    def _take(self, name: str, row: Row) -> None:
        execution = self.executions[name]
        claimed = self._claim(execution, row, self.chance.randint(1, 3))
        assert claimed is not None
        self.epoch += 1
        execution.work[row], lease = claimed
        if not execution.state.runs[row[0]].is_started:
            refused = self.send(execution, Report(row[0], [e.StepStarted(row[0], "w")]))
            assert refused is None, refused
        self.holdings.append(Holding(self, execution, row, lease.epoch))

    def _fire(self, name: str, timer: SetTimer) -> None:
        self.now = max(self.now, timer.due_at)
        self.executions[name].timers.pop(timer.timer_id, None)
        if isinstance(timer.command, Continue):
            self.send(self.executions[name], timer.command)
        else:
            self._send_twice(self.executions[name], timer.command)

    def _deliver(self, message: StartChild | CancelChild | TellParent) -> None:
        self.messages.remove(message)
        match message:
            case StartChild():
                self._start_child(message)
            case CancelChild(execution_id):
                if execution_id in self.executions:
                    self._send_twice(self.executions[execution_id], CancelExecution("the caller ended"))
            case TellParent(execution_id, command):
                self._send_twice(self.executions[execution_id], command)

    def _start_child(self, message: StartChild) -> None:
        if len(self.executions) >= EXECUTIONS_MAX:
            self.messages.append(TellParent(message.parent.execution_id, self._not_found(message)))
            return
        program = (
            self.playbooks[1 + Random(message.path).randrange(len(self.playbooks) - 1)]
            if len(self.playbooks) > 1
            else None
        )
        if program is None:
            self.messages.append(TellParent(message.parent.execution_id, self._not_found(message)))
        else:
            self._begin(message.execution_id, program, as_request(message, program.playbook.digest))

    def _not_found(self, message: StartChild) -> EndWait:
        parent = message.parent
        output = failed("playbook_failed", f"no playbook {message.path}")
        return EndWait(parent.step_run_id, parent.path, parent.task_run_id, output)

    def _begin(self, execution_id: str, program: Program, request: RequestExecution) -> None:
        """A request comes with all its data, which a playbook's own workload is merged with."""
        facts_max = FACTS_MAX if self.case.seed % 2 else 1 + self.case.seed % 9
        execution = Execution(execution_id, program, self.store, self.limit_bytes, facts_max)
        asked = hydrate(request.workload, self.store.fetch)
        assert isinstance(asked, dict)
        request = msgspec.structs.replace(request, workload=asked)
        self._send_twice(self.executions.setdefault(execution_id, execution), request)

    # ------------------------------------------------------------------------------ transactions

    def send(self, execution: Execution, command: Command) -> Rejection | None:
        answer = execution.send(command, self.now)
        if isinstance(answer, Rejection):
            self.refusals += 1
            return answer
        self.messages.extend(effect for effect in answer if isinstance(effect, StartChild | CancelChild | TellParent))
        return None

    def _send_twice(self, execution: Execution, command: Command) -> None:
        """What is delivered at least once is sometimes delivered again: the second time nothing happens."""
        self.send(execution, command)
        if self.happens(self.trouble.doubled):
            again = self.send(execution, command)
            assert again is not None, f"delivered again and taken again: {command}"

    def report(self, execution: Execution, report: Report) -> Rejection | None:
        refused = self.send(execution, report)
        if refused is None:
            self._keep(execution, report)
            if self.happens(self.trouble.doubled):
                again = self.send(execution, report)
                assert again is not None, f"a report was taken twice: {report}"
        return refused

    def _keep(self, execution: Execution, report: Report) -> None:
        self.late.append((execution.state.execution_id, report))
        if len(self.late) > LATE_REPORTS_MAX:
            del self.late[self.chance.randrange(LATE_REPORTS_MAX)]

    # ------------------------------------------------------------------------------ trouble

    def happens(self, in_a_thousand: int) -> bool:
        return self.chance.randrange(1000) < in_a_thousand

    def _trouble(self) -> None:
        if self.late and self.happens(self.trouble.late):
            name, report = self.chance.choice(self.late)
            assert self.send(self.executions[name], report) is not None, f"a late report was taken: {report}"
        if self.holdings and self.happens(self.trouble.crash):
            self.crash(self.chance.choice(self.holdings))
        if self.happens(self.trouble.cancel):
            self.send(self.executions[self.chance.choice(list(self.executions))], CancelExecution("a person did it"))

    def crash(self, holding: Holding) -> None:
        """The worker is gone with all it has not reported; in time its lease runs out."""
        self.holdings.remove(holding)
        execution, row = holding.execution, holding.row
        work = execution.work.get(row)
        lease = work.lease(holding.epoch) if work is not None else None
        if work is None or lease is None:
            return
        self.now = max(self.now, lease.expires_at)
        for held in self.holdings:
            held.renew()
        execution.work[row], _ = leases.expire(execution.work[row], self.now)
        for index in leases.poison(execution.work[row]):
            execution.work[row] = leases.drop(execution.work[row], index)
            self._send_twice(execution, FailPoison(row[0], holding.path(index), leases.DELIVERIES_MAX))
            if row not in execution.work:
                return


def history(world: World) -> bytes:
    """All logs of a world, to be compared with another's."""
    return frozen([[name, execution.facts] for name, execution in world.executions.items()])
