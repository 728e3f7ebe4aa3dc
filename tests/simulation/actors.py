"""Actors: the processes of a simulation. Every callback belongs to one, through the context it runs in."""

import asyncio
import contextvars
from collections.abc import Callable
from enum import Enum, auto

TASKS_KEPT_MIN = 64


class Condition(Enum):
    RUNNING = auto()
    FROZEN = auto()
    """Alive, but none of its callbacks runs until it thaws."""
    DEAD = auto()


class Actor:
    """One life of a process. After a crash the next life under the same name is another actor.

    It keeps its tasks: a coroutine that nobody holds is closed by the interpreter, and its `finally` would run.
    """

    __slots__ = ("name", "life", "condition", "context", "callbacks", "held", "tasks", "_prune_at")

    def __init__(self, name: str, life: int) -> None:
        self.name = name
        self.life = life
        self.condition = Condition.RUNNING
        self.context = contextvars.Context()
        self.context.run(ACTOR.set, self)
        self.callbacks = 0
        self.held: list[Callback] = []
        """Callbacks that wait for the thaw."""
        self.tasks: list[SimulatedTask] = []
        self._prune_at = TASKS_KEPT_MIN

    @property
    def is_alive(self) -> bool:
        return self.condition is not Condition.DEAD

    def keep(self, task: "SimulatedTask") -> None:
        """Tasks that are over are let go now and then, unless someone has yet to look at their exception."""
        self.tasks.append(task)
        if len(self.tasks) >= self._prune_at and self.is_alive:
            self.tasks = [task for task in self.tasks if not task.done() or has_unseen_exception(task)]
            self._prune_at = max(TASKS_KEPT_MIN, 2 * len(self.tasks))


ACTOR: contextvars.ContextVar[Actor] = contextvars.ContextVar("actor")


class SimulatedTask(asyncio.Task[object]):
    """A task with a hash of its own: asyncio keeps tasks in sets, whose order must not depend on addresses."""

    __slots__ = ("number",)
    number: int

    def __hash__(self) -> int:
        return self.number


class SimulatedFuture(asyncio.Future[object]):
    """A future whose hash is the number of those hashed before it."""

    __slots__ = ("number",)
    number: int

    def __hash__(self) -> int:
        try:
            return self.number
        except AttributeError:
            loop = self.get_loop()
            assert isinstance(loop, Numbering)
            self.number = loop.next_number()
            return self.number


class Numbering:
    """Gives out numbers, each once."""

    _number = 0

    def next_number(self) -> int:
        self._number += 1
        return self._number


class Callback(asyncio.TimerHandle):
    """What runs once: soon, or `at` a moment. asyncio's own handle is made for loops that debug, and costs more."""

    __slots__ = ("actor", "function", "arguments", "context", "at", "is_cancelled", "on_cancel")

    def __init__(
        self,
        actor: "Actor",
        function: Callable[..., object],
        arguments: tuple[object, ...],
        context: contextvars.Context,
        at: float,
    ) -> None:
        self.actor = actor
        self.function = function
        self.arguments = arguments
        self.context = context
        self.at = at
        self.is_cancelled = False
        self.on_cancel: Callable[[], None] | None = None

    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            self.arguments = ()
            if self.on_cancel is not None:
                self.on_cancel()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.at


def has_unseen_exception(task: SimulatedTask) -> bool:
    return bool(getattr(task, "_log_traceback"))  # noqa: B009 - the type stubs do not know it


def where(task: SimulatedTask) -> str:
    """Where a suspended task waits, the innermost call first."""
    places: list[str] = []
    awaited: object = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None)
        if frame is not None:
            file = frame.f_code.co_filename.rpartition("/")[2]
            places.append(f"{frame.f_code.co_name} ({file}:{frame.f_lineno})")
        awaited = getattr(awaited, "cr_await", None)
    return " < ".join(reversed(places)) or "not begun"
