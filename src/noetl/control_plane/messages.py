"""Between executions: the start, the cancel and the end of children, delivered at least once and in order."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from noetl.control_plane.answering import Answering
from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.reruns import Reruns
from noetl.control_plane.signals import Signals
from noetl.control_plane.transact import Executions
from noetl.engine.commands import CancelExecution, EndWait
from noetl.engine.effects import CancelChild, StartChild, TellParent
from noetl.engine.output import failed
from noetl.engine.worklist import is_within
from noetl.ports import Busy, Catalog, Message, Store, Unavailable
from noetl.supply.shelf import MissingData
from noetl.supply.waiting import wait_for

Absent = Callable[[str, Mapping[str, object]], Awaitable[Sequence[str]]]
"""The keychain entries of a playbook, known by its digest, that cannot be found for a workload."""


class Messages:
    """Children are started of those executions alone that this server is told to `tend` to."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        absent: Absent,
        reruns: Reruns,
        executions: Executions,
        signals: Signals,
        limits: Limits,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._absent = absent
        self._reruns = reruns
        self._shelf = executions.shelf
        self._answering = Answering(executions)
        self._signals = signals
        self._limits = limits
        self._roots: set[str] = set()

    def tend(self, root: str) -> None:
        """Takes on an execution and those below it."""
        self._roots.add(root)
        self._signals.messages.set()

    async def run(self) -> None:
        while True:
            self._signals.messages.clear()
            try:
                await self._deliver_all()
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await wait_for(self._signals.messages, self._limits.sweep_s)

    async def _deliver_all(self) -> None:
        """What cannot be delivered now holds up nobody but what the same sender says to the same receiver later."""
        last = 0
        held: set[tuple[str, str]] = set()
        while found := await self._store.messages(last, self._limits.read_max):
            for message in found:
                last = message.id
                pair = (message.sender, message.execution_id)
                if pair in held or self._answering.is_under_way(pair):
                    continue
                if isinstance(message.body, StartChild) and not self._tends(message.sender):
                    held.add(pair)
                    continue
                try:
                    self._answering.post(message.execution_id, pair, await self._letter(message))
                except Busy:
                    return
                except Unavailable:
                    held.add(pair)

    def _tends(self, caller: str) -> bool:
        return any(is_within(caller, root) for root in self._roots)

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
            return _refusal(
                id_, start, f"there is no playbook {start.path!r}{version}; one is found by its `metadata.path`"
            )
        try:
            workload = await self._shelf.hydrated(start.workload)
        except MissingData as gone:
            message = f"the workload of playbook {start.path!r} is lost: {gone}"
            return _refusal(id_, start, message, gone.loss.kind, retryable=gone.loss.retryable)
        request = await self._reruns.of_child(msgspec.structs.replace(start, workload=workload), found.digest)
        missing = await self._absent(found.digest, request.workload)
        return Letter(msgspec.structs.replace(request, missing=missing), done=id_)


def _refusal(
    id_: int, start: StartChild, message: str, kind: str = "playbook_failed", *, retryable: bool = False
) -> Letter:
    """A child that cannot be: its parent hears of it."""
    output, parent = failed(kind, message, retryable=retryable), start.parent
    told = EndWait(parent.step_run_id, parent.path, parent.task_run_id, output)
    return Letter(None, done=id_, effects=(TellParent(parent.execution_id, told),))
