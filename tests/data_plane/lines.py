"""Playbooks with a loop, and ways to a server that tests can watch, cut and hold up."""

import asyncio
from collections.abc import Sequence

from noetl.control_plane.plane import Plane
from noetl.engine.output import Output
from noetl.ports import (
    Ask,
    Busy,
    Console,
    Granted,
    LeaseReport,
    LogChunk,
    Poll,
    Registered,
    Told,
    ToolCall,
    Unavailable,
)
from tests.runtime import head


def loop_of(count: int, mode: str = "parallel", max_in_flight: int = 100) -> str:
    spec = f"mode: {mode}, max_in_flight: {max_in_flight}" if mode == "parallel" else "mode: sequential"
    return f"""{head("loop")}
workflow:
  - step: a
    loop: {{ in: "{{{{ range({count}) | list }}}}", iterator: i, spec: {{ {spec} }} }}
    tool: {{ name: a, kind: python, code: x, input: {{ n: "{{{{ iter.i }}}}" }} }}
"""


class Line:
    """The way to a server. While it `is_cut` nothing comes through; reports are counted."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.is_cut = False
        self.is_busy = False
        self.loses_answers = False
        self.reports: list[Sequence[LeaseReport]] = []
        self.released: list[Granted] = []

    def pass_(self) -> None:
        if self.is_cut:
            raise Unavailable("the line is cut")

    async def poll(self, ask: Ask, wait_s: float) -> Poll:
        self.pass_()
        found = await self.plane.poll(ask, wait_s)
        self.pass_()
        return found

    async def report(self, reports: Sequence[LeaseReport], ask: Ask) -> Told:
        self.pass_()
        if self.is_busy:
            raise Busy(3.0)
        self.reports.append(reports)
        told = await self.plane.report(reports, ask)
        if self.loses_answers:
            self.loses_answers = False
            raise Unavailable("the answer was lost")
        return told

    async def heartbeat(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        self.pass_()
        return await self.plane.heartbeat(leases, lease_s)

    async def release(self, leases: Sequence[Granted]) -> None:
        self.pass_()
        self.released.extend(leases)
        await self.plane.release(leases)

    async def playbook(self, digest: str) -> Registered | None:
        self.pass_()
        return await self.plane.playbook(digest)

    async def log(self, chunks: Sequence[LogChunk]) -> None:
        self.pass_()
        await self.plane.log(chunks)


class Gate:
    """A tool's work that takes until the test opens the gate."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.stopped = 0

    async def __call__(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        try:
            await self.event.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        return Output(data=1)
