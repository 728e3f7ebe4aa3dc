import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from noetl.ports import Busy, Unavailable
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Calm, Carriage, Network, Service


class Given(Calm):
    """Weather by hand: the journeys and services that come next, then calm."""

    def __init__(self, journeys: Sequence[Sequence[float]] = (), services: Sequence[Service] = ()) -> None:
        super().__init__()
        self._journeys = list(journeys)
        self._services = list(services)
        self.resets = True

    def journey(self, carriage: Carriage) -> Sequence[float]:
        return self._journeys.pop(0) if self._journeys else super().journey(carriage)

    def service(self, carriage: Carriage) -> Service:
        return self._services.pop(0) if self._services else super().service(carriage)

    def is_reset_at_death(self) -> bool:
        return self.resets


class Desk:
    """A service that remembers what it was asked."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.asked: list[object] = []
        self.by: list[str] = []

    async def note(self, thing: object) -> object:
        self.asked.append(thing)
        self.by.append(self._loop.current.name)
        return thing

    async def wait(self, seconds: float) -> str:
        await asyncio.sleep(seconds)
        self.asked.append(seconds)
        return "waited"

    async def refuse(self) -> None:
        raise Busy(3.0)

    async def fail(self) -> None:
        raise ValueError("a bug")


class Scene:
    def __init__(self, loop: SimulatedLoop, weather: Given) -> None:
        self.loop = loop
        self.network = Network(loop, weather)
        self.desk = Desk(loop)
        self.server = self.network.host("server", self.desk)

    async def ask(self, method: str, *arguments: object, timeout_s: float = 5.0) -> object:
        return await self.network.call("server", method, arguments, carriage=Carriage.MESSAGES, timeout_s=timeout_s)

    async def ask_in_vain(self, method: str, *arguments: object) -> str:
        with pytest.raises(Unavailable) as error:
            await self.ask(method, *arguments)
        return str(error.value)


def play(weather: Given, act: Callable[[Scene], Awaitable[None]], failures: int = 0) -> Sequence[str]:
    """Plays a scene with a worker; the trace is the answer."""

    async def worker(scene: Scene) -> None:
        await asyncio.sleep(1)
        await act(scene)

    async def main() -> None:
        actor = loop.spawn("worker", worker(Scene(loop, weather)))
        while actor.is_alive:
            await asyncio.sleep(1)

    with SimulatedLoop(1) as loop:
        loop.run(main())
        assert len(loop.failures()) == failures, loop.failures()
        return loop.trace


def test_a_call_is_served_by_the_callee_and_answered_later() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask("note", ("a", {"b": [1]})) == ("a", {"b": [1]})
        assert scene.desk.by == ["server"]
        assert scene.loop.current.name == "worker"
        assert scene.loop.time() == pytest.approx(1.002)

    said = play(Given(), act)
    assert said[:2] == ["1.000000 worker: asks server note #1", "1.001000 server: takes note #1 of worker"]


def test_no_memory_is_shared() -> None:
    async def act(scene: Scene) -> None:
        sent = {"list": [1]}
        answer = await scene.ask("note", sent)
        (got,) = scene.desk.asked
        assert got == answer == sent
        assert len({id(got), id(answer), id(sent)}) == 3

    assert play(Given(), act)


def test_what_is_sent_is_what_it_was_when_it_was_sent() -> None:
    async def act(scene: Scene) -> None:
        sent = [1]
        call = asyncio.create_task(scene.ask("note", sent))
        await asyncio.sleep(0.0005)
        sent.append(2)
        assert await call == [1]

    assert play(Given(), act)


def test_a_lost_request_never_happens_and_the_caller_gives_up() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask_in_vain("note", 1) == "server: no answer in time"
        assert scene.loop.time() == 6
        assert scene.desk.asked == []

    assert "1.000000 worker: note #1 to server is lost" in play(Given([()]), act)


def test_a_lost_answer_leaves_the_caller_in_the_dark() -> None:
    async def act(scene: Scene) -> None:
        await scene.ask_in_vain("note", 1)
        assert scene.desk.asked == [1]

    assert "1.001000 server: note #1 to worker is lost" in play(Given([(0.001,), ()]), act)


def test_a_doubled_request_happens_twice_and_is_answered_once() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask("note", 1) == 1
        await asyncio.sleep(1)
        assert scene.desk.asked == [1, 1]

    assert "1.000000 worker: note #1 to server is doubled" in play(Given([(0.001, 0.2)]), act)


def test_requests_overtake_each_other() -> None:
    async def act(scene: Scene) -> None:
        first = asyncio.create_task(scene.ask("note", "first"))
        await asyncio.sleep(0.01)
        await scene.ask("note", "second")
        await first
        assert scene.desk.asked == ["second", "first"]

    assert play(Given([(0.5,), (0.1,)]), act)


def test_an_answer_that_comes_too_late_is_ignored() -> None:
    async def act(scene: Scene) -> None:
        await scene.ask_in_vain("wait", 10)
        await asyncio.sleep(10)
        assert scene.desk.asked == [10]

    assert play(Given(), act)


def test_a_call_to_nobody_fails() -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(Unavailable, match="nobody is there"):
            await scene.network.call("nobody", "note", (), carriage=Carriage.MESSAGES, timeout_s=5)

    assert play(Given(), act)


def test_a_call_to_a_crashed_callee_fails_until_it_lives_again() -> None:
    async def act(scene: Scene) -> None:
        scene.loop.crash(scene.server)
        assert await scene.ask_in_vain("note", 1) == "server: nobody is there"
        scene.network.host("server", scene.desk)
        assert await scene.ask("note", 2) == 2

    assert play(Given(), act)


def test_work_dies_with_the_callee_and_the_caller_may_notice() -> None:
    async def act(scene: Scene) -> None:
        call = asyncio.create_task(scene.ask_in_vain("wait", 3))
        await asyncio.sleep(1)
        scene.loop.crash(scene.server)
        assert await call == "server: connection reset"
        assert scene.loop.time() == 2
        await asyncio.sleep(5)
        assert scene.desk.asked == []

    assert play(Given(), act)


def test_work_dies_with_the_callee_and_the_caller_may_have_to_wait() -> None:
    weather = Given()
    weather.resets = False

    async def act(scene: Scene) -> None:
        call = asyncio.create_task(scene.ask_in_vain("wait", 3))
        await asyncio.sleep(1)
        scene.loop.crash(scene.server)
        assert await call == "server: no answer in time"

    assert play(weather, act)


def test_work_goes_on_when_the_caller_dies() -> None:
    with SimulatedLoop(1) as loop:
        scene = Scene(loop, Given())

        async def main() -> None:
            worker = loop.spawn("worker", ask())
            await asyncio.sleep(2)
            loop.crash(worker)
            await asyncio.sleep(10)

        async def ask() -> None:
            await scene.ask("wait", 3)

        loop.run(main())
        assert scene.desk.asked == [3]
        assert scene.network._open == {}


def test_a_refused_call_does_not_happen() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask_in_vain("note", 1) == "server: refused"
        assert scene.desk.asked == []

    assert play(Given(services=[Service.REFUSED]), act)


def test_a_forgotten_call_happens_and_fails() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask_in_vain("note", 1) == "server lost track"
        assert scene.desk.asked == [1]

    assert play(Given(services=[Service.FORGOTTEN]), act)


def test_a_busy_callee_says_when_to_come_again() -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(Busy) as busy:
            await scene.ask("refuse")
        assert busy.value.retry_after_s == 3.0

    assert play(Given(), act)


def test_a_bug_of_the_callee_is_a_failure_of_the_run() -> None:
    async def act(scene: Scene) -> None:
        assert await scene.ask_in_vain("fail") == "server failed"

    said = play(Given(), act, failures=1)
    assert "1.001000 server: failure: server failed at fail #1: ValueError('a bug')" in said


def test_parted_actors_do_not_hear_each_other_for_a_while() -> None:
    async def act(scene: Scene) -> None:
        scene.network.cut("worker", "server", 7)
        scene.network.cut("server", "worker", 1)
        await scene.ask_in_vain("note", 1)
        await asyncio.sleep(2)
        assert await scene.ask("note", 2) == 2
        assert scene.desk.asked == [2]

    assert "1.000000 worker: note #1 to server meets a cut line" in play(Given(), act)


def test_a_frozen_callee_answers_when_it_thaws() -> None:
    async def act(scene: Scene) -> None:
        scene.loop.freeze(scene.server, 3)
        assert await scene.ask("note", 1) == 1
        assert scene.loop.time() == pytest.approx(4.001)

    assert play(Given(), act)


def test_a_caller_that_turns_away_leaves_nothing_behind() -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await scene.ask("wait", 3)
        assert scene.network._open == {}
        await asyncio.sleep(5)
        assert scene.desk.asked == [3]

    assert play(Given(), act)
