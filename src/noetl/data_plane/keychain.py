"""The secrets of one task run: fetched when it starts, known to nothing but that run."""

from collections.abc import Mapping

import msgspec

from noetl.engine.program import Program, ReadyTask
from noetl.engine.secrets import entries_read, texts_of
from noetl.playbook.model import KeychainEntry
from noetl.ports import Credentials


class Secrets(msgspec.Struct, frozen=True):
    """`values` by entry, as templates read them; `texts` is all that must never be recorded."""

    values: Mapping[str, object] = {}
    texts: frozenset[str] = frozenset()


NONE = Secrets()


class Keychain:
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def secrets(self, program: Program, task: ReadyTask, workload: Mapping[str, object]) -> Secrets:
        """What the templates of a task read."""
        names = entries_read(task.task)
        if not names:
            return NONE
        values = {name: await self.value(program, name, workload) for name in sorted(names)}
        return Secrets(values, frozenset(text for value in values.values() for text in texts_of(value)))

    async def value(self, program: Program, name: str, workload: Mapping[str, object]) -> object:
        entry = next((each for each in program.playbook.keychain if each.name == name), None)
        return await self._credentials.value(entry or KeychainEntry(name, "credential"), workload)
