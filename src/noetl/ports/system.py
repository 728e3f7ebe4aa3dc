"""Time and chance, which reach the rest of the program as arguments."""

from typing import Protocol


class Clock(Protocol):
    """`now` is seconds since 1970 and may jump; `monotonic` never does and means nothing by itself."""

    def now(self) -> float: ...
    def monotonic(self) -> float: ...


class Chance(Protocol):
    """Randomness: new ids, and numbers in [0, 1)."""

    def new_id(self) -> str: ...
    def draw(self) -> float: ...


class System(Clock, Chance, Protocol):
    """All that a process reads of time and chance."""
