"""The pipes to a child: who is waited for where one stands, and that nobody waits for one that has ended."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noetl.tools.python.channel import RECEIVE_BYTES, Channel

ECHO = """
import os, sys, time
requests, answers, delay = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def read(count):
    data = b""
    while len(data) < count:
        piece = os.read(requests, count - len(data))
        if not piece:
            sys.exit()
        data += piece
    return data
while True:
    head = read(4)
    rest = head + read(int.from_bytes(head, "big"))
    time.sleep(delay)
    while rest:
        rest = rest[os.write(answers, rest):]
"""
BYTES_MAX = 100 * RECEIVE_BYTES
DEAF = "import sys; sys.stdin.read()"
"""It reads nothing of the channel, and ends with its standard input."""

ENDLESS = "import os, sys\nwhile True: os.write(int(sys.argv[2]), b'\\xff' * 65536)"
MUTE = "import os, sys; os.close(int(sys.argv[2])); sys.stdin.read()"


@contextmanager
def child_of(channel: Channel, program: str, delay_s: float = 0.0) -> Iterator[subprocess.Popen[bytes]]:
    ends = channel.theirs
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, (*ends, delay_s))], pass_fds=ends, stdin=subprocess.PIPE
    )
    channel.hand_over()
    try:
        yield child
    finally:
        child.kill()
        child.communicate()
        channel.close()


def ignore() -> None:
    """Who closes a channel here is asked in another way."""


async def goes_round(channel: Channel) -> bool:
    """Whether the event loop had a turn while a request was answered."""
    turns: list[bool] = []
    asyncio.get_running_loop().call_soon(turns.append, True)
    assert await channel.ask(b"request") == b"request"
    return bool(turns)


async def test_a_quick_child_is_answered_by_without_a_turn_of_the_event_loop() -> None:
    channel = Channel(ignore, BYTES_MAX)
    with child_of(channel, ECHO):
        turns = [await goes_round(channel) for _ in range(2_000)]
    assert turns[0]
    assert not all(turns)


async def test_the_event_loop_goes_on_while_a_slow_child_works() -> None:
    channel = Channel(ignore, BYTES_MAX)
    with child_of(channel, ECHO, delay_s=0.000_7):
        turns = [await goes_round(channel) for _ in range(200)]
    assert all(turns)


async def test_what_no_pipe_can_hold_goes_both_ways() -> None:
    channel, request = Channel(ignore, BYTES_MAX), os.urandom(50 * RECEIVE_BYTES + 1)
    with child_of(channel, ECHO):
        answers = [await channel.ask(request), await channel.ask(b""), await channel.ask(request)]
    assert answers == [request, b"", request]


async def test_a_request_that_is_never_read_ends_with_the_child() -> None:
    channel = Channel(ignore, BYTES_MAX)
    with child_of(channel, DEAF) as child:
        asking = asyncio.create_task(channel.ask(bytes(10 * RECEIVE_BYTES)))
        assert (await asyncio.wait([asking], timeout=0.1))[1]
        child.communicate()
        channel.close()
        assert await asking is None
        assert await channel.ask(b"another") is None


async def test_one_that_closes_its_end_is_told_of() -> None:
    lost = asyncio.Event()
    channel = Channel(lost.set, BYTES_MAX)
    with child_of(channel, MUTE):
        await asyncio.wait_for(lost.wait(), 30)
        assert channel.is_open


async def test_one_that_answers_without_end_is_told_of_and_not_listened_to() -> None:
    lost = asyncio.Event()
    channel = Channel(lost.set, 4 * RECEIVE_BYTES)
    with child_of(channel, ENDLESS):
        asking = asyncio.create_task(channel.ask(b"request"))
        await asyncio.wait_for(lost.wait(), 30)
        channel.close()
        assert await asking is None


async def test_a_closed_channel_leaves_no_descriptor_behind() -> None:
    before = os.listdir("/proc/self/fd")
    channel = Channel(ignore, BYTES_MAX)
    channel.hand_over()
    channel.shut()
    channel.close()
    channel.close()
    assert os.listdir("/proc/self/fd") == before
