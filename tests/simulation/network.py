"""Calls between actors as pairs of messages that may be lost, doubled, late or overtaken.

The one who is called works as the callee's actor and dies with it; the caller waits as its own. What travels is
written and read again, so actors share no memory.
"""

import asyncio
import pickle
import random
from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol

from noetl.ports import Busy, Unavailable
from tests.simulation.actors import Actor
from tests.simulation.loop import SimulatedLoop


class Carriage(Enum):
    """What carries a call: loose messages between processes, or a session with a database."""

    MESSAGES = auto()
    SESSION = auto()


class Service(Enum):
    """What becomes of a call that arrived."""

    GIVEN = auto()
    REFUSED = auto()
    """Nothing happens."""
    FORGOTTEN = auto()
    """It happens, and the caller is told that nobody knows."""


class Weather(Protocol):
    """What becomes of messages and calls. See `faults`."""

    def journey(self, carriage: Carriage) -> Sequence[float]:
        """In how many seconds each copy arrives; no copy is a lost message."""

    def service(self, carriage: Carriage) -> Service: ...

    def is_reset_at_death(self) -> bool:
        """Whether a caller notices that the callee died; otherwise it waits for its timeout."""


class Calm:
    """Every message arrives once, after a moment."""

    def __init__(self, latency_s: float = 0.001) -> None:
        self._journey = (latency_s,)

    def journey(self, carriage: Carriage) -> Sequence[float]:  # noqa: ARG002
        return self._journey

    def service(self, carriage: Carriage) -> Service:  # noqa: ARG002
        return Service.GIVEN

    def is_reset_at_death(self) -> bool:
        return False


class Call:
    __slots__ = ("number", "source", "target", "method", "carriage", "request", "answer")

    def __init__(self, number: int, source: Actor, target: str, method: str, carriage: Carriage) -> None:
        self.number = number
        self.source = source
        self.target = target
        self.method = method
        self.carriage = carriage
        self.request = b""
        self.answer: asyncio.Future[bytes]

    def __str__(self) -> str:
        return f"{self.method} #{self.number}"


class Network:
    """All the lines between actors. `cut` parts two of them for a while."""

    def __init__(self, loop: SimulatedLoop, weather: Weather) -> None:
        self._loop = loop
        self._weather = weather
        self._random = random.Random(f"{loop.seed}/network")
        self._hosts: dict[str, tuple[Actor, object]] = {}
        self._cuts: dict[frozenset[str], float] = {}
        self._open: dict[int, Call] = {}
        self._calls = 0
        loop.mourners.append(self._mourn)

    def serve(self, service: object) -> None:
        """The actor that runs now answers calls to its name from now on, until it dies."""
        self._hosts[self._loop.current.name] = (self._loop.current, service)

    def host(self, name: str, service: object) -> Actor:
        """An actor that does nothing but answer, such as a database."""
        return self._loop.spawn(name, self._serve_forever(service))

    async def _serve_forever(self, service: object) -> None:
        self.serve(service)
        await self._loop.create_future()

    def choose(self, targets: Sequence[str]) -> str:
        return targets[int(self._random.random() * len(targets))]

    def cut(self, one: str, other: str, seconds: float) -> None:
        """No message between the two is sent on its way for so long."""
        self._loop.say(f"{one} and {other} are parted for {seconds:g} s")
        pair = frozenset((one, other))
        self._cuts[pair] = max(self._cuts.get(pair, 0.0), self._loop.time() + seconds)

    async def call(
        self, target: str, method: str, arguments: tuple[object, ...], *, carriage: Carriage, timeout_s: float
    ) -> object:
        """The answer, or `Unavailable`; then it may have happened or not, and more than once."""
        call = self._begin(target, method, arguments, carriage)
        timer = self._loop.call_later(
            timeout_s, self._give_up, call, "no answer in time", context=self._loop.world.context
        )
        try:
            return pickle.loads(await call.answer)
        finally:
            timer.cancel()
            self._open.pop(call.number, None)
            if call.answer.done() and not call.answer.cancelled():
                call.answer.exception()  # whoever was cancelled in the same moment never looked at it

    def _begin(self, target: str, method: str, arguments: tuple[object, ...], carriage: Carriage) -> Call:
        self._calls += 1
        call = Call(self._calls, self._loop.current, target, method, carriage)
        call.request = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)
        call.answer = self._loop.create_future()
        self._open[call.number] = call
        self._loop.say(f"asks {target} {call}")
        for delay_s in self._journey(call, call.source.name, target):
            self._loop.call_later(delay_s, self._arrive, call, context=self._loop.world.context)
        return call

    def _journey(self, call: Call, source: str, target: str) -> Sequence[float]:
        if self._cuts and self._cuts.get(frozenset((source, target)), 0.0) > self._loop.time():
            self._loop.say(f"{call} to {target} meets a cut line")
            return ()
        delays = self._weather.journey(call.carriage)
        if len(delays) != 1:
            self._loop.say(f"{call} to {target} is {'doubled' if delays else 'lost'}")
        return delays

    def _arrive(self, call: Call) -> None:
        actor, service = self._hosts.get(call.target, (None, None))
        if actor is None or not actor.is_alive:
            self._give_up(call, "nobody is there")
            return
        match self._weather.service(call.carriage):
            case Service.REFUSED:
                self._give_up(call, "refused")
            case fate:
                self._loop.start(actor, self._work(service, call, fate))

    async def _work(self, service: object, call: Call, fate: Service) -> None:
        """Runs as the callee."""
        self._loop.say(f"takes {call} of {call.source.name}")
        answer = await self._answer(service, call)
        if fate is Service.FORGOTTEN:
            self._loop.say(f"{call} is done and the answer forgotten")
            answer = Unavailable(f"{call.target} lost track")
        if not self._loop.current.is_alive:
            return
        for delay_s in self._journey(call, call.target, call.source.name):
            self._loop.call_later(delay_s, self._deliver, call, answer, context=self._loop.world.context)

    async def _answer(self, service: object, call: Call) -> bytes | Unavailable:
        try:
            answer = await getattr(service, call.method)(*pickle.loads(call.request))
            return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        except Busy as busy:
            return Busy(busy.retry_after_s)
        except (Unavailable, asyncio.CancelledError) as error:
            return Unavailable(f"{call.target}: {error}")
        except Exception as error:  # noqa: BLE001 - a bug of the callee: noted, and to the caller a failed call
            self._loop.fail(f"{call.target} failed at {call}: {error!r}", error)
            return Unavailable(f"{call.target} failed")

    def _deliver(self, call: Call, answer: bytes | Unavailable) -> None:
        if call.answer.done() or not call.source.is_alive:
            return
        if isinstance(answer, bytes):
            call.answer.set_result(answer)
        else:
            call.answer.set_exception(answer)

    def _give_up(self, call: Call, reason: str) -> None:
        if not call.answer.done() and call.source.is_alive:
            self._loop.say(f"{call.source.name} gives up {call}: {reason}")
            call.answer.set_exception(Unavailable(f"{call.target}: {reason}"))

    def _mourn(self, dead: Actor) -> None:
        """Those who wait for the dead may see their connection break; what the dead wait for is forgotten."""
        for call in list(self._open.values()):
            if call.source is dead:
                del self._open[call.number]
            elif call.target == dead.name and self._weather.is_reset_at_death():
                self._give_up(call, "connection reset")
