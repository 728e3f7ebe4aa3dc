"""Playbooks made ready to run, one per digest."""

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from noetl.engine.binding import Places
from noetl.engine.program import Program
from noetl.playbook.diagnostics import Span
from noetl.playbook.kinds import KINDS, Kind
from noetl.playbook.model import Playbook, decode
from noetl.ports import Registered

PROGRAMS_MAX = 500
"""Programs kept in memory; those used longest ago go first."""

KindsOf = Callable[[Playbook], Iterable[Kind]]
"""The kinds that a playbook may name, those that installed packages add included."""

_places = msgspec.json.Decoder(dict[str, Span])


def built_in(_playbook: Playbook) -> Iterable[Kind]:
    return KINDS


class Ready:
    """Programs that this process has made ready; a server and a worker in it may share them.

    Without `has_pools` that worker is the only one, and does the work of all of them.
    """

    def __init__(self, kinds_of: KindsOf = built_in, *, has_pools: bool = True) -> None:
        self._kinds_of = kinds_of
        self._has_pools = has_pools
        self._known: dict[str, Program] = {}

    def find(self, digest: str) -> Program | None:
        """One that is known; it counts as used."""
        found = self._known.pop(digest, None)
        if found is not None:
            self._known[digest] = found
        return found

    def make(self, digest: str, registered: Registered) -> Program:
        found = self._known[digest] = made_ready(registered, self._kinds_of, has_pools=self._has_pools)
        if len(self._known) > PROGRAMS_MAX:
            del self._known[next(iter(self._known))]
        return found


class Programs:
    def __init__(self, find: Callable[[str], Awaitable[Registered | None]], ready: Ready | None = None) -> None:
        self._find = find
        self._ready = ready or Ready()

    async def get(self, digest: str) -> Program | None:
        found = self._ready.find(digest)
        if found is None:
            registered = await self._find(digest)
            found = self._ready.make(digest, registered) if registered is not None else None
        return found


def made_ready(registered: Registered, kinds_of: KindsOf = built_in, *, has_pools: bool = True) -> Program:
    playbook, places = decode(registered.model), Places(registered.file, _places.decode(registered.places))
    return Program(playbook, places, kinds=kinds_of(playbook), has_pools=has_pools)
