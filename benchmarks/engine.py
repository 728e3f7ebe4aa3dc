"""What the core costs, in units of msgspec's own work, and how much memory a long loop needs.

    python benchmarks/engine.py            100,000 events, loops of 10,000 and 100,000 iterations, memory of 1,000,000
    python benchmarks/engine.py --quick    the same with a tenth of everything
    python benchmarks/engine.py --profile  where the time of an iteration goes

Times are of the process's own CPU, the best of several interleaved rounds of one run. Exit code 1 over a bar.
"""

import argparse
import cProfile
import gc
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import or_
from pathlib import Path

import msgspec

from noetl.engine import events as e
from noetl.engine.codec import Sealed, decode, decode_fact, encode
from noetl.engine.commands import Rejection, Report, RequestExecution
from noetl.engine.decide import Surroundings, transact
from noetl.engine.envelope import NAMES, stamp
from noetl.engine.evolve import evolve
from noetl.engine.output import NOTHING
from noetl.engine.program import Program
from noetl.engine.reference import External, Reference
from noetl.engine.state import State, empty
from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import Directive

FOLD_RATIO_MAX = 3.0
"""Folding a log from its bytes, in units of decoding its events with msgspec: to plain data, and to records."""

ITERATION_ENCODES_MAX = 7.0
"""One iteration decided and applied, in units of encoding a 2 kB dict."""

GROWTH_MAX = 1.3
"""An iteration of a loop ten times as long."""

RSS_BYTES_MAX = 300 * 1024 * 1024
STATE_GROWTH_MAX = 1.5
"""The state of a loop at its end, in units of the state at a hundredth of it."""

EVENT: dict[str, object] = {
    "event_id": 123456789012345, "execution_id": 987654321, "type": "step.completed", "ts": 1763220000.123,
    "step": "fetch_page", "worker": "worker-1", "attempt": 1, "status": "ok",
    "meta": {"trace": "a" * 32, "span": "b" * 16},
    "result": {
        "items": [
            {"id": i, "name": f"item {i}", "price": i * 1.5, "tags": ["a", "b"], "ok": True} for i in range(24)
        ],
        "paging": {"hasMore": True, "page": 3, "total": 20},
    },
}  # fmt: skip
"""About 2 kB of JSON."""

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: benchmark, path: benchmarks/engine }
workflow:
  - step: each
    loop:
      in: "{{ workload.rows }}"
      iterator: row
      spec: { mode: parallel, max_in_flight: 100 }
    tool: { kind: noop }
"""

RUN, TASK = "each#1", "each_task"
BATCH = 500


class Counted:
    """A collection kept elsewhere, of which only the length is ever asked."""

    def __init__(self, count: int) -> None:
        self.count = count

    def length(self, stored: External | Reference) -> int | None:  # noqa: ARG002
        return self.count

    def element(self, stored: External | Reference, index: int) -> object:  # noqa: ARG002
        return index

    def fetch(self, reference: Reference) -> bytes:  # noqa: ARG002
        return b"[]"


def main() -> int:
    options = _options()
    scale = 10 if options.quick else 1
    if options.profile:
        _profile(20_000)
        return 0
    if options.memory:
        return _measure_memory(options.memory)
    verdicts = [
        *_fold_ratios(100_000 // scale),
        *_iteration_costs(10_000 // scale, 100_000 // scale),
        _memory(1_000_000 // scale),
    ]
    return 0 if all(verdicts) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="only a loop of N, in this process")
    return parser.parse_args()


# ------------------------------------------------------------------------------ the loop


class Loop:
    """An execution that stands in a loop of `count` iterations without having begun one."""

    def __init__(self, count: int) -> None:
        playbook = compile_playbook(PLAYBOOK, "benchmark.yaml").playbook
        assert playbook is not None
        self.program = Program(playbook)
        self.state: State = empty("benchmark")
        self.around = Surroundings(0.0, Counted(count))
        rows = External(Reference("object_store", {"key": "rows"}))
        request = RequestExecution(playbook.metadata.path, playbook.digest, {"rows": rows})
        self.facts = [*self.send(request), *self.send(Report(RUN, [e.StepStarted(RUN)]))]

    def send(self, command: RequestExecution | Report) -> Sequence[e.Fact]:
        answer = transact(self.program, self.state, command, self.around)
        assert not isinstance(answer, Rejection), answer
        return answer


def report(index: int) -> Report:
    """All that a worker tells of one iteration."""
    path = (index,)
    run = f"{RUN}[{index}].{TASK}/1"
    return Report(
        RUN,
        (
            e.IterationStarted(RUN, path),
            e.TaskStarted(RUN, path, run, TASK, 1, run),
            e.TaskDone(RUN, path, run, TASK, 1, NOTHING, Directive.CONTINUE, 1),
            e.IterationDone(RUN, path, NOTHING),
        ),
    )


def _batches(count: int) -> Iterator[list[Report]]:
    for start in range(0, count, BATCH):
        yield [report(index) for index in range(start, min(start + BATCH, count))]


# ------------------------------------------------------------------------------ time


def _fold_ratios(count: int) -> list[bool]:
    """A page of the log decoded in each way and folded, in turns, so that slow moments hit all of them alike."""
    program, lines = _log(count)
    readers = (msgspec.json.Decoder().decode, _typed_decoder().decode, decode, decode_fact)
    state = empty("benchmark")
    times: list[list[float]] = []
    gc.collect()
    for start in range(0, len(lines), BATCH):
        page = lines[start : start + BATCH]
        _read_all(hash, page)  # whoever comes first should not pay for bytes that the processor has not seen yet
        reading = [_time(partial(_read_all, reader, page)) for reader in readers]
        times.append([*reading, _time(partial(_fold_all, program, state, page))])
    assert state.seq == len(lines)
    to_plain, to_typed, to_event, to_fact, to_state = (_quiet(each) / BATCH * 1e6 for each in zip(*times, strict=True))
    print(
        f"{len(lines):,} events, each with msgspec: {to_plain:.2f} µs to plain data, {to_typed:.2f} µs to records; "
        f"here: {to_event:.2f} µs to an event, {to_fact:.2f} µs to a fact, {to_state:.2f} µs to state"
    )
    return [
        _say("folding an event, in units of decoding it to plain data", to_state / to_plain, FOLD_RATIO_MAX),
        _say("folding an event, in units of decoding it to records", to_state / to_typed, FOLD_RATIO_MAX),
    ]


def _read_all(read: Callable[[bytes], object], lines: Sequence[bytes]) -> None:
    for line in lines:
        read(line)


def _fold_all(program: Program, state: State, lines: Sequence[bytes]) -> None:
    for line in lines:
        fact = decode_fact(line)
        assert isinstance(fact, e.Body)
        evolve(program, state, fact)


def _log(count: int) -> tuple[Program, list[bytes]]:
    """The first events of a loop, as they are stored."""
    loop = Loop(count // 4)
    facts = [*loop.facts, *(fact for batch in _batches(count // 4) for each in batch for fact in loop.send(each))]
    events = stamp(facts[:count], execution_id="benchmark", after=0, timestamp=1763220000.123, parent=None)
    return loop.program, [encode(event) for event in events]


def _typed_decoder() -> msgspec.json.Decoder[object]:
    """The best that msgspec does alone: each name has a record of its own, with the payload typed in place."""
    fields = [(each.name, each.type, each.default) for each in msgspec.structs.fields(Sealed) if each.name != "name"]
    records = [
        msgspec.defstruct(
            body.__name__,
            [(name, body if name == "payload" else type_, default) for name, type_, default in fields],
            tag_field="name",
            tag=tag,
            frozen=True,
        )
        for body, (tag, _) in NAMES.items()
    ]
    return msgspec.json.Decoder(reduce(or_, records))


def _iteration_costs(few: int, many: int) -> list[bool]:
    """A batch of the long loop, one of a short loop and encodes in turns, so that slow moments hit all of them alike.

    Making the reports is the worker's work and does not count.
    """
    encoder = msgspec.json.Encoder()
    encodes, shorts, longs = [], [], []
    short, long = Loop(few), Loop(many)
    short_batches = _batches(few)
    for batch in _batches(many):
        if short.state.has_ended:
            short, short_batches = Loop(few), _batches(few)
        short_batch = next(short_batches)
        encodes.append(_time(lambda: [encoder.encode(EVENT) for _ in range(BATCH)]))
        shorts.append(_time(lambda: _send_all(short, short_batch)))  # noqa: B023
        longs.append(_time(lambda: _send_all(long, batch)))  # noqa: B023
    assert long.state.status == "completed"
    encode_us, short_us, long_us = (_quiet(times) / BATCH * 1e6 for times in (encodes, shorts, longs))
    print(f"an encode of {len(encoder.encode(EVENT)):,} bytes {encode_us:.2f} µs")
    print(f"an iteration of {few:,}: {short_us:.1f} µs, of {many:,}: {long_us:.1f} µs")
    return [
        _say("an iteration, in units of an encode", long_us / encode_us, ITERATION_ENCODES_MAX),
        _say(f"an iteration of {many:,}, in units of one of {few:,}", long_us / short_us, GROWTH_MAX),
    ]


def _quiet(times: Sequence[float]) -> float:
    """The time of a batch in a quiet moment: one in ten was faster."""
    return sorted(times)[len(times) // 10]


def _send_all(loop: Loop, batch: Sequence[Report]) -> None:
    for each in batch:
        loop.send(each)


def _time(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


# ------------------------------------------------------------------------------ memory


def _memory(count: int) -> bool:
    """In a process of its own: what a process once held is never given back."""
    command = [sys.executable, __file__, "--memory", str(count)]
    return subprocess.run(command, check=False).returncode == 0


def _measure_memory(count: int) -> int:
    loop = Loop(count)
    before = _rss_bytes()
    sizes = {}
    for number, batch in enumerate(_batches(count), 1):
        _send_all(loop, batch[:-1])
        sizes[number * BATCH] = len(msgspec.json.encode(loop.state)) if number % (count // BATCH // 10) == 0 else 0
        _send_all(loop, batch[-1:])
    assert loop.state.status == "completed"
    shown = {at: size for at, size in sizes.items() if size}
    print("state after iterations:", ", ".join(f"{at:,}: {size:,} B" for at, size in shown.items()))
    rss = _rss_bytes()
    print(f"{count:,} iterations: {rss / 2**20:.0f} MB at most, {(rss - before) / 2**20:.1f} MB of them by the loop")
    values = list(shown.values())
    fits = _say("resident memory, in MB", rss / 2**20, RSS_BYTES_MAX / 2**20)
    flat = _say("the state near the end, in units of the state at half", values[-1] / values[4], STATE_GROWTH_MAX)
    return 0 if fits and flat else 1


def _rss_bytes() -> int:
    """The most memory this process ever held. `getrusage` would give its parent's, where that was larger."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _say(what: str, ratio: float, bar: float) -> bool:
    fits = ratio <= bar
    print(f"{what}: {ratio:.2f} (bar {bar:g}) {'ok' if fits else 'OVER THE BAR'}", flush=True)
    return fits


def _profile(count: int) -> None:
    loop = Loop(count)
    batches = list(_batches(count))
    with cProfile.Profile() as profile:
        for batch in batches:
            _send_all(loop, batch)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    sys.exit(main())
