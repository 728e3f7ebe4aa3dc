"""What a server says and serves, checked the moment it does: nothing is acknowledged that is not in the log."""

from collections.abc import Iterable, Mapping, Sequence

from noetl.control_plane.plane import Plane
from noetl.engine import events as e
from noetl.engine.commands import Rejection, Reported
from noetl.ports import Ask, LeaseReport, Registered, Told
from tests.engine.laws.monitor import Monitor
from tests.simulation.books import Books
from tests.simulation.leasebook import Note


class Witness:
    """Stands between a server and those who ask it."""

    def __init__(self, plane: Plane, books: Books, note: Note) -> None:
        self._plane = plane
        self._books = books
        self._note = note

    def __getattr__(self, method: str) -> object:
        return getattr(self._plane, method)

    async def request(self, playbook: Registered, workload: Mapping[str, object], name: str) -> str | Rejection:
        answer = await self._plane.request(playbook, workload, name)
        if answer == name and name not in self._books.books:
            self._note(f"the request of {name} was acknowledged and is not in the log")
        return answer

    async def cancel(self, execution_id: str, reason: str | None = None) -> Rejection | None:
        answer = await self._plane.cancel(execution_id, reason)
        book = self._books.books.get(execution_id)
        if book is None or not book.state.has_ended:
            self._note(f"the cancel of {execution_id} was answered with {answer}, and it has not ended")
        return answer

    async def report(self, reports: Sequence[LeaseReport], ask: Ask) -> Told:
        told = await self._plane.report(reports, ask)
        for number, each in enumerate(reports):
            refused = told.refused.get(number, {})
            for position, report in enumerate(each.reports):
                if position not in refused:
                    self._check(each.lease.execution_id, report.facts)
        return told

    def _check(self, execution_id: str, facts: Iterable[Reported]) -> None:
        book = self._books.books.get(execution_id)
        for fact in facts:
            if book is None or not _is_recorded(book.monitor, fact):
                self._note(f"{type(fact).__name__} of {fact.step_run_id} was acknowledged and is not in the log")


def _is_recorded(monitor: Monitor, fact: Reported) -> bool:
    match fact:
        case e.TaskDone():
            return fact.task_run_id in monitor.task_ends
        case e.IterationDone(call="") | e.IterationFailed(call=""):
            return (fact.step_run_id, fact.path) in monitor.iterations_ended
        case e.StepDone() | e.StepFailed():
            return fact.step_run_id in monitor.bounded
        case _:
            return True


def watch(server: str, plane: Plane, books: Books) -> None:
    """Shows the judge every state that a server holds for committed, at each of its commits."""
    executions = plane._executions
    appended = executions._appended

    async def seen(box, made, looks, answer):  # type: ignore[no-untyped-def]
        if box.loaded is not None:
            books.serve(server, box.loaded[0])
        await appended(box, made, looks, answer)

    executions._appended = seen  # type: ignore[method-assign]
