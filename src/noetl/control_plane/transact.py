"""Commands to commits. One queue an execution, decided in order on one state in memory, many executions in a commit.

A state that could not be committed is forgotten and folded again from the log. Nobody sees it before its commit.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from noetl.control_plane.claims import claim_of
from noetl.control_plane.deciding import Deciding
from noetl.control_plane.drafting import Draft, draft_refusals
from noetl.control_plane.letters import Letter, Look, Taken
from noetl.control_plane.limits import Limits
from noetl.control_plane.loading import Loader, Unreadable
from noetl.control_plane.mailboxes import Box, Mailboxes
from noetl.control_plane.signals import Signals
from noetl.engine.commands import CancelExecution, Rejection
from noetl.engine.effects import CancelChild, SetTimer, StartChild, TellParent
from noetl.engine.incidents import Incident, of_bug, of_missing_data, parked
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
from noetl.supply.manifest import iterations_of
from noetl.supply.outcome import outcome
from noetl.supply.programs import Programs
from noetl.supply.shelf import Missing, Shelf

DOUBLINGS_MAX = 6
"""How often the rest of an execution grows whose store does not answer."""


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
        self._results = results
        self._clock = clock
        self._signals = signals
        self._limits = limits
        self.shelf = Shelf(results, limits.shelf_bytes_max, iterations_of(store))
        self._loader = Loader(store, programs, self.shelf, clock, limits.read_max)
        self._deciding = Deciding(store, programs, self._loader, self.shelf, clock, limits)
        self._mailboxes = Mailboxes(limits)
        self.post = self._mailboxes.post
        self.put = self._mailboxes.put
        self.make_room = self._mailboxes.make_room
        self._under_way: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------ what callers see

    async def look(self, execution_id: str, see: Callable[[Program, State], object], head: int = 0) -> object:
        letter = Look(see, head)
        self.post(execution_id, letter)
        return await letter.answer

    async def drain(self) -> None:
        """Takes nothing more, and ends when all that waits is answered and tidied up."""
        await self._mailboxes.drain()
        await asyncio.gather(*self._under_way)

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
        prepared: list[_Prepared] = []
        for box in group:
            made = await self._prepared(box)
            if made is not None:
                prepared.append(made)
        await self._commit(prepared)
        for box in group:
            self._lay_down(box)

    def _lay_down(self, box: Box) -> None:
        """One that met a store without an answer rests for a while, and nobody waits for it meanwhile."""
        if box.troubles:
            rest_s = self._limits.backoff_s * 2 ** min(box.troubles, DOUBLINGS_MAX)
            asyncio.get_running_loop().call_later(rest_s, self._mailboxes.done, box)
        else:
            self._mailboxes.done(box)

    async def _prepared(self, box: Box) -> "_Prepared | None":
        """The next letters of an execution, decided."""
        letters, looks = box.take(self._limits.letters_max)
        match await outcome(self._made(box, letters, looks)):
            case Draft() as made:
                return _Prepared(box, made, looks)
            case Unavailable() as trouble:
                self._again(box, [*letters, *looks], trouble)
            case Exception() as bug:
                doing = " and ".join(sorted({type(letter.command).__name__ for letter in letters})) or "a look"
                await self._park(box, [*letters, *looks], self._of_bug(box, doing, bug))
        return None

    def _of_bug(self, box: Box, doing: str, bug: Exception) -> Incident:
        return of_bug(box.execution_id, f"{type(bug).__name__}: {bug}", doing, self._clock.now())

    async def _made(self, box: Box, letters: Sequence[Letter], looks: Sequence[Look]) -> Draft | None:
        admitted = await self._deciding.admitted(box, letters)
        try:
            return await self._deciding.drafted(box, admitted, max((look.head for look in looks), default=0))
        except Missing as gone:
            incident = of_missing_data(box.execution_id, str(gone), self._clock.now())
        except Unreadable as trouble:
            incident = trouble.incident
        return await self._unreadable(box, admitted, looks, incident)

    async def _unreadable(
        self, box: Box, letters: Sequence[Letter], looks: Sequence[Look], incident: Incident
    ) -> Draft | None:
        """Nothing can be decided without a state, but a cancel must be possible all the same."""
        box.loaded = None
        summary = await self._store.summary(box.execution_id)
        if summary is not None and summary.has_ended:
            for look in looks:
                look.resolve(None)
            return draft_refusals(letters, summary)
        if summary is None and all(letter.done is None for letter in letters):  # no message waits: who asks is told
            _refuse([*letters, *looks], Rejection("unexpected", f"nothing was begun: {incident.message}"))
            return None
        cancels = [letter for letter in letters if isinstance(letter.command, CancelExecution)]
        if not cancels or summary is None:
            await self._park(box, [*letters, *looks], incident)
            return None
        made = await self._deciding.cancelled(cancels[0], summary)
        box.letters.extendleft(reversed(cancels[1:]))
        await self._park(box, [*(letter for letter in letters if letter not in cancels), *looks], incident)
        return made

    async def _commit(self, prepared: Sequence["_Prepared"]) -> None:
        """Whoever only looks needs no commit. A bug in the store is met again by the one whose append has it."""
        for each in prepared:
            if not each.draft.letters:
                await self._followed(each, Appended())
        decided = sorted((each for each in prepared if each.draft.letters), key=lambda each: each.box.execution_id)
        if not decided:
            return
        match await outcome(self._stored(decided)):
            case Unavailable() as trouble:
                for each in decided:
                    self._again(each.box, [*each.draft.letters, *each.looks], trouble)
            case Exception() as bug if len(decided) == 1:
                await self._park_for(decided[0], "a commit", bug)
            case Exception():
                for each in decided:
                    await self._commit([each])
            case answers:
                for each, answer in zip(decided, answers, strict=True):
                    await self._followed(each, answer)

    async def _stored(self, decided: Sequence["_Prepared"]) -> Sequence[Appended | Conflict | Fenced]:
        blobs = [blob for each in decided for blob in each.draft.blobs]
        if blobs:
            await self._results.put(blobs)
        taken_over = {name for each in decided for name in each.draft.taken_over}
        if taken_over:
            await self._results.touch(taken_over)
        return await self._store.commit([each.draft.append for each in decided])

    async def _followed(self, each: "_Prepared", answer: Appended | Conflict | Fenced) -> None:
        """What follows an answer of the store. A bug parks this execution alone."""
        match await outcome(self._follow(each, answer)):
            case Missing() as gone:
                incident = of_missing_data(each.box.execution_id, str(gone), self._clock.now())
                await self._park(each.box, each.looks, incident)
            case Exception() as bug:
                await self._park_for(each, "what follows a commit", bug)

    async def _follow(self, each: "_Prepared", answer: Appended | Conflict | Fenced) -> None:
        box, made, looks = each
        match answer:
            case Appended():
                await self._appended(box, made, looks, answer)
            case Conflict():
                self._again(box, [*made.letters, *looks], None)
            case Fenced(positions):
                self._fenced(box, made, looks, positions)

    async def _appended(self, box: Box, made: Draft, looks: Sequence[Look], answer: Appended) -> None:
        box.troubles = 0
        self._announce(made, answer)
        if made.append.summary is not None:
            box.started_at = made.append.summary.started_at
        if box.loaded is None:
            await self._ended(box, made)
            return
        claims = await self._claims(box, answer.granted)
        for position, letter in enumerate(made.letters):
            worker = letter.ask.worker if letter.ask is not None else None
            own = [claim for claim in claims if claim.granted.lease.worker == worker]
            letter.resolve(made.refused.get(position) or Taken(own))
        await self._show(box, looks)
        with suppress(Unavailable):
            await self._tidy(box)

    async def _ended(self, box: Box, made: Draft) -> None:
        """The answer to a cancel without a state."""
        for position, letter in enumerate(made.letters):
            letter.resolve(made.refused.get(position) or Taken())
        with suppress(Unavailable):
            await self._store.close(box.execution_id)

    def _announce(self, made: Draft, answer: Appended) -> None:
        if made.append.events:
            self._signals.appended(made.append.execution_id, made.append.head, made.append.events)
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
        """What was granted with a commit. What cannot be filled now goes out again."""
        assert box.loaded is not None
        state, program = box.loaded
        found: list[Claim] = []
        lost: list[Granted] = []
        for each in granted:
            assert program is not None
            try:
                claim = await self.shelf.tried(partial(claim_of, program, state, each, self.shelf))
            except Unavailable:
                claim = None
            if claim is not None:
                found.append(claim)
            else:
                lost.append(each)
        if lost:
            with suppress(Unavailable):
                await self._store.release(lost)
        return found

    async def _show(self, box: Box, looks: Sequence[Look]) -> None:
        assert box.loaded is not None
        state, program = box.loaded
        for look in looks:
            if program is None:
                look.resolve(None)
                continue
            try:
                look.resolve(await self.shelf.tried(partial(look.see, program, state)))
            except Missing:
                raise
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

    def _again(self, box: Box, letters: Sequence[Letter | Look], trouble: Unavailable | None) -> None:
        """Carries letters once more, in their order, unless it was tried often enough."""
        box.loaded = None
        box.troubles = box.troubles + 1 if trouble is not None else 0
        kept: list[Letter | Look] = []
        for letter in letters:
            letter.tries += 1
            if letter.tries >= self._limits.tries_max:
                letter.fail(trouble or Unavailable(f"others keep changing execution {box.execution_id}"))
            elif not letter.answer.done():
                kept.append(letter)
        box.letters.extendleft(reversed(kept))

    def _fenced(self, box: Box, made: Draft, looks: Sequence[Look], positions: frozenset[int]) -> None:
        """What was told under a lease that is over is refused; the others go again."""
        refused = {made.fences[position] for position in positions}
        kept: list[Letter | Look] = []
        for position, letter in enumerate(made.letters):
            if position in refused:
                letter.resolve(Rejection("stale", "the lease is over, or the work is another's"))
            else:
                kept.append(letter)
        self._again(box, [*kept, *looks], None)

    async def _park_for(self, each: "_Prepared", doing: str, bug: Exception) -> None:
        await self._park(each.box, [*each.draft.letters, *each.looks], self._of_bug(each.box, doing, bug))

    async def _park(self, box: Box, letters: Sequence[Letter | Look], incident: Incident) -> None:
        """The execution cannot go on by itself: people see why, and everything but a cancel is turned away."""
        box.loaded = None
        try:
            await self._store.open([incident])
        except Unavailable as trouble:
            self._again(box, letters, trouble)
            return
        _refuse(letters, parked(incident))


def _refuse(letters: Sequence[Letter | Look], refusal: Rejection) -> None:
    for letter in letters:
        if isinstance(letter, Letter):
            letter.resolve(refusal)
        else:
            letter.fail(Unavailable(refusal.message))


class _Prepared(NamedTuple):
    """An execution with what was decided for it, and who looks at it then."""

    box: Box
    draft: Draft
    looks: Sequence[Look]
