"""Our end of the two pipes to a child: requests go down one, answers come up the other, each after its length.

They are pipes because the other side of a socket pair takes several times as long to wake. Whoever asks a child that
answered its last request quickly waits for the answer where it stands: that is sooner over than to go once around the
event loop, and then the loop has less to do as well.
"""

import asyncio
import os
import select
from collections.abc import Callable

RECEIVE_BYTES = 64 * 1024
QUICK_S = 0.000_5
"""Who has answered within this time is waited for."""

WAIT_MS = 1
"""For so long the event loop may stand still when a child that was quick is not."""

_HEAD_BYTES = 4


class Channel:
    """`theirs` are the child's ends, for requests and for answers.

    It says `lost` once the child has closed them, or gives more than a child may: then it is not the child that speaks.
    """

    def __init__(self, lost: Callable[[], None], bytes_max: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._bytes_max = bytes_max
        self.theirs, self._inlet, self._outlet = _pipes()
        self._poll = select.poll()
        self._poll.register(self._outlet, select.POLLIN)
        self._received = bytearray()
        self._waiting: asyncio.Future[None] | None = None
        self._is_quick = False
        self.is_open = True
        self._loop.add_reader(self._outlet, self._receive)

    def hand_over(self) -> None:
        """The child has its ends, or will never have them: they are not ours to hold."""
        for end in self.theirs:
            os.close(end)

    async def ask(self, request: bytes) -> bytes | None:
        """The answer of the child, or None where it ended without one."""
        began = self._loop.time()
        rest = self._write(memoryview(len(request).to_bytes(_HEAD_BYTES, "big") + request))
        while rest:
            await self._room()
            rest = self._write(rest)
        if self._is_quick and self._poll.poll(WAIT_MS):
            self._receive()
        while (answer := self._answer()) is None and self.is_open:
            await self._turn()
        self._is_quick = self._loop.time() - began < QUICK_S
        return answer

    def shut(self) -> None:
        """There will be no more requests. A child that waits for one ends."""
        if self._inlet >= 0:
            self._loop.remove_writer(self._inlet)
            os.close(self._inlet)
            self._inlet = -1

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.shut()
            self._loop.remove_reader(self._outlet)
            os.close(self._outlet)
            self._wake()

    def _write(self, data: memoryview) -> memoryview:
        """What the pipe had no room for. One that died meanwhile gets nothing: its end is told elsewhere."""
        try:
            return data[os.write(self._inlet, data) :] if self._inlet >= 0 else data[:0]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            return data[:0]

    async def _room(self) -> None:
        self._loop.add_writer(self._inlet, self._wake)
        try:
            await self._turn()
        finally:
            if self._inlet >= 0:
                self._loop.remove_writer(self._inlet)

    async def _turn(self) -> None:
        """Waits until something has happened."""
        self._waiting = self._loop.create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _receive(self) -> None:
        try:
            data = os.read(self._outlet, RECEIVE_BYTES)
        except BlockingIOError:
            return
        self._received += data
        if not data or len(self._received) > self._bytes_max:
            self._loop.remove_reader(self._outlet)
            self._received.clear()
            self._lost()
            return
        if self._size() is not None:
            self._wake()

    def _answer(self) -> bytes | None:
        """What has come, if it is whole."""
        size = self._size()
        if size is None:
            return None
        answer = bytes(memoryview(self._received)[_HEAD_BYTES:size])
        self._received.clear()
        return answer

    def _size(self) -> int | None:
        """The length of the whole answer with its head, once all of it is there."""
        size = _HEAD_BYTES + int.from_bytes(self._received[:_HEAD_BYTES], "big")
        return size if len(self._received) >= size else None


def _pipes() -> tuple[tuple[int, int], int, int]:
    """The ends of the child, and ours: for requests and for answers."""
    downward = os.pipe()
    try:
        upward = os.pipe()
    except OSError:
        for end in downward:
            os.close(end)
        raise
    os.set_blocking(downward[1], False)
    os.set_blocking(upward[0], False)
    return (downward[0], upward[1]), downward[1], upward[0]
