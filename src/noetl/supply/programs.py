"""Playbooks made ready to run, one per digest."""

from collections.abc import Awaitable, Callable

import msgspec

from noetl.engine.binding import Places
from noetl.engine.program import Program
from noetl.playbook.diagnostics import Span
from noetl.playbook.model import decode
from noetl.ports import Registered

PROGRAMS_MAX = 500
"""Programs kept in memory; those used longest ago go first."""

_places = msgspec.json.Decoder(dict[str, Span])


class Programs:
    def __init__(self, find: Callable[[str], Awaitable[Registered | None]]) -> None:
        self._find = find
        self._known: dict[str, Program] = {}

    async def get(self, digest: str) -> Program | None:
        found = self._known.pop(digest, None)
        if found is None:
            registered = await self._find(digest)
            found = made_ready(registered) if registered is not None else None
        if found is not None:
            self._known[digest] = found
            if len(self._known) > PROGRAMS_MAX:
                del self._known[next(iter(self._known))]
        return found


def made_ready(registered: Registered) -> Program:
    return Program(decode(registered.model), Places(registered.file, _places.decode(registered.places)))
