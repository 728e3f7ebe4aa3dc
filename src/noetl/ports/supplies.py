"""What is fetched from elsewhere: playbooks, stored results, credentials."""

from collections.abc import AsyncIterable, AsyncIterator, Collection, Sequence
from typing import Protocol

import msgspec

from noetl.engine.events import Values
from noetl.engine.size import Blob
from noetl.playbook.model import KeychainEntry


class Registered(msgspec.Struct, frozen=True):
    """A playbook as it runs: the canonical model, and where its parts stand in the author's file."""

    path: str
    version: str
    digest: str
    model: bytes
    file: str = ""
    places: bytes = b"{}"


class Catalog(Protocol):
    async def register(self, playbook: Registered) -> None: ...
    async def by_digest(self, digest: str) -> Registered | None: ...
    async def by_path(self, path: str, version: str | None) -> Registered | None: ...


class Deposit(msgspec.Struct, frozen=True):
    """What a stream came to."""

    sha256: str
    bytes: int


class Collected(msgspec.Struct, frozen=True):
    """What was removed."""

    objects: int = 0
    bytes: int = 0


class ResultStore(Protocol):
    """Bytes under their sha256. What `put` or `put_stream` has answered is durable."""

    async def put(self, blobs: Sequence[Blob]) -> None: ...

    async def put_stream(self, chunks: AsyncIterable[bytes]) -> Deposit:
        """Takes them piece by piece, never whole in memory. A stream that breaks off leaves nothing."""

    async def get(self, sha256: str) -> bytes | None:
        """The bytes, checked; None where there are none, `Damaged` where they are not what they were."""

    async def open(self, sha256: str) -> AsyncIterator[bytes] | None:
        """The bytes piece by piece; None where there are none. Where they are damaged it ends with `Damaged`."""

    async def touch(self, names: Collection[str]) -> None:
        """Those of them that are there count as put now."""

    async def collect(self, prefix: str, held: Collection[str], put_before: float) -> Collected:
        """Removes the objects whose sha256 begins so, that are not held, and that nobody has put since that time."""


class Credentials(Protocol):
    async def missing(self, entries: Sequence[KeychainEntry], workload: Values) -> Sequence[str]:
        """The names of the entries that cannot be found."""

    async def value(self, entry: KeychainEntry, workload: Values) -> object:
        """What an entry holds: text, or a mapping of texts. `Unavailable` where it cannot be had now."""
