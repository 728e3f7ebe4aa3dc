"""A store of blobs in memory, for engines that keep large values outside the log."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeGuard

from noetl.engine import events as e
from noetl.engine.output import Output, is_of_tool
from noetl.engine.reference import LOOP_REFERENCE, External, Reference, decode_value, encode_value
from noetl.engine.size import Blob, hydrate


def _is_iteration(fact: e.Fact, run: object, path: object) -> TypeGuard[e.IterationDone]:
    if not isinstance(fact, e.IterationDone) or fact.call:
        return False
    return (fact.step_run_id, [*fact.path[:-1]]) == (run, path)


class Log(Protocol):
    @property
    def facts(self) -> Sequence[e.Fact]: ...


class Blobs:
    """Blobs by their digest. What was never kept here, such as a tool's own reference, is no list.

    `logs` are those of the executions that what a large loop gave is read back from.
    """

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.logs: Mapping[str, Log] = {}

    def keep(self, *blobs: Blob) -> None:
        self.blobs |= {blob.sha256: blob.data for blob in blobs}

    def fetch(self, reference: Reference) -> bytes:
        """Where there is no log, in the place of what a large loop gave stands where it would be found."""
        if reference.type == LOOP_REFERENCE:
            found = self._iterations(reference)
            return encode_value([dict(reference.locator)] if found is None else found)
        return self.blobs[str(reference.locator["sha256"])]

    def _iterations(self, reference: Reference) -> list[object] | None:
        """What a loop gave that kept nothing of an earlier execution."""
        locator = reference.locator
        log, place = self.logs.get(str(locator["log"])), (locator["step_run_id"], locator["path"])
        found: list[object] | None = None
        for fact in log.facts if log is not None else ():
            if isinstance(fact, e.LoopStarted) and (fact.step_run_id, [*fact.path]) == place:
                found = [None] * fact.count if fact.kept is None else None
            elif found is not None and _is_iteration(fact, *place):
                found[fact.path[-1]] = self._value(fact.output)
        return found

    def _value(self, output: Output) -> object:
        if output.ref is not None and output.ref.type == LOOP_REFERENCE:
            return decode_value(self.fetch(output.ref))
        return output.ref if is_of_tool(output) else hydrate(output.data, self.fetch)

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
