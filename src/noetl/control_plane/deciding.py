"""What an execution makes of the commands that wait for it: which it takes now, on which state, and what follows."""

from collections.abc import Sequence

from noetl.control_plane.drafting import Draft, draft, draft_end, draft_refusals
from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.loading import Loader
from noetl.control_plane.mailboxes import Box
from noetl.engine.commands import CancelExecution, Rejection, RequestExecution
from noetl.engine.incidents import cancel_parked, refusal
from noetl.engine.program import Program
from noetl.engine.state import State
from noetl.ports import Clock, Store, Summary, Unavailable
from noetl.supply.programs import Programs
from noetl.supply.shelf import Left, NotAtHand, Shelf


class Deciding:
    def __init__(
        self, store: Store, programs: Programs, loader: Loader, shelf: Shelf, clock: Clock, limits: Limits
    ) -> None:
        self._store = store
        self._programs = programs
        self._loader = loader
        self._shelf = shelf
        self._clock = clock
        self._limits = limits

    async def admitted(self, box: Box, letters: Sequence[Letter]) -> list[Letter]:
        """A parked execution takes nothing but a cancel. It is always cold, so that this is asked anew."""
        incident = await self._store.parking(box.execution_id) if box.loaded is None else None
        kept: list[Letter] = []
        for letter in letters:
            refused = refusal(incident, letter.command) if letter.command is not None else None
            if refused is None:
                kept.append(letter)
            else:
                letter.resolve(refused)
        return kept

    async def drafted(self, box: Box, letters: Sequence[Letter], head: int) -> Draft:
        """The letters decided in order, on a state that is at least as long as `head`. It holds what was decided."""
        stored = Left(self._shelf)
        with self._shelf.working() as work:
            for _ in range(self._limits.tries_max):
                state, program = await self._state(box, letters, head)
                try:
                    return draft(program, state, letters, self._clock, stored, box.started_at)
                except NotAtHand as missing:
                    box.loaded = None
                    await stored.bring(work, missing.reference)
        raise Unavailable("a decision asks for ever more stored data")

    async def cancelled(self, letter: Letter, summary: Summary) -> Draft:
        """A cancel by what can be read of the log, since there is no state."""
        assert isinstance(letter.command, CancelExecution)
        facts = [fact async for fact in self._loader.readable(summary.execution_id)]
        ended = cancel_parked(summary.execution_id, facts, letter.command.reason)
        if isinstance(ended, Rejection):
            return draft_refusals([letter], summary)
        return draft_end(letter, summary, *ended, self._clock.now())

    async def _state(self, box: Box, letters: Sequence[Letter], head: int) -> tuple[State, Program | None]:
        if box.loaded is None:
            found = await self._loader.load(box.execution_id)
            summary = await self._store.summary(box.execution_id)
            box.started_at = summary.started_at if summary is not None else None
            box.snapshot_seq = found.snapshot
            box.loaded = found.state, found.program
        state, program = box.loaded
        if state.seq < head:
            program = await self._loader.catch_up(state, program)
        if state.seq == 0:
            program = await self._requested(letters)
        box.loaded = state, program
        return box.loaded

    async def _requested(self, letters: Sequence[Letter]) -> Program | None:
        for letter in letters:
            if isinstance(letter.command, RequestExecution):
                return await self._programs.get(letter.command.digest)
        return None
