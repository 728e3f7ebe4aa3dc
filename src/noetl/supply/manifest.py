"""What the iterations of a loop gave, read from the log: the manifest behind the output of a large loop."""

from collections.abc import AsyncIterator, Mapping

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode, unseal
from noetl.engine.output import Output, is_of_tool
from noetl.engine.reference import LOOP_REFERENCE, Loss, Reference, encode_value
from noetl.ports import EventLog, Unavailable
from noetl.supply.shelf import Iterations, Shelf, Withheld

PAGE_EVENTS = 1_000
READ_BYTES_MAX = 256 * 1024 * 1024
"""How much of events and stored data one reading may come to."""

DEPTH_MAX = 64
"""How many loops inside each other, and reruns of reruns, are followed."""

_NAMES = (b'"loop.started"', b'"loop.iteration.done"', b'"loop.done"')


class ManifestTooLarge(Exception):
    """More was asked for than fits in memory."""


class Place(msgspec.Struct, frozen=True):
    """A loop of an execution: its step run, and the iterations around it."""

    execution_id: str
    step_run_id: str
    path: e.Path = ()


def place_of(reference: Reference) -> Place:
    locator: Mapping[str, object] = reference.locator
    path = msgspec.convert(locator.get("path", []), tuple[int, ...])
    return Place(str(locator.get("log")), str(locator.get("step_run_id")), path)


class Manifests:
    """Reads from a log, page by page, keeping only what is asked for."""

    def __init__(self, log: EventLog, shelf: Shelf, bytes_max: int = READ_BYTES_MAX) -> None:
        self._log = log
        self._shelf = shelf
        self._bytes_max = bytes_max

    async def items(self, place: Place, start: int = 0, stop: int | None = None) -> list[object]:
        """The data of iterations `start` up to `stop` in index order, null for those that failed or never ran."""
        return await _Reading(self._log, self._shelf, self._bytes_max).items(place, start, stop, 0)


def iterations_of(log: EventLog, bytes_max: int = READ_BYTES_MAX) -> Iterations:
    """Lets a shelf read back the output of a large loop."""

    async def read(shelf: Shelf, reference: Reference) -> bytes:
        try:
            return encode_value(await Manifests(log, shelf, bytes_max).items(place_of(reference)))
        except ManifestTooLarge as error:
            loss = Loss(f"cannot be read whole: {error} and `kind: resolve`", can_be_made=False)
            raise Withheld(reference, loss) from error

    return read


class _Reading:
    def __init__(self, log: EventLog, shelf: Shelf, bytes_max: int) -> None:
        self._log = log
        self._shelf = shelf
        self._bytes_max = bytes_max
        self._left = bytes_max

    async def items(self, place: Place, start: int, stop: int | None, depth: int) -> list[object]:
        found: list[object] | None = None
        async for fact in self._facts(place):
            if isinstance(fact, e.LoopStarted):
                found = [None] * max(0, min(fact.count if stop is None else stop, fact.count) - start)
                await self._keep(found, start, place, fact.kept, depth)
            elif isinstance(fact, e.IterationDone) and found is not None and 0 <= fact.path[-1] - start < len(found):
                found[fact.path[-1] - start] = await self._value(fact.output, depth)
        if found is None:
            raise Unavailable(f"the log of execution {place.execution_id} has no loop of {place.step_run_id}")
        return found

    async def _keep(self, found: list[object], start: int, place: Place, kept: e.Kept | None, depth: int) -> None:
        """What a rerun took over is in its first event, or in the log of its origin."""
        if kept is None:
            return
        origin = Place(kept.execution_id, kept.step_run_id, place.path)
        for first, last, part in zip(kept.ended.starts, kept.ended.stops, kept.ended.parts, strict=True):
            low, high = max(first, start), min(last, start + len(found))
            if low >= high:
                continue
            if part.data is not None:
                data = await self._shelf.hydrated(list(part.data[low - first : high - first]))
            else:
                data = await self.items(origin, low, high, _deeper(depth))
            assert isinstance(data, list)
            found[low - start : high - start] = data

    async def _value(self, output: Output, depth: int) -> object:
        """The data of one iteration: that of the loop inside it, or a reference to what its tool stored."""
        ref = output.ref
        if ref is not None and ref.type == LOOP_REFERENCE:
            return await self.items(place_of(ref), 0, None, _deeper(depth))
        if is_of_tool(output):
            return ref
        value = await self._shelf.hydrated(output.data)
        if value is not output.data and ref is not None:
            self._spend(ref.meta.bytes)
        return value

    async def _facts(self, place: Place) -> AsyncIterator[e.Fact]:
        """The facts of the loop itself, up to its end. Others are passed over without being decoded."""
        mark, seq = msgspec.json.encode(place.step_run_id), 0
        while page := await self._log.read(place.execution_id, seq, PAGE_EVENTS):
            seq += len(page)
            for data in page:
                if mark not in data or not any(name in data for name in _NAMES):
                    continue
                fact = await self._decoded(data)
                if _is_of(fact, place):
                    self._spend(len(data))
                    yield fact
                    if isinstance(fact, e.LoopDone):
                        return

    async def _decoded(self, data: bytes) -> e.Fact:
        event = decode(data)
        if isinstance(event, UnknownEvent):
            raise Unavailable(f"event {event.seq} ({event.name}) cannot be read: {event.reason}")
        if isinstance(event, StoredEvent):
            await self._shelf.bring(event.reference)
            event = unseal(event, self._shelf.fetch(event.reference))
        return event.fact

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ManifestTooLarge(f"more than {self._bytes_max} bytes at once; ask for parts of it with `range`")


def _is_of(fact: e.Fact, place: Place) -> bool:
    match fact:
        case e.LoopStarted() | e.LoopDone():
            return (fact.step_run_id, fact.path) == (place.step_run_id, place.path)
        case e.IterationDone(call=""):
            return (fact.step_run_id, fact.path[:-1]) == (place.step_run_id, place.path)
        case _:
            return False


def _deeper(depth: int) -> int:
    if depth >= DEPTH_MAX:
        raise Unavailable(f"the data leads from one log to the next more than {DEPTH_MAX} times")
    return depth + 1
