"""A store that cannot be used in the middle of a run: it is told at once, waited for, and in the end given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from noetl.cli.console import Stopped
from noetl.cli.embedded import UNREACHABLE
from noetl.cli.running.leaving import Leaving, Teller
from noetl.ports import Clock
from noetl.storage.health import Health, Spell
from noetl.supply.waiting import wait_for

PATIENCE_S = 60.0
PATIENCE_S_MAX = 7 * 24 * 3600.0
VARIABLE = "NOETL_STORE_WAIT"

LOOK_S = 1.0
AGAIN_S = 10.0
"""Where trouble comes and goes it is not told more often than this."""


def patience_of(environment: Mapping[str, str]) -> float:
    """How long a run waits for its store."""
    given = environment.get(VARIABLE, "")
    if not given:
        return PATIENCE_S
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0 <= found <= PATIENCE_S_MAX:
        raise Stopped(f'noetl: {VARIABLE} is a number of seconds from 0 to {PATIENCE_S_MAX:.0f}; found "{given}"')
    return found


class Patience:
    def __init__(self, health: Health, clock: Clock, leaving: Leaving, teller: Teller, wait_s: float) -> None:
        self._health = health
        self._clock = clock
        self._leaving = leaving
        self._teller = teller
        self._wait_s = wait_s
        self._is_told = False
        self._told_at: float | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        watch = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        while True:
            self._health.changed.clear()
            self._look(self._health.spell())
            await wait_for(self._health.changed, LOOK_S)

    def _look(self, spell: Spell | None) -> None:
        now = self._clock.monotonic()
        if spell is None:
            self._tell_end()
        elif not spell.may_pass:
            self._leaving.leave(f"stopped: {spell.error}\n  = then {self._leaving.resume}", UNREACHABLE)
        elif now - spell.since >= self._wait_s:
            waited = f"stopped after {now - spell.since:.0f} s of waiting"
            self._leaving.leave(f"{waited}: {spell.error}\n  = then {self._leaving.resume}", UNREACHABLE)
        elif not self._is_told and (self._told_at is None or now - self._told_at >= AGAIN_S):
            self._is_told, self._told_at = True, now
            self._teller.say(f"{spell.error}; waiting for up to {self._wait_s:g} s, Ctrl-C leaves")

    def _tell_end(self) -> None:
        if self._is_told:
            self._is_told = False
            self._teller.say("the store can be used again; the run goes on")
