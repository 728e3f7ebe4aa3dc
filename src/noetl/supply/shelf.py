"""Data kept outside the log, fetched once and then at hand for code that cannot wait.

Whoever needs data that is not at hand is told so by `NotAtHand`, has it fetched, and tries again.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from noetl.engine.reference import (
    LOOP_REFERENCE,
    External,
    Loss,
    Lost,
    Reference,
    decode_value,
    key_of,
    may_refer,
)
from noetl.engine.size import hydrate, stored_in
from noetl.errors import TemplateError
from noetl.ports import Damaged, ResultStore, Unavailable

T = TypeVar("T")

FETCHES_MAX = 64
"""How deep stored data may refer to further stored data."""


_RESTORE = "restore it from a backup, or "


class NotAtHand(Exception):
    """Data must be fetched before this can be done."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(str(reference.locator))
        self.reference = reference


class Missing(Unavailable):
    """What is asked for is gone or damaged; asking again does not help."""


class MissingData(Missing):
    """Stored data is not there any more, or damaged. People can put it back."""

    def __init__(self, reference: Reference, loss: Loss) -> None:
        super().__init__(f"the data of {dict(reference.locator)} {loss.why}")
        self.loss = loss
        self.error = loss.error(str(dict(reference.locator)))


class Withheld(MissingData):
    """It cannot be had, and is not expected to be. Only who needs it is to hear so."""


class Ended(Withheld):
    """It was kept for a time, which is over."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference, Loss(f"was kept for {reference.meta.ttl}, as `spec.result.ttl` says, and is gone"))


def missing(reference: Reference) -> MissingData:
    """Why there is no data behind a reference."""
    if reference.meta.ttl is not None:
        return Ended(reference)
    return MissingData(reference, Loss("is not in the result store", _RESTORE, retryable=True))


def damaged(reference: Reference) -> MissingData:
    return MissingData(reference, Loss("is damaged in the result store", _RESTORE, "checksum_mismatch"))


Tell = Callable[[Reference, Loss], TemplateError]
"""Says whose data cannot be had, and why."""


class LeftOver(msgspec.Struct, frozen=True):
    """A value with all data that could be put back. It `is_whole` where that was all."""

    value: object
    is_whole: bool = True


class Shelf:
    """A bounded cache of stored bytes; those used longest ago go first, but none that someone works with.

    `iterations` reads what the iterations of a large loop gave.
    """

    def __init__(self, results: ResultStore, bytes_max: int, iterations: "Iterations | None" = None) -> None:
        self._results = results
        self._iterations = iterations
        self._bytes_max = bytes_max
        self._size = 0
        self._blobs: dict[str, bytes] = {}
        self._values: dict[str, object] = {}
        self._users: dict[str, int] = {}

    # ------------------------------------------------------------------------------ what cannot wait

    def fetch(self, reference: Reference) -> bytes:
        key = key_of(reference)
        data = self._blobs.pop(key, None)
        if data is None:
            raise NotAtHand(reference)
        self._blobs[key] = data
        return data

    def value(self, stored: External | Reference) -> object:
        """A stored value, whole."""
        if isinstance(stored, External) and stored.patch:
            return hydrate(stored, self.fetch)
        reference = stored.reference if isinstance(stored, External) else stored
        data = self.fetch(reference)
        key = key_of(reference)
        if key not in self._values:
            self._values[key] = decode_value(data)
        return self._values[key]

    def length(self, stored: External | Reference) -> int | None:
        found = self.value(stored)
        return len(found) if isinstance(found, list) else None

    def element(self, stored: External | Reference, index: int) -> object:
        found = self.value(stored)
        assert isinstance(found, list)
        return found[index]

    # ------------------------------------------------------------------------------ fetching

    async def bring(self, reference: Reference) -> None:
        key = key_of(reference)
        if key in self._blobs:
            return
        self._keep(key, await self._read(reference))

    async def _read(self, reference: Reference) -> bytes:
        if reference.type == LOOP_REFERENCE and self._iterations is not None:
            return await self._iterations(self, reference)
        try:
            data = await self._results.get(key_of(reference))
        except Damaged:
            raise damaged(reference) from None
        if data is None:
            raise missing(reference)
        return data

    async def hydrated(self, value: object) -> object:
        """A value or a record with all that is stored elsewhere put back."""
        if not may_refer(value):
            return value
        with self.working() as work:
            for reference in stored_in(value):
                await work.bring(reference)
            return await work.tried(lambda: hydrate(value, self.fetch))

    async def left_of(self, value: object, tell: Tell) -> "LeftOver":
        """As `hydrated`, but where something cannot be had, only whoever needs it hears so, in the words of `tell`."""
        if not may_refer(value):
            return LeftOver(value)
        gone: dict[str, TemplateError] = {}

        async def bring(reference: Reference) -> None:
            try:
                await work.bring(reference)
            except MissingData as lost:
                gone[key_of(reference)] = tell(reference, lost.loss)

        with self.working() as work:
            for reference in stored_in(value):
                await bring(reference)
            found = await work.tried(lambda: hydrate(value, self.fetch, gone), bring)
        return LeftOver(found, is_whole=not gone)

    async def tried(self, does: Callable[[], T]) -> T:
        """Does what cannot wait, fetching what it asks for. What is done must leave no trace when it is broken off."""
        with self.working() as work:
            return await work.tried(does)

    @contextmanager
    def working(self) -> Iterator["Work"]:
        """What is brought for this work stays at hand until it is done, however large all of it is."""
        work = Work(self)
        try:
            yield work
        finally:
            for key in work.held:
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key]
            self._make_room()

    async def hold(self, reference: Reference, held: dict[str, None]) -> None:
        key = key_of(reference)
        if key not in held:
            held[key] = None
            self._users[key] = self._users.get(key, 0) + 1
        await self.bring(reference)

    def _keep(self, key: str, data: bytes) -> None:
        if key not in self._blobs:
            self._blobs[key] = data
            self._size += len(data)
        self._make_room()

    def _make_room(self) -> None:
        """What was used last stays in any case."""
        if self._size <= self._bytes_max:
            return
        for key in [each for each in [*self._blobs][:-1] if each not in self._users]:
            self._size -= len(self._blobs.pop(key))
            self._values.pop(key, None)
            if self._size <= self._bytes_max:
                return


Iterations = Callable[[Shelf, Reference], Awaitable[bytes]]
"""Reads what the iterations of a loop gave."""


class Left:
    """What a decision sees of a shelf. Who asks how long something is that was kept for a time hears that this is over.

    Any other need of it is met by `Withheld`, the second time that it is to be brought.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._gone: dict[str, Loss] = {}
        self.element = shelf.element
        self.fetch = shelf.fetch

    def length(self, stored: External | Reference) -> int | None:
        loss = self._gone.get(key_of(stored.reference if isinstance(stored, External) else stored))
        if loss is not None:
            raise Lost(loss)
        return self._shelf.length(stored)

    async def bring(self, work: "Work", reference: Reference) -> None:
        try:
            await work.bring(reference)
        except Withheld as withheld:
            if key_of(reference) in self._gone:
                raise
            self._gone[key_of(reference)] = withheld.loss


class Work:
    """Something that needs stored data, fetched as it asks for it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.held: dict[str, None] = {}

    async def bring(self, reference: Reference) -> None:
        await self._shelf.hold(reference, self.held)

    async def tried(self, does: Callable[[], T], bring: Callable[[Reference], Awaitable[None]] | None = None) -> T:
        for _ in range(FETCHES_MAX):
            try:
                return does()
            except NotAtHand as missing:
                await (bring or self.bring)(missing.reference)
        raise Unavailable(f"stored data refers to more stored data {FETCHES_MAX} times over")


def decoded(reference: Reference, data: bytes) -> object:
    """A stored value. What came from outside as it is stays data, whatever it looks like; None where it is not JSON."""
    if not reference.locator.get("raw"):
        return decode_value(data)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
