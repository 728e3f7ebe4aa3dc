"""Numbers that are drawn once and never again: epochs of leases, ids of timers and messages, places in the queue."""

import msgspec

from noetl.storage.sqlite.session import Session


class _Drawn(msgspec.Struct, frozen=True, array_like=True):
    epoch: int = 0
    number: int = 0
    place: int = 0


class Counters:
    """A transaction that is rolled back leaves no trace of its numbers: nobody was told of them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved: _Drawn | None = None
        self.epoch = self.number = self.place = 0

    def load(self) -> None:
        if self._saved is None:
            self._saved = self._session.first("load_counters", _Drawn) or _Drawn()
            self.epoch, self.number, self.place = self._saved.epoch, self._saved.number, self._saved.place

    def draw_epoch(self) -> int:
        self.epoch += 1
        return self.epoch

    def draw_number(self) -> int:
        self.number += 1
        return self.number

    def draw_place(self) -> int:
        self.place += 1
        return self.place

    def flush(self) -> None:
        drawn = _Drawn(self.epoch, self.number, self.place)
        if self._saved is not None and drawn != self._saved:
            self._session.run("save_counters", drawn.epoch, drawn.number, drawn.place)
            self._saved = drawn

    def forget(self) -> None:
        self._saved = None
