"""Random commands to a store, as data. They name executions, leases and rows by number: any can be left out."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

import msgspec

from noetl.engine.leases import DELIVERIES_MAX

T = TypeVar("T")

EXECUTIONS = 3
RUNS = 3
WORKERS = ("w1", "w2", "w3")
POOLS = ("gpu", "big")


class Draw(msgspec.Struct, frozen=True):
    """An effect of some `kind`; the numbers say which run, path, timer and so on."""

    kind: str
    run: int
    path: tuple[int, ...]
    number: int
    flag: bool


class Step(msgspec.Struct, frozen=True):
    """Progress under a known lease: `how` is what is told of its next or its running index."""

    lease: int
    how: str


class Wish(msgspec.Struct, frozen=True):
    worker: str
    slots: int
    indexes_max: int
    pools: tuple[str, ...]
    within: str = ""


class Part(msgspec.Struct, frozen=True):
    execution: int
    behind: int
    events: int
    effects: tuple[Draw, ...]
    steps: tuple[Step, ...]
    done: tuple[int, ...]
    wishes: tuple[Wish, ...]
    status: str | None
    holds: tuple[tuple[int, float | None], ...] = ()
    """Objects by number, and for how many seconds."""


class Commit(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]


class Claim(msgspec.Struct, frozen=True):
    wish: Wish
    limit: int


class Renew(msgspec.Struct, frozen=True):
    leases: tuple[int, ...]
    lease_s: float


class Release(msgspec.Struct, frozen=True):
    leases: tuple[int, ...]


class Expire(msgspec.Struct, frozen=True):
    pass


class OpenIncident(msgspec.Struct, frozen=True):
    execution: int
    number: int


class CloseIncidents(msgspec.Struct, frozen=True):
    execution: int


class Print(msgspec.Struct, frozen=True):
    execution: int
    chunks: int


class Register(msgspec.Struct, frozen=True):
    path: int
    version: int
    digest: int


class Save(msgspec.Struct, frozen=True):
    execution: int
    seq: int


class NextPart(msgspec.Struct, frozen=True):
    parts: int
    every_s: float


class Pass(msgspec.Struct, frozen=True):
    seconds: float


class Reopen(msgspec.Struct, frozen=True):
    pass


Write = Commit | Claim | Renew | Release | Expire | OpenIncident | CloseIncidents | Print | Register | Save | NextPart


class Together(msgspec.Struct, frozen=True):
    """Writes that are all asked for before the first is answered."""

    writes: tuple[Write, ...]


Command = Together | Pass | Reopen

LENGTH_MAX = 60

_KINDS = {
    "loop": 6,
    "task": 3,
    "wake": 3,
    "set": 3,
    "clear": 1,
    "end": 1,
    "stop": 1,
    "start": 1,
    "cancel": 1,
    "tell": 1,
    "end_all": 0.7,
}
_HOW = {"begin": 3, "finish": 4, "end": 3, "park": 2, "wrong": 1}


def commands_of(seed: int) -> list[Command]:
    drawing = _Drawing(Random(seed))
    parts = (drawing.commands() for _ in range(drawing.random.randint(5, LENGTH_MAX)))
    return [command for part in parts for command in part]


class _Drawing:
    """Often what can succeed, sometimes what cannot."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def commands(self) -> Sequence[Command]:
        """One command, or workers that take something again and again and die of it."""
        if self.random.random() < 0.97:
            return [self.command()]
        worn = (Together((Claim(self.wish(), 2),)), Pass(11.0), Together((Expire(),)))
        return worn * DELIVERIES_MAX

    def command(self) -> Command:
        match self._one({"together": 10, "pass": 2, "reopen": 1}):
            case "pass":
                return Pass(self.random.choice((0.5, 3.0, 11.0)))
            case "reopen":
                return Reopen()
            case _:
                return Together(self._some(self.write, 1, 5))

    def write(self) -> Write:
        if self.random.random() < 0.5:
            parts = self.random.sample(range(EXECUTIONS), self.random.randint(1, EXECUTIONS))
            return Commit(tuple(self.part(execution) for execution in parts))
        match self._one({"claim": 5, "renew": 2, "release": 2, "expire": 2, "rare": 2}):
            case "claim":
                return Claim(self.wish(), self.random.randint(1, 5))
            case "renew":
                return Renew(self._some(self._lease, 1, 3), self.random.choice((1.0, 10.0)))
            case "release":
                return Release(self._some(self._lease, 1, 2))
            case "expire":
                return Expire()
            case _:
                return self.rare()

    def rare(self) -> Write:
        small, execution = self.random.randrange(5), self.random.randrange(EXECUTIONS)
        kinds: tuple[Write, ...] = (
            OpenIncident(execution, small),
            CloseIncidents(execution),
            CloseIncidents(execution),
            Print(execution, small),
            Register(small, self.random.randrange(3), self.random.randrange(3)),
            Save(execution, small),
            NextPart(3, 10.0),
            NextPart(3, 10.0),
        )
        return self.random.choice(kinds)

    def part(self, execution: int) -> Part:
        return Part(
            execution,
            int(self.random.random() < 0.1),
            self.random.randrange(4),
            self._some(self.effect, 0, 4),
            self._some(self.step, 0, 2),
            self._some(lambda: self.random.randrange(4), 0, 2),
            self._some(self.wish, 0, 2),
            self.random.choice((None, "running", "running", "completed")),
            self._some(lambda: (self.random.randrange(4), self.random.choice((None, 2.0, 9.0, 20.0))), 0, 3),
        )

    def effect(self) -> Draw:
        path = self._some(lambda: self.random.randrange(3), 0, 2)
        return Draw(self._one(_KINDS), self.random.randrange(RUNS), path, self.random.randrange(5), self._flag())

    def step(self) -> Step:
        return Step(self._lease(), self._one(_HOW))

    def wish(self) -> Wish:
        pools = self.random.choice((POOLS, POOLS, POOLS[:1], ()))
        slots, indexes = self.random.randrange(4), self.random.randint(1, 3)
        within = self.random.choice(("", "", "", "", "e1", "e1.1"))
        return Wish(self.random.choice(WORKERS), slots, indexes, pools, within)

    def _lease(self) -> int:
        return min(int(self.random.expovariate(0.6)), 9)

    def _flag(self) -> bool:
        return self.random.random() < 0.4

    def _one(self, weights: Mapping[str, float]) -> str:
        return self.random.choices(tuple(weights), tuple(weights.values()))[0]

    def _some(self, one: Callable[[], T], least: int, most: int) -> tuple[T, ...]:
        return tuple(one() for _ in range(self.random.randint(least, most)))
