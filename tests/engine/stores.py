"""A store of blobs in memory, for engines that keep large values outside the log."""

from noetl.engine.reference import LOOP_REFERENCE, External, Reference, decode_value, encode_value
from noetl.engine.size import Blob, hydrate


class Blobs:
    """Blobs by their digest. What was never kept here, such as a tool's own reference, is no list."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def keep(self, *blobs: Blob) -> None:
        self.blobs |= {blob.sha256: blob.data for blob in blobs}

    def fetch(self, reference: Reference) -> bytes:
        """There are no logs here: in the place of what a large loop gave stands where it would be found."""
        if reference.type == LOOP_REFERENCE:
            return encode_value([dict(reference.locator)])
        return self.blobs[str(reference.locator["sha256"])]

    def items(self, stored: External | Reference) -> object:
        reference = stored.reference if isinstance(stored, External) else stored
        return hydrate(decode_value(self.fetch(reference)), self.fetch)

    def length(self, stored: External | Reference) -> int | None:
        if isinstance(stored, Reference) and stored.locator.get("sha256") not in self.blobs:
            return None
        found = self.items(stored)
        return len(found) if isinstance(found, list) else None

    def element(self, stored: External | Reference, index: int) -> object:
        found = self.items(stored)
        assert isinstance(found, list)
        return found[index]
