"""Between executions: the start, the cancel and the end of children, delivered at least once and in order."""

import asyncio

from noetl.control_plane.answering import Answering
from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.control_plane.transact import Executions
from noetl.engine.commands import CancelExecution, EndWait
from noetl.engine.effects import CancelChild, StartChild, TellParent, as_request
from noetl.engine.output import failed
from noetl.ports import Catalog, Message, Store, Unavailable
from noetl.supply.waiting import wait_for


class Messages:
    def __init__(
        self, store: Store, catalog: Catalog, executions: Executions, signals: Signals, limits: Limits
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._shelf = executions.shelf
        self._answering = Answering(executions)
        self._signals = signals
        self._limits = limits

    async def run(self) -> None:
        while True:
            self._signals.messages.clear()
            try:
                await self._deliver_all()
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await wait_for(self._signals.messages, self._limits.sweep_s)

    async def _deliver_all(self) -> None:
        last = 0
        while found := await self._store.messages(last, self._limits.read_max):
            for message in found:
                last = message.id
                if not self._answering.is_under_way(message.id):
                    self._answering.post(message.execution_id, message.id, await self._letter(message))

    async def _letter(self, message: Message) -> Letter:
        match message.body:
            case StartChild():
                return await self._start(message.id, message.body)
            case CancelChild():
                return Letter(CancelExecution("the caller has ended"), done=message.id)
            case TellParent(_, command):
                return Letter(command, done=message.id)

    async def _start(self, id_: int, start: StartChild) -> Letter:
        found = await self._catalog.by_path(start.path, start.version)
        if found is None:
            version = f" in version {start.version}" if start.version is not None else ""
            output = failed("playbook_failed", f"there is no playbook {start.path!r}{version} in the catalog")
            told = EndWait(start.parent.step_run_id, start.parent.path, start.parent.task_run_id, output)
            return Letter(None, done=id_, effects=(TellParent(start.parent.execution_id, told),))
        workload = await self._shelf.hydrated(start.workload)
        return Letter(as_request(_with(start, workload), found.digest), done=id_)


def _with(start: StartChild, workload: object) -> StartChild:
    return StartChild(start.execution_id, start.path, start.version, workload, start.parent)
