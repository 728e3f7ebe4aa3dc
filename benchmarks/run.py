"""What a run costs beside what it stands on, all measured in one process's run.

    python benchmarks/run.py            50 endpoints x 20 pages, 100 steps, a loop of 100,000, the start of the program
    python benchmarks/run.py --quick    a tenth of the loop, and bars with some slack
    python benchmarks/run.py --loop N   only a loop of N, with `noetl status` asked all the while
    python benchmarks/run.py --profile  where the time of a loop goes

Exit code 1 over a bar.
"""

import argparse
import asyncio
import cProfile
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import aiohttp
import apsw
import msgspec
from aiohttp import web

from noetl.cli.embedded import Runtime, opened, serving, working
from noetl.cli.project import registered
from noetl.playbook.compile import compile_playbook

PAGES_RATIO_MAX = 1.3
"""Pages fetched by a playbook, in units of the same work in plain asyncio and aiohttp."""

STEP_COMMITS_MAX = 8.0
"""One step of a chain, in units of a single durable commit."""

START_RATIO_MAX = 4.0
"""`noetl run` of the smallest playbook, in units of `python -c "import asyncio, sqlite3, jinja2"`."""

GROWTH_MAX = 1.5
"""An iteration of a loop ten times as long."""

QUICK_SLACK = 1.5
"""A short run is noisy: it looks for a fall, and the full one holds the bars."""

RSS_BYTES_MAX = 300 * 1024 * 1024

STATUS_S_MAX = 5.0
"""The slowest answer of `noetl status`, from its start as a process on."""

LOOK_EVERY_S = 0.5
ANSWER_S_MAX = 60.0
"""What takes longer is no answer."""

NOETL = Path(sys.executable).parent / "noetl"
LATENCY_S = 0.01
IN_FLIGHT = 10
ROUNDS = 5

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: bench, path: bench }\n"
PAGES = (
    HEAD
    + """\
workload: { url: "", endpoints: 0, pages: 0 }
workflow:
  - step: fetch
    loop:
      in: "{{ range(workload.endpoints) | list }}"
      iterator: endpoint
      spec: { mode: parallel, max_in_flight: 10 }
    tool:
      - name: start
        kind: noop
        set: { iter.page: 1 }
      - name: get
        kind: http
        input: { url: "{{ workload.url }}/{{ iter.endpoint }}", params: { page: "{{ iter.page }}" } }
        set: { iter.page: "{{ iter.page + 1 }}" }
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - when: "{{ iter.page < workload.pages }}"
                then: { do: jump, to: get }
              - else: { then: { do: break } }
"""
)
LOOP = (
    HEAD
    + """\
workload: { count: 0 }
workflow:
  - step: each
    loop: { in: "{{ range(workload.count) | list }}", iterator: i, spec: { mode: parallel, max_in_flight: 100 } }
    tool: { kind: noop }
"""
)
CHAIN_STEPS = 100


def main() -> int:
    options = _options()
    if options.profile:
        return _profile()
    if options.loop:
        return 0 if _loop(options.loop) else 1
    scale = 10 if options.quick else 1
    verdicts = [
        asyncio.run(_pages(50, 20)),
        asyncio.run(_chain()),
        _start(),
        _loop(100_000 // scale),
    ]
    return 0 if all(verdicts) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the loop")
    parser.add_argument("--loop", type=int, metavar="N", help="only a loop of N iterations")
    parser.add_argument("--profile", action="store_true", help="show where the time of a loop goes")
    return parser.parse_args()


# ------------------------------------------------------------------------------ running


async def _ran(folder: Path, text: str, workload: dict[str, object], slots: int) -> float:
    """Seconds from the request to the end."""
    environment = dict(os.environ)
    async with opened(folder / ".noetl", folder) as local, serving(local, environment) as runtime:
        return await _timed(runtime, text, workload, environment, slots)


async def _timed(
    runtime: Runtime, text: str, workload: dict[str, object], environment: dict[str, str], slots: int
) -> float:
    playbook = registered(compile_playbook(text, "bench.yaml"), "bench.yaml")
    await runtime.local.catalog.register(playbook)
    name = runtime.local.system.new_id()
    async with working(runtime, name, environment, slots):
        start = time.perf_counter()
        await runtime.plane.request(playbook, workload, name)
        async for _ in runtime.plane.feed.events(name):
            pass
        seconds = time.perf_counter() - start
    summary = await runtime.local.store.summary(name)
    assert summary is not None
    assert summary.status == "completed", summary
    return seconds


def _tell(what: str, figure: float, bar: float, unit: str = "x", *, has_slack: bool = True) -> bool:
    bar *= QUICK_SLACK if has_slack and "--quick" in sys.argv else 1.0
    is_met = figure <= bar
    print(f"{what:<58} {figure:>8.2f} {unit}  (bar {bar:g}){'' if is_met else '  OVER'}")
    return is_met


# ------------------------------------------------------------------------------ pages


async def _pages(endpoints: int, pages: int) -> bool:
    server = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "serve", stdout=asyncio.subprocess.PIPE, env={**os.environ, "NOETL_BENCH_SERVE": "1"}
    )
    assert server.stdout is not None
    url = (await server.stdout.readline()).decode().strip()
    try:
        ratios = [await _pages_ratio(url, endpoints, pages) for _ in range(ROUNDS)]
    finally:
        server.terminate()
        await server.wait()
    return _tell(f"{endpoints} endpoints x {pages} pages, beside plain aiohttp", min(ratios), PAGES_RATIO_MAX)


async def _pages_ratio(url: str, endpoints: int, pages: int) -> float:
    plain = await _measured(lambda: _plain_pages(url, endpoints, pages))
    with TemporaryDirectory() as folder:
        workload: dict[str, object] = {"url": url, "endpoints": endpoints, "pages": pages}
        return await _ran(Path(folder), PAGES, workload, IN_FLIGHT) / plain


async def _measured(work: Callable[[], Awaitable[None]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def _plain_pages(url: str, endpoints: int, pages: int) -> None:
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(session: aiohttp.ClientSession, endpoint: int) -> None:
        async with gate:
            for page in range(1, pages + 1):
                async with session.get(f"{url}/{endpoint}", params={"page": page}) as answer:
                    await answer.json()

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for endpoint in range(endpoints):
            group.create_task(one(session, endpoint))


async def _serve() -> None:
    async def page(request: web.Request) -> web.Response:
        await asyncio.sleep(LATENCY_S)
        return web.json_response({"page": request.query.get("page"), "rows": [{"id": 1, "name": "a"}] * 20})

    app = web.Application()
    app.router.add_get("/{endpoint}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


# ------------------------------------------------------------------------------ a chain of steps


async def _chain() -> bool:
    steps = "".join(
        f"  - step: s{number}\n    tool: {{ kind: noop }}\n"
        + (f"    next: {{ arcs: [ {{ step: s{number + 1} }} ] }}\n" if number + 1 < CHAIN_STEPS else "")
        for number in range(CHAIN_STEPS)
    )
    ratios: list[float] = []
    for _ in range(ROUNDS):
        with TemporaryDirectory() as folder:
            commit = _commit_s(Path(folder) / "bare.db")
            seconds = await _ran(Path(folder), f"{HEAD}workflow:\n{steps}", {}, 4)
        ratios.append(seconds / CHAIN_STEPS / commit)
    return _tell("one no-op step of a chain, in single durable commits", min(ratios), STEP_COMMITS_MAX)


def _commit_s(path: Path) -> float:
    connection = apsw.Connection(str(path))
    for text in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (data BLOB)"):
        connection.execute(text).fetchall()
    count = 200
    start = time.perf_counter()
    for _ in range(count):
        connection.execute("INSERT INTO t VALUES (?)", (b"x" * 400,))
    seconds = time.perf_counter() - start
    connection.close()
    return seconds / count


# ------------------------------------------------------------------------------ start and loop


def _start() -> bool:
    """Of the program, with its bytecode cached as an installed one has it."""
    hello = Path(__file__).resolve().parent.parent / "examples/hello.yaml"
    with TemporaryDirectory() as folder:
        environment = _cached(folder)
        bare = [sys.executable, "-c", "import asyncio, sqlite3, jinja2"]
        program = [str(NOETL), "run", str(hello), "-q"]
        both = [[_spent_s(words, folder, environment) for words in (bare, program)] for _ in range(ROUNDS + 1)][1:]
    return _tell("noetl run hello, beside importing asyncio, sqlite3, jinja2",
                 min(run for _, run in both) / min(bare for bare, _ in both), START_RATIO_MAX)  # fmt: skip


def _cached(folder: str) -> dict[str, str]:
    """An environment in which bytecode is kept."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": f"{folder}/cache"}


def _spent_s(words: list[str], folder: str, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def _loop(count: int) -> bool:
    """As people run it: one process, looked at from another while it runs."""
    short, long = _looped(count // 10), _looped(count)
    assert long.looks, "no `noetl status` was answered while the loop ran"
    print(f"a loop of {count:,}: {long.seconds:.1f} s, {long.seconds / count * 1e6:.0f} us an iteration")
    verdicts = [
        _tell(
            f"an iteration of {count:,}, beside one of {count // 10:,}", long.seconds / short.seconds / 10, GROWTH_MAX
        ),
        _tell("memory of the run", long.peak_bytes / 2**20, RSS_BYTES_MAX / 2**20, "MB", has_slack=False),
        _tell(f"slowest of {len(long.looks)} `noetl status` meanwhile", max(long.looks), STATUS_S_MAX, "s"),
    ]
    return all(verdicts)


class _Looped(NamedTuple):
    """`looks` is how long each `noetl status` took that found the run under way."""

    seconds: float
    peak_bytes: int
    looks: list[float]


def _looped(count: int) -> _Looped:
    with TemporaryDirectory() as folder:
        Path(folder, "loop.yaml").write_text(LOOP, encoding="utf-8")
        words = ["run", "loop.yaml", "--set", f"count={count}", "--slots", "100", "-q", "-o", "json"]
        with Path(folder, "out.json").open("wb") as out:
            run = subprocess.Popen([NOETL, *words], cwd=folder, env=_cached(folder), stdout=out)
        looks: list[float] = []
        while (ended := os.wait4(run.pid, os.WNOHANG))[0] == 0:
            looks += _look(folder, count)
            time.sleep(LOOK_EVERY_S)
        assert os.waitstatus_to_exitcode(ended[1]) == 0, "the run failed"
        result = msgspec.json.decode(Path(folder, "out.json").read_bytes(), type=_Ended)
    return _Looped(result.duration_ms / 1000, ended[2].ru_maxrss * 1024, looks)


class _Ended(msgspec.Struct, frozen=True):
    duration_ms: float


class _Counts(msgspec.Struct, frozen=True):
    done: int
    total: int


class _Step(msgspec.Struct, frozen=True):
    iterations: _Counts | None


class _Status(msgspec.Struct, frozen=True):
    status: str
    steps: list[_Step]


def _look(folder: str, count: int) -> list[float]:
    """How long an answer took that found the loop under way; before and after that there is none to find."""
    start = time.perf_counter()
    asked = subprocess.run(
        [NOETL, "status", "@latest", "-o", "json"],
        cwd=folder, env=_cached(folder), capture_output=True, check=False, timeout=ANSWER_S_MAX,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if asked.returncode != 0:
        assert b"nothing has run here yet" in asked.stderr or b"no execution" in asked.stderr, asked.stderr
        return []
    found = msgspec.json.decode(asked.stdout, type=_Status)
    counts = found.steps[0].iterations
    assert counts is None or (counts.total == count and counts.done <= count), found
    return [seconds] if found.status == "running" and counts is not None else []


async def _loop_s(count: int) -> float:
    with TemporaryDirectory() as folder:
        return await _ran(Path(folder), LOOP, {"count": count}, 100)


def _profile() -> int:
    profile = cProfile.Profile()
    profile.enable()
    asyncio.run(_loop_s(5_000))
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)
    return 0


if __name__ == "__main__":
    if os.environ.get("NOETL_BENCH_SERVE"):
        asyncio.run(_serve())
    sys.exit(main())
