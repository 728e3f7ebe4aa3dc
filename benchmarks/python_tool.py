"""A warm run of the python tool, in units of a bare pipe round trip with the same payload.

    python benchmarks/python_tool.py            payloads of 100 B, 2 kB, 20 kB and 1 MB
    python benchmarks/python_tool.py --quick    the first two

The bare round trip is what one would write by hand: a child that reads a length and so much JSON, and writes back
the JSON of what it read; blocking, with the standard library. The floor is the same without JSON: bytes sent back.
The tool's run is a request to a warm child whose code returns its input, through the event loop, as a worker does it.
All are measured in turns, in many short rounds of which the best counts. Exit code 1 over a bar.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from noetl.ports import ToolCall
from noetl.tools.python import Python

RATIO_MAX = 4.0
QUICK_SLACK = 1.5
"""A short run is noisy: it looks for a fall, and the full one holds the bar."""


SIZES = (100, 2_000, 20_000, 1_000_000)
ROUNDS = 150
ROUND_S = 0.005

CHILD = """\
import json, os, sys

def received():
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        piece = os.read(0, 65536)
        if not piece:
            sys.exit()
        data += piece
    return data[4:]

while True:
    data = received()
    if sys.argv[1] == "json":
        data = json.dumps(json.loads(data)).encode()
    rest = len(data).to_bytes(4, "big") + data
    while rest:
        rest = rest[os.write(1, rest):]
"""


class Silent:
    def write(self, text: str, *, stream: str = "stdout") -> None:
        raise AssertionError(f"nothing is printed here, and {stream} was: {text}")


class Pipe:
    """A child that sends back what it gets: `bytes`, or the values of `json`."""

    def __init__(self, mode: str) -> None:
        command = [sys.executable, "-c", CHILD, mode]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.inlet, self.outlet = self.child.stdin.fileno(), self.child.stdout.fileno()

    def trip(self, payload: bytes) -> bytes:
        rest = len(payload).to_bytes(4, "big") + payload
        while rest:
            rest = rest[os.write(self.inlet, rest) :]
        got = b""
        while len(got) < 4 or len(got) < 4 + int.from_bytes(got[:4], "big"):
            got += os.read(self.outlet, 65536)
        return got[4:]

    def json_trip(self, payload: object) -> object:
        return json.loads(self.trip(json.dumps(payload).encode()))

    def close(self) -> None:
        self.child.kill()
        self.child.communicate()


def payload_of(size_bytes: int) -> dict[str, object]:
    row = {"id": 123, "name": "item 123", "price": 1.5, "tags": ["a", "b"], "ok": True}
    count = max(1, size_bytes // (len(msgspec.json.encode(row)) + 1))
    return {"rows": [row] * count}


def call_of(payload: dict[str, object]) -> ToolCall:
    code = "def main(rows):\n    return {'rows': rows}\n"
    return ToolCall("python", {"code": code}, payload, {}, "e", "s", "t", "r", 1, "k", "benchmarks/python")


Trip = Callable[[], Awaitable[object]]


async def trip_s(trip: Trip, expected: object) -> float:
    """Seconds that one of them takes, over a round."""
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < ROUND_S or not count:
        assert await trip() == expected
        count += 1
    return spent / count


async def measured(size_bytes: int) -> tuple[float, float, float]:
    """The best rounds: bytes, JSON, the tool."""
    payload = payload_of(size_bytes)
    call, data, console = call_of(payload), msgspec.json.encode(payload), Silent()
    tool, pipes = Python(os.environ), (Pipe("bytes"), Pipe("json"))

    async def floor() -> object:
        return pipes[0].trip(data)

    async def bare() -> object:
        return pipes[1].json_trip(payload)

    async def warm() -> object:
        return (await tool.run(call, console)).data

    async def one_of_each() -> tuple[float, float, float]:
        return await trip_s(floor, data), await trip_s(bare, payload), await trip_s(warm, payload)

    try:
        rounds = [await one_of_each() for _ in range(ROUNDS)]
    finally:
        for pipe in pipes:
            pipe.close()
        await tool.close()
    floors, bares, warms = zip(*rounds, strict=True)
    return min(floors), min(bares), min(warms)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small payloads only")
    is_quick = parser.parse_args(arguments).quick
    failures = 0
    bar = RATIO_MAX * (QUICK_SLACK if is_quick else 1.0)
    for size in SIZES[:2] if is_quick else SIZES:
        floor, bare, warm = asyncio.run(measured(size))
        is_over = warm / bare > bar
        failures += is_over
        times = "   ".join(
            f"{name} {s * 1e6:8.1f} µs" for name, s in (("bytes", floor), ("pipe", bare), ("tool", warm))
        )
        verdict = f"bar {bar:g}{': over' if is_over else ''}"
        print(f"{size:>9,} B   {times}   ratio {warm / bare:.2f} ({verdict}; to bytes {warm / floor:.2f})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
