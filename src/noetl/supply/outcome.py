"""What came of work, with whatever went wrong as a value: the one handler of bugs below the loops of a process.

It decides nothing. Who asks for the outcome tells what was foreseen from a bug, and says what a bug costs: a task run,
a lease, an execution that is parked. All else goes on.
"""

from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def outcome(work: Awaitable[T]) -> T | Exception:
    """It never raises, unless it is cancelled. What waits for `work` must match the exceptions before the rest."""
    try:
        return await work
    except Exception as trouble:  # noqa: BLE001 — see above
        return trouble
