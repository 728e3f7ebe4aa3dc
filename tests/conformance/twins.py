"""The memory store and another one under the same commands: whatever one answers, the other must answer too."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from noetl.engine.commands import Continue, EndWait, ExpireStep
from noetl.engine.effects import (
    CancelChild,
    ClearTimers,
    Effect,
    EndAll,
    EndWork,
    OfferWork,
    SetTimer,
    StartChild,
    StopWork,
    TellParent,
)
from noetl.engine.events import Parent
from noetl.engine.holds import Hold
from noetl.engine.incidents import Incident, Kind
from noetl.engine.leases import Lease
from noetl.engine.output import Output
from noetl.engine.worklist import EVERY, Progress
from noetl.ports import Append, Appended, Ask, Expired, Granted, LogChunk, Registered, Summary
from tests.conformance import commands as c
from tests.conformance.commands import commands_of
from tests.conformance.homes import HandClock, Home, MemoryHome, Ports, SqliteHome

Call = Callable[[Ports], Awaitable[object]]

EXECUTIONS = ("e0", "e1", "e1.1")[: c.EXECUTIONS]
OBJECTS = ("aa1", "ab1", "ab2", "b01")
RUNS = tuple(f"{step}#1" for step in "abc"[: c.RUNS])


FAST = Path("/dev/shm")
"""Where writing to the disk costs nothing; what is lost with the machine does not matter here."""


class Differs(Exception):
    pass


def main() -> int:
    """`python -m tests.conformance.twins --seeds 1000 --from 0`"""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.seeds):
        if difference(commands_of(seed)) is not None:
            print(f"seed {seed}\n{shortest(commands_of(seed))}")
            return 1
    print(f"{options.seeds} seeds, no difference")
    return 0


def difference(commands: Sequence[c.Command]) -> str | None:
    """Where SQLite parts from memory."""
    with TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as folder:
        memory = MemoryHome()
        try:
            asyncio.run(drive(commands, memory, SqliteHome(Path(folder), memory.clock)))
        except Differs as found:
            return str(found)
    return None


def shortest(
    commands: Sequence[c.Command], is_wrong: Callable[[Sequence[c.Command]], bool] = lambda left: bool(difference(left))
) -> str:
    """The commands that are needed to show what is wrong, and what they show."""
    left = list(commands)
    for at in range(len(left) - 1, -1, -1):
        fewer = left[:at] + left[at + 1 :]
        left = fewer if is_wrong(fewer) else left
    return "\n".join([*map(repr, left), difference(left) or ""])


async def drive(commands: Sequence[c.Command], memory: MemoryHome, other: Home) -> None:
    """Both homes must share one clock."""
    async with memory.ports() as twin:
        world = _World(twin, memory.clock)
        at = 0
        while at < len(commands):
            async with other.ports() as ports:
                at = await world.play(commands, at, ports)
                await world.compare(ports)


class _World:
    """Arguments are made from what the memory store holds, before any of the writes that go together."""

    def __init__(self, twin: Ports, clock: HandClock) -> None:
        self._twin = twin
        self._clock = clock
        self._leases: list[Granted] = []
        self._written = 0

    async def play(self, commands: Sequence[c.Command], at: int, ports: Ports) -> int:
        for number, command in enumerate(commands[at:], at + 1):
            self._clock.pass_s(0.015625)
            match command:
                case c.Reopen():
                    return number
                case c.Pass(seconds):
                    self._clock.pass_s(seconds)
                case c.Together(writes):
                    await self._write([await self._call(write) for write in writes], ports)
        return len(commands)

    async def _write(self, calls: Sequence[Call], ports: Ports) -> None:
        expected = [await call(self._twin) for call in calls]
        found = await asyncio.gather(*(call(ports) for call in calls))
        for one, two in zip(expected, found, strict=True):
            if _plain(one) != _plain(two):
                raise Differs(f"memory:  {one}\nanother: {two}")
            self._leases.extend(_granted(one))

    async def compare(self, ports: Ports) -> None:
        looks = [*_looks(), *(look for name in EXECUTIONS for look in _looks_at(name))]
        for look in looks:
            one, two = await look(self._twin), await look(ports)
            if _plain(one) != _plain(two):
                raise Differs(f"memory:  {one}\nanother: {two}")

    # ------------------------------------------------------------------------------ commands to calls

    async def _call(self, write: c.Write) -> Call:
        match write:
            case c.Commit(parts):
                appends = [await self._append(part) for part in parts]
                return lambda ports: ports.store.commit(appends)
            case c.Claim(wish, limit):
                return lambda ports: ports.store.claim(_ask(wish), limit)
            case c.Renew(numbers, lease_s):
                held = self._known(numbers)
                return lambda ports: ports.store.renew(held, lease_s)
            case c.Release(numbers):
                held = self._known(numbers)
                return lambda ports: ports.store.release(held)
            case c.Expire():
                return lambda ports: ports.store.expire(1000)
            case _:
                return self._rare(write)

    def _rare(self, write: c.OpenIncident | c.CloseIncidents | c.Print | c.Register | c.Save | c.NextPart) -> Call:
        match write:
            case c.OpenIncident(execution, number):
                self._written += 1
                kind = tuple(Kind)[number % len(Kind)]
                incident = Incident(EXECUTIONS[execution], kind, f"{self._written}", float(self._written), RUNS[0])
                return lambda ports: ports.store.open([incident])
            case c.CloseIncidents(execution):
                return lambda ports: ports.store.close(EXECUTIONS[execution])
            case c.Print(execution, chunks):
                printed = [LogChunk(EXECUTIONS[execution], "t", number, 1.0, "stdout", "x") for number in range(chunks)]
                return lambda ports: ports.store.write_logs(printed)
            case c.Register(path, version, digest):
                playbook = Registered(f"p{path}", f"{version}", f"d{path}.{version}.{digest}", b"{}")
                return lambda ports: ports.catalog.register(playbook)
            case c.Save(execution, seq):
                return lambda ports: ports.store.save_snapshot(EXECUTIONS[execution], seq, b"%d" % seq)
            case c.NextPart(parts, every_s):
                return lambda ports: ports.store.next_part(parts, every_s)

    def _known(self, numbers: Sequence[int]) -> list[Granted]:
        """Of the leases of late, the last one first."""
        return [self._leases[-1 - number] for number in numbers if number < len(self._leases)]

    async def _append(self, part: c.Part) -> Append:
        name = EXECUTIONS[part.execution]
        head, rows = await self._twin.store.rows(name)
        ends = any(draw.kind in {"end", "end_all"} for draw in part.effects)
        events = [b"%d" % (head + number) for number in range(max(part.events, int(ends)))]
        woken = [] if part.behind else [each for draw in part.effects for each in _wake(draw, rows.work)]
        effects = [*woken, *(each for draw in part.effects for each in self._effect(draw))]
        held = [(granted, step) for step in part.steps for granted in self._known([step.lease])]
        steps = [_progress(granted, step.how, _current(granted, rows.work)) for granted, step in held]
        steps = [each for each, (granted, _) in zip(steps, held, strict=True) if granted.execution_id == name]
        summary = _summary(name, part.status, self._clock.now(), head) if part.status else None
        done = [id_ for number in part.done for id_ in await self._waiting(number)]
        asks = [_ask(wish) for wish in part.wishes]
        holds = [_hold(number, ttl_s, self._clock.now()) for number, ttl_s in part.holds]
        return Append(name, head - part.behind, events, effects, steps, done, asks, summary, holds)

    async def _waiting(self, number: int) -> list[int]:
        timers, _ = await self._twin.store.due(100)
        messages = await self._twin.store.messages(0, 100)
        ids = [*(each.id for each in timers), *(each.id for each in messages)]
        return ids[number : number + 1]

    def _effect(self, draw: c.Draw) -> Iterator[Effect]:
        run, path, now = RUNS[draw.run], draw.path, self._clock.now()
        other = EXECUTIONS[draw.number % len(EXECUTIONS)]
        match draw.kind:
            case "loop":
                pool = c.POOLS[0] if draw.flag else None
                local = path[:1] if draw.number == 4 else None
                yield OfferWork(run, path, 5, 1 + draw.number % 3, pool=pool, local=local)
            case "end":
                yield EndWork(run, path)
            case "stop":
                yield StopWork(run, path, (0, 1))
            case "set":
                command = EndWait(run, path, "t") if draw.flag else ExpireStep(run, "timeout")
                going_on = draw.number == 4
                yield SetTimer(f"t{draw.number}", now + draw.number - 2, Continue() if going_on else command)
            case "clear":
                yield ClearTimers(run, path)
            case "start":
                yield StartChild(other, "p", None, {"n": draw.number}, Parent(other, run, path, "t", 1))
            case "cancel":
                yield CancelChild(other)
            case "tell":
                yield TellParent(other, EndWait(run, path, "t", Output(data={"$noetl": draw.number})))
            case "end_all" if draw.flag:
                yield EndAll()


# ------------------------------------------------------------------------------ arguments


def _wake(draw: c.Draw, rows: object) -> Iterator[Effect]:
    """New work without iterations, or something that waits: these look at what is there, so they come first."""
    assert isinstance(rows, dict)
    run = RUNS[draw.run]
    if draw.kind == "task":
        yield OfferWork(run, pool=c.POOLS[1] if draw.flag else None)
    if draw.kind == "wake" and (run, draw.path) in rows:
        yield OfferWork(run, (*draw.path, draw.number))


def _hold(number: int, ttl_s: float | None, now: float) -> Hold:
    return Hold(OBJECTS[number], now + ttl_s if ttl_s is not None else None)


def _ask(wish: c.Wish) -> Ask:
    return Ask(wish.worker, wish.slots, 10.0, wish.indexes_max, wish.pools, wish.within)


def _current(granted: Granted, rows: object) -> Lease:
    assert isinstance(rows, dict)
    work = rows.get(granted.row)
    return (work.lease(granted.lease.epoch) if work is not None else None) or granted.lease


def _progress(granted: Granted, how: str, lease: Lease) -> Progress:
    row, epoch = granted.row, lease.epoch
    running = tuple(sorted(lease.running))[:1]
    match how:
        case "begin":
            return Progress(row, epoch, (lease.next,))
        case "finish":
            return Progress(row, epoch, (lease.next,), (lease.next,))
        case "end":
            return Progress(row, epoch, running, running)
        case "park":
            return Progress(row, epoch, running, (), running)
        case _:
            return Progress(row, epoch, (lease.stop,))


def _summary(name: str, status: str, now: float, head: int) -> Summary:
    parent = Parent(name.partition(".")[0], RUNS[0], (), "t", 1) if "." in name else None
    return Summary(name, "p", "d", status, 1.0, now, head, parent)


# ------------------------------------------------------------------------------ answers


def _looks() -> Iterator[Call]:
    yield lambda ports: ports.store.due(2)
    yield lambda ports: ports.store.due(100)
    yield lambda ports: ports.store.messages(0, 100)
    yield lambda ports: ports.store.messages(3, 2)
    yield lambda ports: ports.store.live("", 100)
    yield lambda ports: ports.store.live("e0", 1)
    yield lambda ports: ports.store.recent("", 100)
    yield lambda ports: ports.store.recent("e1.1", 1)
    yield lambda ports: ports.store.below("e0", "", 100)
    yield lambda ports: ports.store.below("e1", "e1.0", 1)
    yield lambda ports: ports.store.incidents_within(EVERY, 100)
    yield lambda ports: ports.store.held("")
    yield lambda ports: ports.store.held("ab")
    for number in range(5):
        yield lambda ports, path=f"p{number}": ports.catalog.by_path(path, None)  # type: ignore[misc]
        yield lambda ports, digest=f"d{number}.1.1": ports.catalog.by_digest(digest)  # type: ignore[misc]


def _looks_at(name: str) -> Iterator[Call]:
    yield lambda ports: ports.store.head(name)
    yield lambda ports: ports.store.read(name, 0, 1000)
    yield lambda ports: ports.store.read(name, 3, 2)
    yield lambda ports: ports.store.snapshot(name)
    yield lambda ports: ports.store.summary(name)
    yield lambda ports: ports.store.rows(name)
    yield lambda ports: ports.store.parking(name)
    yield lambda ports: ports.store.incidents(name, 100)
    yield lambda ports: ports.store.logs(name, 1, 100)


def _granted(answer: object) -> list[Granted]:
    if isinstance(answer, Granted):
        return [answer]
    if isinstance(answer, Appended):
        return list(answer.granted)
    if isinstance(answer, list | tuple):
        return [each for part in answer for each in _granted(part)]
    return []


def _plain(answer: object) -> object:
    """An answer in which only what was promised counts: what ran out comes in no certain order."""
    if isinstance(answer, msgspec.Struct):
        return type(answer), [_plain(getattr(answer, name)) for name in answer.__struct_fields__]
    if isinstance(answer, list | tuple):
        kept = sorted(answer, key=_place) if answer and isinstance(answer[0], Expired) else answer
        return [_plain(each) for each in kept]
    if isinstance(answer, dict):
        return {_key(key): _plain(value) for key, value in answer.items()}
    return answer


def _place(expired: object) -> tuple[str, object]:
    assert isinstance(expired, Expired)
    return expired.execution_id, expired.row


def _key(key: object) -> object:
    return tuple(key) if isinstance(key, list) else key


if __name__ == "__main__":
    sys.exit(main())
