"""How what is left of a simulation goes away: silently, and without a trace in the next one."""

import asyncio
import ctypes
import warnings
from collections.abc import Sequence
from typing import Any

from tests.simulation.actors import SimulatedTask

CLOSES_MAX = 100


def dispose(tasks_by_actor: Sequence[list[SimulatedTask]]) -> None:
    """The lists may grow meanwhile: a `finally` may start tasks, which then end at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tasks in tasks_by_actor:
            for task in tasks:
                _silence(task)
                if not task.done():
                    _end(task.get_coro())
            tasks.clear()


def _silence(task: SimulatedTask) -> None:
    """Neither "destroyed but pending" nor "exception never retrieved": a crash explains both."""
    setattr(task, "_log_destroy_pending", False)  # noqa: B010 - the type stubs do not know it
    if task.done():
        setattr(task, "_log_traceback", False)  # noqa: B010


def _end(coroutine: Any) -> None:
    """A coroutine may wait again in a `finally`; it is closed again until it gives in."""
    for _ in range(CLOSES_MAX):
        try:
            coroutine.close()
        except (Exception, GeneratorExit, asyncio.CancelledError):  # noqa: BLE001 - what the dead say does not matter
            continue
        return
    _keep_forever(coroutine)


def _keep_forever(coroutine: object) -> None:
    """It refuses every end. Letting go of it would start it once more, without a loop, even as Python exits."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
