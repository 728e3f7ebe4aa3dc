"""Stopping a child: it and its group may clean up first, for so long and no longer."""

import asyncio
import signal

from noetl.data_plane.limits import Limits
from noetl.processes import GRACE_S, Command, Process
from tests.tools.calling import PATIENCE_S, are_soon_gone


class Heard:
    """What a child printed, and when a word came."""

    def __init__(self) -> None:
        self.text = ""
        self._waiting: list[tuple[str, asyncio.Event]] = []

    def take(self, data: bytes, _stream: str) -> None:
        self.text += data.decode()
        for word, event in self._waiting:
            if word in self.text:
                event.set()

    async def word(self, word: str) -> None:
        event = asyncio.Event()
        self._waiting.append((word, event))
        self.take(b"", "")
        await asyncio.wait_for(event.wait(), PATIENCE_S)


async def started(script: str) -> tuple[Process, Heard]:
    heard = Heard()
    process = Process(Command(["/bin/bash", "-c", script], {"PATH": "/usr/bin:/bin"}), heard.take)
    await heard.word("ready")
    return process, heard


STUBBORN = "trap '' TERM; echo $$ ready; while true; do sleep 0.1; done"


async def test_a_child_that_is_stopped_may_clean_up_first() -> None:
    process, heard = await started("trap 'echo cleaned; exit 3' TERM; echo ready; sleep 1000 & wait")
    await process.stop()
    assert (await process.code(), heard.text) == (3, "ready\ncleaned\n")


async def test_what_a_stopped_child_started_may_clean_up_too_though_the_child_is_gone() -> None:
    inner = "trap 'sleep 0.3; echo cleaned; exit' TERM; echo ready; while true; do sleep 0.05; done"
    process, heard = await started(f'bash -c "{inner}"; true')
    await process.stop()
    assert (await process.code(), heard.text.split()[-1]) == (-signal.SIGTERM, "cleaned")


async def test_a_child_without_a_trap_is_gone_at_once() -> None:
    process, _ = await started("echo ready; sleep 1000")
    process.terminate()
    await asyncio.wait_for(process.code(), GRACE_S)
    assert process.ended.result() == -signal.SIGTERM


async def test_a_child_that_does_not_listen_is_killed_after_the_grace() -> None:
    process, heard = await started(STUBBORN)
    began = asyncio.get_running_loop().time()
    await process.stop()
    assert (await process.code(), are_soon_gone(int(heard.text.split()[0]))) == (-signal.SIGKILL, True)
    assert asyncio.get_running_loop().time() - began >= GRACE_S


async def test_one_of_the_group_that_does_not_listen_is_killed_after_the_grace_too() -> None:
    process, heard = await started(f'bash -c "{STUBBORN.replace("$", chr(92) + "$")}"; true')
    process.terminate()
    assert await process.code() == -signal.SIGTERM
    assert are_soon_gone(int(heard.text.split()[0]))


async def test_whoever_is_cancelled_while_a_child_has_its_grace_kills_it() -> None:
    process, heard = await started(STUBBORN)
    stopping = asyncio.create_task(process.stop())
    await asyncio.wait([stopping], timeout=0.05)
    stopping.cancel()
    await asyncio.wait_for(asyncio.wait([stopping]), GRACE_S / 2)
    assert (stopping.cancelled(), process.ended.result()) == (True, -signal.SIGKILL)
    assert are_soon_gone(int(heard.text.split()[0]))


async def test_a_child_that_is_gone_while_its_group_has_its_grace_is_killed_with_it() -> None:
    process, heard = await started(f'bash -c "{STUBBORN.replace("$", chr(92) + "$")}"; true')
    process.terminate()
    while not process._is_headless:
        await asyncio.wait([process.ended], timeout=0.01)
    await asyncio.wait_for(process.end(), GRACE_S / 2)
    assert process.ended.result() == -signal.SIGTERM
    assert are_soon_gone(int(heard.text.split()[0]))


async def test_stopping_what_has_ended_does_nothing() -> None:
    process, _ = await started("echo ready")
    await process.code()
    process.terminate()
    process.kill()
    await process.stop()
    process.drain()
    assert process.ended.result() == 0


def test_a_worker_is_done_with_what_it_stops_before_its_lease_is_anothers() -> None:
    limits = Limits()
    looks_every_s = limits.margin_s / 4
    assert looks_every_s + GRACE_S < limits.margin_s
