"""Timers and messages as one transaction sees and changes them."""

from collections.abc import Sequence

from noetl.engine.commands import Continue, EndWait
from noetl.engine.effects import CancelChild, ClearTimers, SetTimer, StartChild, TellParent
from noetl.engine.worklist import is_cleared
from noetl.ports import Append, Message, Timer
from noetl.storage.sqlite.counters import Counters
from noetl.storage.sqlite.records import NameRow, TimerRow, encode_record, path_text
from noetl.storage.sqlite.session import Session, Value, as_list

AgendaEffect = SetTimer | ClearTimers | StartChild | CancelChild | TellParent


class Agenda:
    """`_known` are the timers that the appends of this transaction may touch, `_new` those it sets itself.

    Most executions have none: `_timed` are those that may, so that nothing is asked about the others.
    """

    def __init__(self, session: Session, counters: Counters) -> None:
        self._session = session
        self._counters = counters
        self._timed: set[str] = set()
        self._known: dict[str, dict[int, Timer]] = {}
        self._new: dict[int, Timer] = {}
        self._messages: list[Message] = []
        self._done: list[int] = []
        self._over: list[int] = []
        self._ended: list[str] = []

    def load(self, names: Sequence[str]) -> None:
        self._timed.update(each.execution_id for each in self._session.all("load_timed", NameRow, as_list(names)))

    def load_timers(self, appends: Sequence[Append]) -> None:
        """The timers that these appends replace or clear."""
        timed = [append for append in appends if append.execution_id in self._timed]
        if not timed:
            return
        self.flush()
        pairs = [(append.execution_id, effect) for append in timed for effect in append.effects]
        named = [(name, effect.timer_id) for name, effect in pairs if isinstance(effect, SetTimer)]
        under = [
            (name, effect.step_run_id, path_text(effect.path))
            for name, effect in pairs
            if isinstance(effect, ClearTimers)
        ]
        found = self._session.all("timers_named", TimerRow, as_list(named)) if named else []
        found += self._session.all("timers_under", TimerRow, as_list(under)) if under else []
        for each in found:
            self._known.setdefault(each.execution_id, {})[each.id] = each.timer

    def carry_out(self, name: str, effect: AgendaEffect) -> None:
        match effect:
            case SetTimer():
                self._set(name, effect)
            case ClearTimers():
                own = self._known.get(name, {})
                for over in [id_ for id_, held in own.items() if is_cleared(held.timer, effect)]:
                    self._end(name, over)
            case _:
                self._messages.append(Message(self._counters.draw_number(), name, effect.execution_id, effect))

    def answer(self, done: Sequence[int]) -> None:
        """Timers or messages are done with; those that were gone before are no matter."""
        self._done += done
        for id_ in done:
            for own in self._known.values():
                own.pop(id_, None)

    def clear(self, name: str) -> None:
        """The execution has ended: none of its timers is left. What it said to others is still delivered."""
        for id_ in self._known.pop(name, {}):
            self._new.pop(id_, None)
        if name in self._timed:
            self._ended.append(name)

    def _set(self, name: str, effect: SetTimer) -> None:
        """A timer that is set again replaces itself."""
        own = self._known.setdefault(name, {})
        for old in [id_ for id_, held in own.items() if held.timer.timer_id == effect.timer_id]:
            self._end(name, old)
        self._timed.add(name)
        timer = Timer(self._counters.draw_number(), name, effect)
        own[timer.id] = self._new[timer.id] = timer

    def _end(self, name: str, id_: int) -> None:
        del self._known[name][id_]
        if self._new.pop(id_, None) is None:
            self._over.append(id_)

    # ------------------------------------------------------------------------------ the tables

    def flush(self) -> None:
        """What goes, goes first: a timer that is set again has the name of the one it replaces."""
        if self._ended:
            self._session.run("delete_timers_of", as_list(self._ended))
        if self._over or self._done:
            self._session.run("delete_timers", as_list([*self._over, *self._done]))
        if self._done:
            self._session.run("delete_messages", as_list(self._done))
        self._session.write("insert_timers", [_timer_values(timer) for timer in self._new.values()])
        self._session.write("insert_messages", [_message_values(message) for message in self._messages])
        for each in (self._ended, self._over, self._done, self._messages):
            each.clear()
        self._new.clear()

    def end(self) -> None:
        """After the transaction."""
        self._known.clear()

    def forget(self) -> None:
        for each in (self._ended, self._over, self._done, self._messages):
            each.clear()
        for held in (self._new, self._known, self._timed):
            held.clear()


def _timer_values(timer: Timer) -> tuple[Value, ...]:
    command = timer.timer.command
    run = None if isinstance(command, Continue) else command.step_run_id
    path = path_text(command.path) if isinstance(command, EndWait) else ""
    kind, data = type(command).__name__, encode_record(command)
    return timer.id, timer.execution_id, timer.timer.timer_id, run, path, timer.timer.due_at, kind, data


def _message_values(message: Message) -> tuple[Value, ...]:
    body = message.body
    return message.id, message.sender, message.execution_id, type(body).__name__, encode_record(body)
