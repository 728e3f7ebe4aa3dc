"""How the stores of a process are met: whether they answer, and if not, why and since when."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from noetl.ports import Clock, Unavailable
from noetl.storage.errors import PASSING, StorageError

CALM_S = 20.0
"""Trouble that nobody met again for so long is over. Whoever needs a store tries again sooner than that."""


class Spell(msgspec.Struct, frozen=True):
    """Trouble that lasts, by the clock that only goes forward."""

    error: Exception
    since: float
    last: float

    @property
    def may_pass(self) -> bool:
        return not isinstance(self.error, StorageError)


class Health:
    """Trouble is over once the same kind of work is done again: a small write may succeed where a large one does not.

    `changed` is set when trouble begins or ends.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spells: dict[str, Spell] = {}
        self.changed = asyncio.Event()

    @contextmanager
    def watching(self, doing: str) -> Iterator[None]:
        """Notes how this kind of work goes, unless it has no name: that can wait.

        Who does the work may try again in any case. Whoever looks at the health decides when to give up.
        """
        try:
            yield
        except StorageError as trouble:
            self._met(doing, trouble)
            raise Unavailable(str(trouble)) from trouble
        except PASSING as trouble:
            self._met(doing, trouble)
            raise
        else:
            if self._spells.pop(doing, None) is not None:
                self.changed.set()

    def spell(self) -> Spell | None:
        """What lasts: before all, what cannot pass; then what began first."""
        now = self._clock.monotonic()
        lasting = [spell for spell in self._spells.values() if not spell.may_pass or now - spell.last < CALM_S]
        return min(lasting, key=lambda spell: (spell.may_pass, spell.since), default=None)

    def _met(self, doing: str, trouble: Exception) -> None:
        if not doing:
            return
        now = self._clock.monotonic()
        known = self._spells.get(doing)
        since = known.since if known is not None and now - known.last < CALM_S else now
        self._spells[doing] = Spell(trouble, since, now)
        self.changed.set()
