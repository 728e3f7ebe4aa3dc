"""Commands to commits. One queue an execution, decided in order on one state in memory, many executions in a commit.

A state that could not be committed is forgotten and folded again from the log. Nobody sees it before its commit.
"""

import asyncio
from collections.abc import Callable, Sequence

from noetl.control_plane.claims import claim_of
from noetl.control_plane.drafting import Draft, draft, draft_end
from noetl.control_plane.letters import Letter, Look, Taken
from noetl.control_plane.limits import Limits
from noetl.control_plane.loading import Loader, Unreadable
from noetl.control_plane.mailboxes import Box, Mailboxes
from noetl.control_plane.signals import Signals
from noetl.engine.commands import CancelExecution, Rejection, RequestExecution
from noetl.engine.effects import CancelChild, SetTimer, StartChild, TellParent
from noetl.engine.events import Fact
from noetl.engine.incidents import Incident, cancel_parked, of_bug, refusal
from noetl.engine.program import Program
from noetl.engine.snapshot import encode_snapshot
from noetl.engine.state import State
from noetl.ports import (
    Appended,
    Claim,
    Clock,
    Conflict,
    Fenced,
    Granted,
    ResultStore,
    Store,
    Unavailable,
)
from noetl.supply.programs import Programs
from noetl.supply.shelf import NotAtHand, Shelf


class Executions:
    """All executions that this server works on."""

    def __init__(
        self,
        store: Store,
        programs: Programs,
        results: ResultStore,
        clock: Clock,
        signals: Signals,
        limits: Limits,
    ) -> None:
        self._store = store
        self._programs = programs
        self._results = results
        self._clock = clock
        self._signals = signals
        self._limits = limits
        self.shelf = Shelf(results, limits.shelf_bytes_max)
        self._loader = Loader(store, programs, self.shelf, clock, limits.read_max)
        self._mailboxes = Mailboxes(limits)
        self.post = self._mailboxes.post
        self.make_room = self._mailboxes.make_room
        self.drain = self._mailboxes.drain
        self._under_way: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------ what callers see

    async def look(self, execution_id: str, see: Callable[[Program, State], object], head: int = 0) -> object:
        letter = Look(see, head)
        self.post(execution_id, letter)
        return await letter.answer

    async def facts(self, execution_id: str) -> list[Fact]:
        """The whole log, from its first fact on."""
        return [fact async for fact in self._loader.readable(execution_id)]

    async def run(self) -> None:
        """Serves until it is cancelled."""
        gate = asyncio.Semaphore(self._limits.commits_max)
        while True:
            await gate.acquire()
            task = asyncio.create_task(self._serve(await self._mailboxes.next_group()))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            task.add_done_callback(lambda _: gate.release())

    # ------------------------------------------------------------------------------ commits

    async def _serve(self, group: list[Box]) -> None:
        drafts: list[tuple[Box, Draft, list[Look]]] = []
        for box in group:
            made = await self._prepared(box)
            if made is not None:
                drafts.append((box, *made))
        try:
            await self._commit(drafts)
        except Exception as bug:  # noqa: BLE001 — the same, for what follows a decision
            for box, draft_, looks in drafts:
                await self._park(box, [*draft_.letters, *looks], self._of_bug(box, "a commit", bug))
        self._mailboxes.done(group)

    async def _prepared(self, box: Box) -> tuple[Draft, list[Look]] | None:
        """The next letters of an execution, decided. A bug ends here and parks the execution."""
        letters, looks = box.take(self._limits.letters_max)
        try:
            letters = await self._admitted(box, letters)
            return await self._decided(box, letters, looks), looks
        except Unavailable as trouble:
            await self._again(box, [*letters, *looks], trouble)
        except Unreadable as trouble:
            return await self._unreadable(box, letters, looks, trouble.incident)
        except Exception as bug:  # noqa: BLE001 — the one handler of bugs: the execution is parked, the server goes on
            doing = " and ".join(sorted({type(letter.command).__name__ for letter in letters})) or "a look"
            await self._park(box, [*letters, *looks], self._of_bug(box, doing, bug))
        return None

    def _of_bug(self, box: Box, doing: str, bug: Exception) -> Incident:
        return of_bug(box.execution_id, f"{type(bug).__name__}: {bug}", doing, self._clock.now())

    async def _admitted(self, box: Box, letters: list[Letter]) -> list[Letter]:
        """A parked execution takes nothing but a cancel. It is always cold, so that this is asked anew."""
        incident = await self._store.parking(box.execution_id) if box.loaded is None else None
        kept: list[Letter] = []
        for letter in letters:
            refused = refusal(incident, letter.command) if letter.command is not None else None
            if refused is None:
                kept.append(letter)
            else:
                letter.fail(Unavailable(refused.message))
        return kept

    async def _unreadable(
        self, box: Box, letters: Sequence[Letter], looks: Sequence[Look], incident: Incident
    ) -> tuple[Draft, list[Look]] | None:
        """Nothing can be decided without a state, but a cancel must be possible all the same."""
        cancel = next((letter for letter in letters if isinstance(letter.command, CancelExecution)), None)
        summary = await self._store.summary(box.execution_id)
        if cancel is None or summary is None:
            await self._park(box, [*letters, *looks], incident)
            return None
        others = [letter for letter in letters if letter is not cancel]
        await self._park(box, [*others, *looks], incident)
        assert isinstance(cancel.command, CancelExecution)
        ended = cancel_parked(box.execution_id, await self.facts(box.execution_id), cancel.command.reason)
        if isinstance(ended, Rejection):
            cancel.resolve(ended)
            return None
        return draft_end(cancel, summary, *ended, self._clock.now()), []

    async def _decided(self, box: Box, letters: Sequence[Letter], looks: Sequence[Look]) -> Draft:
        for _ in range(self._limits.tries_max):
            state, program = await self._state(box, letters, max((look.head for look in looks), default=0))
            try:
                return draft(program, state, letters, self._clock, self.shelf, box.started_at)
            except NotAtHand as missing:
                box.loaded = None
                await self.shelf.bring(missing.reference)
        raise Unavailable("a decision asks for ever more stored data")

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
        if program is None:
            program = await self._requested(letters)
        box.loaded = state, program
        return box.loaded

    async def _requested(self, letters: Sequence[Letter]) -> Program | None:
        for letter in letters:
            if isinstance(letter.command, RequestExecution):
                return await self._programs.get(letter.command.digest)
        return None

    async def _commit(self, drafts: Sequence[tuple[Box, Draft, list[Look]]]) -> None:
        drafts = sorted(drafts, key=lambda each: each[0].execution_id)
        blobs = [blob for _, made, _ in drafts for blob in made.blobs]
        try:
            if blobs:
                await self._results.put(blobs)
            answers = await self._store.commit([made.append for _, made, _ in drafts])
        except Unavailable as trouble:
            for box, made, looks in drafts:
                box.loaded = None
                await self._again(box, [*made.letters, *looks], trouble)
            return
        for (box, made, looks), answer in zip(drafts, answers, strict=True):
            match answer:
                case Appended():
                    await self._appended(box, made, looks, answer)
                case Conflict():
                    box.loaded = None
                    await self._again(box, [*made.letters, *looks], None)
                case Fenced(positions):
                    box.loaded = None
                    await self._fenced(box, made, looks, positions)

    async def _appended(self, box: Box, made: Draft, looks: Sequence[Look], answer: Appended) -> None:
        self._announce(made, answer)
        if box.loaded is None:
            await self._ended(box, made)
            return
        claims = await self._claims(box, answer.granted)
        for position, letter in enumerate(made.letters):
            worker = letter.ask.worker if letter.ask is not None else None
            own = [claim for claim in claims if claim.granted.lease.worker == worker]
            letter.resolve(made.refused.get(position) or Taken(own))
        await self._show(box, looks)
        try:
            await self._tidy(box)
        except Unavailable:
            return

    async def _ended(self, box: Box, made: Draft) -> None:
        """A cancel without a state."""
        await self._store.close(box.execution_id)
        for letter in made.letters:
            letter.resolve(Taken())

    def _announce(self, made: Draft, answer: Appended) -> None:
        if made.append.events:
            self._signals.appended(made.append.execution_id)
        if answer.has_work:
            self._signals.work_offered()
        for revoked in answer.revoked:
            self._signals.revoke(revoked)
        for effect in made.append.effects:
            if isinstance(effect, SetTimer):
                self._signals.timers.set()
            elif isinstance(effect, StartChild | CancelChild | TellParent):
                self._signals.messages.set()

    async def _claims(self, box: Box, granted: Sequence[Granted]) -> list[Claim]:
        assert box.loaded is not None
        state, program = box.loaded
        found: list[Claim] = []
        for each in granted:
            assert program is not None
            claim = await self.shelf.tried(lambda each=each: claim_of(program, state, each, self.shelf))  # type: ignore[misc]
            if claim is not None:
                found.append(claim)
        return found

    async def _show(self, box: Box, looks: Sequence[Look]) -> None:
        assert box.loaded is not None
        state, program = box.loaded
        for look in looks:
            if program is None:
                look.resolve(None)
                continue
            try:
                look.resolve(await self.shelf.tried(lambda look=look: look.see(program, state)))  # type: ignore[misc]
            except Unavailable as trouble:
                look.fail(trouble)

    async def _tidy(self, box: Box) -> None:
        """Saves the state now and then; an execution that has ended needs no incident any more."""
        assert box.loaded is not None
        state, _ = box.loaded
        if state.has_ended:
            box.loaded = None
            if await self._store.incidents(box.execution_id, 1):
                await self._store.close(box.execution_id)
            return
        if state.seq - box.snapshot_seq < self._limits.snapshot_every:
            return
        box.snapshot_seq = state.seq
        await self._store.save_snapshot(state.execution_id, state.seq, encode_snapshot(state))

    # ------------------------------------------------------------------------------ trouble

    async def _again(self, box: Box, letters: Sequence[Letter | Look], trouble: Unavailable | None) -> None:
        """Carries letters once more, in their order, unless it was tried often enough."""
        box.loaded = None
        kept: list[Letter | Look] = []
        for letter in letters:
            tries = letter.tries = letter.tries + 1
            if tries < self._limits.tries_max:
                kept.append(letter)
            else:
                letter.fail(trouble or Unavailable(f"others keep changing execution {box.execution_id}"))
        box.letters.extendleft(reversed(kept))
        if trouble is not None and kept:
            await asyncio.sleep(self._limits.backoff_s * 2 ** min(kept[0].tries, 6))

    async def _fenced(self, box: Box, made: Draft, looks: Sequence[Look], positions: frozenset[int]) -> None:
        """What was told under a lease that is over is refused; the others go again."""
        refused = {made.fences[position] for position in positions}
        kept: list[Letter | Look] = []
        for position, letter in enumerate(made.letters):
            if position in refused:
                letter.resolve(Rejection("stale", "the lease is over, or the work is another's"))
            else:
                kept.append(letter)
        await self._again(box, [*kept, *looks], None)

    async def _park(self, box: Box, letters: Sequence[Letter | Look], incident: Incident) -> None:
        """The execution cannot go on by itself: people see why, and everything but a cancel is turned away."""
        box.loaded = None
        try:
            await self._store.open([incident])
        except Unavailable as trouble:
            await self._again(box, letters, trouble)
            return
        for letter in letters:
            letter.fail(Unavailable(f"execution {box.execution_id} is parked: {incident.message}"))
