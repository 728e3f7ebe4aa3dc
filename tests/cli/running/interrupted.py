"""A process that waits for signals as a run does, with a cancel that behaves as it is told to."""

import asyncio
import sys
import time

from noetl.cli.running.interrupts import Interrupts
from noetl.cli.running.leaving import Leaving
from noetl.ports import Unavailable

SAID_AT: list[float] = []


HUMAN_S = 0.4
"""A person who means to press a key twice has done so by then."""


class Voice:
    def say(self, text: str) -> None:
        print(text, flush=True)
        SAID_AT.append(time.monotonic())

    leave = say


async def recorded() -> None:
    """Says so once the answer is in hand."""
    asyncio.get_running_loop().call_soon(lambda: print("recorded", flush=True))


async def unanswered() -> None:
    print("asked", flush=True)
    await asyncio.Event().wait()


TRIES: list[None] = []


async def refused_at_first() -> None:
    TRIES.append(None)
    if len(TRIES) == 1:
        raise Unavailable("not now")
    await recorded()


async def hand_back_never() -> None:
    print("handing back", flush=True)
    await asyncio.Event().wait()


async def timed() -> None:
    print("soon" if time.monotonic() - SAID_AT[0] < HUMAN_S else "later", flush=True)


CANCELS = {"timed": timed, "recorded": recorded, "unanswered": unanswered, "refused": refused_at_first}


async def main(cancel: str) -> None:
    leaving = Leaving("x1", Voice())
    leaving.hand_back = hand_back_never
    with Interrupts(CANCELS.get(cancel, recorded), leaving, Voice()):
        print("ready", flush=True)
        if cancel == "stuck":
            time.sleep(600)  # as a terminal does that takes no more text
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
