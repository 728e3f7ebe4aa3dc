"""The judge's own account of leases: who holds what until when, kept from what the store is asked and answers."""

from collections.abc import Callable, Iterable, Sequence

from noetl.engine.effects import Effect, EndAll, EndWork, StopWork
from noetl.engine.worklist import Progress, Row
from noetl.ports import Append, Expired, Granted

Note = Callable[[str], None]
Key = tuple[str, Row]


class Held:
    """A lease. `open` are the indexes without an end; those before `next` have begun."""

    __slots__ = ("epoch", "expires_at", "key", "next", "open", "slots", "worker")

    def __init__(self, granted: Granted) -> None:
        lease = granted.lease
        self.key: Key = (granted.execution_id, granted.row)
        self.epoch = lease.epoch
        self.worker = lease.worker
        self.expires_at = lease.expires_at
        self.slots = lease.slots
        self.next = lease.next
        self.open = set(range(lease.next, lease.stop))

    def __str__(self) -> str:
        return f"lease {self.epoch} of {self.worker} on {self.key}"


class LeaseBook:
    def __init__(self, note: Note) -> None:
        self._note = note
        self._held: dict[int, Held] = {}
        self._by_key: dict[Key, dict[int, Held]] = {}
        self._unflushed: list[tuple[int, float]] = []
        self._last = 0
        self.expiries = 0

    def holder(self, key: Key, index: int) -> Held | None:
        return next((held for held in self._by_key.get(key, {}).values() if index in held.open), None)

    # ------------------------------------------------------------------------------ what the store did

    def commit(self, append: Append) -> None:
        self._unflushed.clear()
        for progress in append.progress:
            self._report((append.execution_id, progress.row), progress)
        for effect in append.effects:
            self._carry_out(append.execution_id, effect)

    def grant(self, granted: Sequence[Granted]) -> None:
        self._unflushed.clear()
        for each in granted:
            held = Held(each)
            if held.epoch <= self._last:
                self._note(f"epoch {held.epoch} came again")
            self._last = held.epoch
            for index in sorted(held.open):
                if (other := self.holder(held.key, index)) is not None:
                    self._note(f"{held} was given [{index}], which is with {other}")
            self._held[held.epoch] = held
            self._by_key.setdefault(held.key, {})[held.epoch] = held

    def renew(self, asked: Sequence[Granted], over: frozenset[int], now: float, lease_s: float) -> None:
        for each in asked:
            epoch = each.lease.epoch
            held = self._held.get(epoch)
            if epoch in over:
                continue
            if held is None:
                self._note(f"lease {epoch} on {each.row} was over and could be renewed")
                continue
            self._unflushed.append((epoch, held.expires_at))
            held.expires_at = now + lease_s

    def release(self, asked: Sequence[Granted]) -> None:
        self._unflushed.clear()
        for each in asked:
            self._drop(self._held.get(each.lease.epoch))

    def expire(self, found: Sequence[Expired], now: float) -> None:
        self._unflushed.clear()
        for each in found:
            over = [held for held in self._of((each.execution_id, each.row)) if held.expires_at <= now]
            self.expiries += len(over)
            for held in over:
                self._drop(held)

    def crash(self) -> None:
        """Renewals that were not flushed are gone."""
        for epoch, expires_at in reversed(self._unflushed):
            if epoch in self._held:
                self._held[epoch].expires_at = expires_at
        self._unflushed.clear()

    # ------------------------------------------------------------------------------ what it means

    def _report(self, key: Key, progress: Progress) -> None:
        held = self._held.get(progress.epoch)
        if held is None or held.key != key:
            self._note(f"a report under epoch {progress.epoch} was taken, which does not hold {key}")
            return
        for index in dict.fromkeys((*progress.begun, *progress.ended, *progress.parked)):
            if index not in held.open:
                self._note(f"a report of [{index}] was taken, which is not part of {held}")
            held.next = max(held.next, index + 1)
        held.open -= {*progress.ended, *progress.parked}
        held.slots -= len(progress.parked)
        if not held.open or held.slots <= 0:
            self._drop(held)

    def _carry_out(self, execution_id: str, effect: Effect) -> None:
        match effect:
            case EndAll():
                for key in [key for key in self._by_key if key[0] == execution_id]:
                    self._drop_all(self._of(key))
            case EndWork(run, path):
                over = [key for key in self._by_key if _is_inside(key, execution_id, run, path)]
                for key in over:
                    self._drop_all(self._of(key))
            case StopWork(run, path, started):
                for held in self._of((execution_id, (run, path))):
                    held.open = {index for index in held.open if index < held.next or index in started}
                    if not held.open:
                        self._drop(held)
            case _:
                return

    def _of(self, key: Key) -> list[Held]:
        return list(self._by_key.get(key, {}).values())

    def _drop_all(self, over: Iterable[Held]) -> None:
        for held in over:
            self._drop(held)

    def _drop(self, held: Held | None) -> None:
        if held is None:
            return
        self._held.pop(held.epoch, None)
        own = self._by_key.get(held.key, {})
        own.pop(held.epoch, None)
        if not own:
            self._by_key.pop(held.key, None)


def _is_inside(key: Key, execution_id: str, run: str, path: tuple[int, ...]) -> bool:
    return key[0] == execution_id and key[1][0] == run and key[1][1][: len(path)] == path
