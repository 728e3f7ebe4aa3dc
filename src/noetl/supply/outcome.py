"""What came of work, with whatever went wrong as a value: the one handler of bugs below the loops of a process.

It decides nothing. Who asks for the outcome tells what was foreseen from a bug, and says what a bug costs: a task run,
a lease, an execution that is parked. All else goes on.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Escaped(Exception):
    """What was raised to end more than the work that it came from, in words: that is not for the work to say."""


async def outcome(work: Awaitable[T]) -> T | Exception:
    """It never raises, unless it is cancelled. What waits for `work` must match the exceptions before the rest."""
    try:
        return await work
    except BaseException as trouble:  # see above; a SystemExit would end the process without a word
        if _is_order(trouble):
            raise
        return trouble if isinstance(trouble, Exception) else _escaped(trouble)


def _is_order(trouble: BaseException) -> bool:
    """Whether we are to stop, too. A cancellation may be that of something that the work waited for."""
    if not isinstance(trouble, asyncio.CancelledError):
        return isinstance(trouble, KeyboardInterrupt | GeneratorExit)
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _escaped(trouble: BaseException) -> Escaped:
    words = str(trouble) or "nobody had asked for it"
    escaped = Escaped(f"{type(trouble).__name__}: {words}")
    escaped.__cause__ = trouble
    return escaped
