"""Data kept outside the log, fetched once and then at hand for code that cannot wait.

Whoever needs data that is not at hand is told so by `NotAtHand`, has it fetched, and tries again.
"""

from collections.abc import Callable
from typing import TypeVar

from noetl.engine.reference import External, Reference, decode_value
from noetl.engine.size import hydrate, stored_in
from noetl.ports import ResultStore, Unavailable

T = TypeVar("T")

FETCHES_MAX = 64
"""How deep stored data may refer to further stored data."""


class NotAtHand(Exception):
    """Data must be fetched before this can be done."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(str(reference.locator))
        self.reference = reference


class Missing(Unavailable):
    """What is asked for is gone or damaged; asking again does not help."""


def _missing(reference: Reference) -> Missing:
    return Missing(f"the data of {dict(reference.locator)} is not in the result store, or is damaged")


class Shelf:
    """A bounded cache of stored bytes, by sha256; those used longest ago go first."""

    def __init__(self, results: ResultStore, bytes_max: int) -> None:
        self._results = results
        self._bytes_max = bytes_max
        self._size = 0
        self._blobs: dict[str, bytes] = {}
        self._lists: dict[str, object] = {}

    # ------------------------------------------------------------------------------ what cannot wait

    def fetch(self, reference: Reference) -> bytes:
        sha256 = sha256_of(reference)
        data = self._blobs.get(sha256)
        if data is None:
            raise NotAtHand(reference)
        return data

    def value(self, stored: External | Reference) -> object:
        """A stored value, whole."""
        reference = stored.reference if isinstance(stored, External) else stored
        if isinstance(stored, External) and stored.patch:
            return hydrate(stored, self.fetch)
        sha256 = sha256_of(reference)
        if sha256 not in self._lists:
            self._lists[sha256] = decode_value(self.fetch(reference))
        return self._lists[sha256]

    def length(self, stored: External | Reference) -> int | None:
        found = self.value(stored)
        return len(found) if isinstance(found, list) else None

    def element(self, stored: External | Reference, index: int) -> object:
        found = self.value(stored)
        assert isinstance(found, list)
        return found[index]

    # ------------------------------------------------------------------------------ fetching

    async def bring(self, reference: Reference) -> None:
        sha256 = sha256_of(reference)
        if sha256 in self._blobs:
            return
        data = await self._results.get(sha256)
        if data is None:
            raise _missing(reference)
        self.keep(sha256, data)

    async def hydrated(self, value: object) -> object:
        """A value or a record with all that is stored elsewhere put back."""
        for reference in stored_in(value):
            await self.bring(reference)
        return await self.tried(lambda: hydrate(value, self.fetch))

    async def tried(self, work: Callable[[], T]) -> T:
        """Does what cannot wait, fetching what it asks for. The work must leave no trace when it is broken off."""
        for _ in range(FETCHES_MAX):
            try:
                return work()
            except NotAtHand as missing:
                await self.bring(missing.reference)
        raise Unavailable(f"stored data refers to more stored data {FETCHES_MAX} times over")

    def keep(self, sha256: str, data: bytes) -> None:
        if sha256 not in self._blobs:
            self._blobs[sha256] = data
            self._size += len(data)
        while self._size > self._bytes_max and len(self._blobs) > 1:
            oldest = next(iter(self._blobs))
            self._size -= len(self._blobs.pop(oldest))
            self._lists.pop(oldest, None)


def sha256_of(reference: Reference) -> str:
    return str(reference.locator.get("sha256", ""))
