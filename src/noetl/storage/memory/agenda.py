"""Timers and messages of all executions. An id is drawn for each and never comes again."""

import heapq
from collections.abc import Sequence
from itertools import islice

from noetl.engine.effects import CancelChild, ClearTimers, SetTimer, StartChild, TellParent
from noetl.engine.worklist import is_cleared
from noetl.ports import Message, Timer

AgendaEffect = SetTimer | ClearTimers | StartChild | CancelChild | TellParent


class Agenda:
    """`_due` may still name timers that are gone; they are left out when it is read."""

    def __init__(self) -> None:
        self._last_id = 0
        self._timers: dict[str, dict[int, Timer]] = {}
        self._owners: dict[int, str] = {}
        self._due: list[tuple[float, int]] = []
        self._messages: dict[int, Message] = {}

    def carry_out(self, name: str, effect: AgendaEffect) -> None:
        match effect:
            case SetTimer():
                self._set(name, effect)
            case ClearTimers():
                own = self._timers.get(name, {})
                for over in [id_ for id_, held in own.items() if is_cleared(held.timer, effect)]:
                    self.answer(over)
            case _:
                self._last_id += 1
                self._messages[self._last_id] = Message(self._last_id, name, effect.execution_id, effect)

    def answer(self, id_: int) -> None:
        """A timer or a message is done with; one that was gone before is no matter."""
        self._messages.pop(id_, None)
        owner = self._owners.pop(id_, None)
        if owner is not None:
            del self._timers[owner][id_]

    def clear(self, name: str) -> None:
        """The execution has ended: none of its timers is left. What it said to others is still delivered."""
        for id_ in self._timers.pop(name, {}):
            del self._owners[id_]

    def due(self, now: float, limit: int) -> tuple[Sequence[Timer], float | None]:
        found: list[tuple[float, int]] = []
        while self._due and self._due[0][0] <= now and len(found) < limit:
            first = heapq.heappop(self._due)
            if first[1] in self._owners:
                found.append(first)
        while self._due and self._due[0][1] not in self._owners:
            heapq.heappop(self._due)
        rest = self._due[0][0] - now if self._due else None
        for each in found:
            heapq.heappush(self._due, each)
        return [self._timers[self._owners[id_]][id_] for _, id_ in found], rest

    def waiting(self, after: int, limit: int) -> Sequence[Message]:
        return tuple(islice((each for id_, each in self._messages.items() if id_ > after), limit))

    def timers_of(self, name: str) -> Sequence[SetTimer]:
        return [held.timer for held in self._timers.get(name, {}).values()]

    def children_of(self, name: str) -> set[str]:
        """Child executions to which a start, or from which an answer, is on its way."""
        messages = self._messages.values()
        starting = {each.execution_id for each in messages if each.sender == name and isinstance(each.body, StartChild)}
        return starting | {each.sender for each in messages if each.execution_id == name}

    def _set(self, name: str, effect: SetTimer) -> None:
        """A timer that is set again replaces itself."""
        own = self._timers.get(name, {})
        for old in [id_ for id_, held in own.items() if held.timer.timer_id == effect.timer_id]:
            self.answer(old)
        self._last_id += 1
        self._timers.setdefault(name, {})[self._last_id] = Timer(self._last_id, name, effect)
        self._owners[self._last_id] = name
        heapq.heappush(self._due, (effect.due_at, self._last_id))
