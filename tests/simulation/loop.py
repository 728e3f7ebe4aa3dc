"""An event loop without time, threads or chance of its own: a seed decides which callback runs next.

Time is virtual: it jumps to the next timer when nothing is ready. Real coroutines run on it unmodified.
One seed gives one run, in every process and on every machine.
"""

import asyncio
import contextvars
import heapq
import random
import sys
import zlib
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar, TypeVarTuple, Unpack, cast

from tests.simulation.actors import (
    ACTOR,
    Actor,
    Callback,
    Condition,
    Numbering,
    SimulatedFuture,
    SimulatedTask,
    has_unseen_exception,
    where,
)
from tests.simulation.disposal import dispose

CALLBACKS_MAX = 1_000_000
WAITING_TOLD_MAX = 40
CANCELLED_TIMERS_MIN = 200

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Hook = Callable[[Actor], None]


class Idle(Exception):
    """Nothing is ready and no timer is set, yet the simulation is not over."""


class TooLong(Exception):
    """More callbacks ran than the simulation may take."""


class SimulatedLoop(asyncio.BaseEventLoop, Numbering):
    """`before` is called with the actor before each of its callbacks, and may crash or freeze it there.

    `mourners` are told of every actor that dies. What happens outside all actors belongs to `world`.
    """

    _is_running = False

    def __init__(self, seed: int | str, *, callbacks_max: int = CALLBACKS_MAX) -> None:
        super().__init__()
        self.seed = seed
        self.callbacks = 0
        self.world = Actor("world", 1)
        self.current = self.world
        self.before: Hook | None = None
        self.mourners: list[Hook] = []
        self._callbacks_max = callbacks_max
        self._chance = random.Random(f"{seed}/order")
        self._time = 0.0
        self._runnable: list[Callback] = []
        self._timers: list[tuple[float, int, Callback]] = []
        self._cancelled_timers = 0
        self._actors: dict[str, Actor] = {}
        self._lives: list[Actor] = [self.world]
        self._failures: list[str] = []
        self._lines: list[tuple[float, str, str]] = []
        self._is_over = False

    # -------------------------------------------------------------------------- running

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Runs `main` as the world to its end; what actors do then stands still until the next `run`."""
        task = self.start(self.world, main)
        with self._running():
            self._play(task)
        return task.result()

    def run_until_complete(self, future: Any) -> Any:
        with self._running():
            task = asyncio.ensure_future(future, loop=self)
            self._play(task)
        return task.result()

    def _play(self, until: "asyncio.Future[Any]") -> None:
        runnable, draw, world = self._runnable, self._chance.random, self.world
        is_over = until.done
        while not is_over():
            count = len(runnable)
            if count > 1:
                chosen = int(draw() * count)
                runnable[chosen], runnable[-1] = runnable[-1], runnable[chosen]
            elif not count:
                self._advance()
                continue
            callback = runnable.pop()
            if callback.is_cancelled:
                continue
            self.current = actor = callback.actor
            if self.before is not None and actor is not world and actor.condition is Condition.RUNNING:
                self.before(actor)
            if actor.condition is not Condition.RUNNING:
                self._set_aside(callback)
                continue
            self._count(actor)
            callback.context.run(callback.function, *callback.arguments)
        self.current = world

    def _count(self, actor: Actor) -> None:
        actor.callbacks += 1
        self.callbacks += 1
        if self.callbacks > self._callbacks_max:
            raise TooLong(self._who_is_busy())

    def _set_aside(self, callback: Callback) -> None:
        if callback.actor.condition is Condition.FROZEN:
            callback.actor.held.append(callback)

    def _advance(self) -> None:
        """Jumps to the next timer of a living actor; that of a dead one moves no clock."""
        timers = self._timers
        while timers and (timers[0][2].is_cancelled or timers[0][2].actor.condition is Condition.DEAD):
            heapq.heappop(timers)
        if not timers:
            raise Idle(self._who_waits())
        self._time = max(self._time, timers[0][0])
        while timers and timers[0][0] <= self._time:
            callback = heapq.heappop(timers)[2]
            callback.on_cancel = None
            if not callback.is_cancelled:
                self._runnable.append(callback)

    @contextmanager
    def _running(self) -> Iterator[None]:
        outer, hooks = _get_running_loop(), sys.get_asyncgen_hooks()
        _set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = False
            sys.set_asyncgen_hooks(*hooks)
            _set_running_loop(outer)

    def _close_generator(self, generator: AsyncGenerator[object, object]) -> None:
        if not self._is_over:
            self.create_task(generator.aclose())

    # -------------------------------------------------------------------------- actors

    def spawn(self, name: str, main: Coroutine[Any, Any, object]) -> Actor:
        """Begins a life: `main` runs as the actor, and the actor ends with it as a process does with its main."""
        earlier = self._actors.get(name)
        assert earlier is None or not earlier.is_alive, f'actor "{name}" is alive'
        actor = Actor(name, earlier.life + 1 if earlier else 1)
        self._actors[name] = actor
        self._lives.append(actor)
        task = self.start(actor, main)
        task.add_done_callback(lambda task: self._end(actor, task), context=self.world.context)
        return actor

    def start(self, actor: Actor, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Runs `work` as a task of that actor."""
        return self.create_task(work, context=actor.context.copy())

    def actor(self, name: str) -> Actor | None:
        """The latest life under that name."""
        return self._actors.get(name)

    def crash(self, actor: Actor) -> None:
        """As `kill -9`: no callback of it ever runs again, and no `finally` before the simulation is over."""
        if actor.is_alive:
            self._bury(actor, "crashes")

    def freeze(self, actor: Actor, seconds: float) -> None:
        """It stands still; what comes meanwhile waits. Then it goes on as if nothing had been."""
        if actor.condition is not Condition.RUNNING:
            return
        self.say(f"{actor.name} freezes for {seconds:g} s")
        actor.condition = Condition.FROZEN
        self.call_later(seconds, self._thaw, actor, context=self.world.context)

    def skip(self, seconds: float) -> None:
        """Time goes by and nobody notices, as when the whole machine sleeps: what was due meanwhile is due now."""
        self.say(f"everything sleeps for {seconds:g} s")
        self._time += seconds

    def _thaw(self, actor: Actor) -> None:
        if actor.condition is Condition.FROZEN:
            self.say(f"{actor.name} thaws")
            actor.condition = Condition.RUNNING
            self._runnable.extend(actor.held)
            actor.held = []

    def _end(self, actor: Actor, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(f"{actor.name} ended with {error!r}", error)
        if actor.is_alive:
            self._bury(actor, "ends")

    def _bury(self, actor: Actor, how: str) -> None:
        actor.condition = Condition.DEAD
        actor.held = []
        self.say(f"{actor.name} {how}")
        for mourn in self.mourners:
            mourn(actor)

    # -------------------------------------------------------------------------- what is told

    def say(self, text: str) -> None:
        """A line of the trace, by the actor that runs now."""
        if not self._is_over:
            self._lines.append((self._time, self.current.name, text))

    @property
    def trace(self) -> Sequence[str]:
        """Equal for equal seeds, byte for byte. The last line tells apart runs that said the same by luck."""
        said = [f"{time:.6f} {name}: {text}" for time, name, text in self._lines]
        return [*said, f"{self._time:.6f} after {self.callbacks} callbacks, chance {self._chance_left():08x}"]

    def _chance_left(self) -> int:
        return zlib.crc32(repr(self._chance.getstate()).encode())

    def fail(self, message: str, error: BaseException | None = None) -> None:
        """Something that no run may show, whoever looks at it later."""
        self.say(f"failure: {message}")
        self._failures.append(message if error is None else f"{message}{_last_place(error)}")

    @property
    def has_failed(self) -> bool:
        """Whether something was noted so far."""
        return bool(self._failures)

    def failures(self) -> Sequence[str]:
        """What was noted so far, and the exceptions that nobody looked at."""
        unseen = [
            f"{actor.name}/{task.get_name()} failed unseen: {_told(task)}"
            for actor in self._lives
            for task in actor.tasks
            if task.done() and has_unseen_exception(task)
        ]
        return [*self._failures, *unseen]

    def waiting(self) -> Sequence[str]:
        """Who waits for what: a line for each task of the living, in the order of their birth."""
        return [
            f"{actor.name}/{task.get_name()} waits in {where(task)}"
            for actor in self._lives
            if actor.is_alive
            for task in actor.tasks
            if not task.done()
        ]

    def _who_waits(self) -> str:
        lines = self.waiting()
        more = [f"… and {len(lines) - WAITING_TOLD_MAX} more"] if len(lines) > WAITING_TOLD_MAX else []
        told = "\n  ".join([*lines[:WAITING_TOLD_MAX], *more])
        return f"at {self._time:g} s nothing is ready and no timer is set; seed {self.seed}\n  {told}"

    def _who_is_busy(self) -> str:
        counts = sorted(((actor.callbacks, actor.name) for actor in self._lives), reverse=True)
        busy = ", ".join(f"{name} {count}" for count, name in counts[:5])
        return f"{self._callbacks_max} callbacks by {self._time:g} s, seed {self.seed}; most of them: {busy}"

    # -------------------------------------------------------------------------- asyncio's side

    def time(self) -> float:
        return self._time

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        handle = Callback(context.get(ACTOR, self.world), callback, args, context, self._time)
        self._runnable.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        handle = Callback(context.get(ACTOR, self.world), callback, args, context, when)
        if when <= self._time:
            self._runnable.append(handle)
            return handle
        handle.on_cancel = self._drop_cancelled
        heapq.heappush(self._timers, (when, self.next_number(), handle))
        return handle

    def _drop_cancelled(self) -> None:
        """Timeouts of calls that were answered must not pile up until their time."""
        self._cancelled_timers += 1
        if self._cancelled_timers > CANCELLED_TIMERS_MIN and 2 * self._cancelled_timers > len(self._timers):
            self._timers[:] = [timer for timer in self._timers if not timer[2].is_cancelled]
            heapq.heapify(self._timers)
            self._cancelled_timers = 0

    def create_future(self) -> "asyncio.Future[Any]":
        return SimulatedFuture(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[T]":
        context = contextvars.copy_context() if context is None else context
        actor = context.get(ACTOR, self.world)
        number = self.next_number()
        task = SimulatedTask.__new__(SimulatedTask)
        task.number = number
        task.__init__(coro, loop=self, name=name or number, context=context)  # type: ignore[misc]
        actor.keep(task)
        return cast("asyncio.Task[T]", task)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A future that nobody looked at may be that of a dead actor; what becomes of tasks is looked at apart."""
        if not self._is_over and type(context.get("future")) is not SimulatedFuture:
            self.fail(str(context.get("message")), context.get("exception"))

    def call_soon_threadsafe(self, *args: object, **options: object) -> NoReturn:  # noqa: ARG002
        raise RuntimeError("a simulation has no threads")

    def run_in_executor(self, *args: object, **options: object) -> NoReturn:  # noqa: ARG002
        raise RuntimeError("a simulation has no threads")

    def get_debug(self) -> bool:
        """Never, whatever the environment says: it would only cost time."""
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_over

    def close(self) -> None:
        """Ends the simulation. Only now, unseen and without effect, are the coroutines left over closed."""
        if self._is_over:
            return
        self._is_over = True
        for actor in self._lives:
            actor.condition = Condition.DEAD
        with self._running():
            dispose([actor.tasks for actor in self._lives])
        self._runnable.clear()
        self._timers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _told(task: "asyncio.Task[Any]") -> str:
    error = task.exception()
    assert error is not None
    return f"{error!r}{_last_place(error)}"


def _last_place(error: BaseException) -> str:
    at = error.__traceback__
    if at is None:
        return ""
    while at.tb_next is not None:
        at = at.tb_next
    return f" at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
