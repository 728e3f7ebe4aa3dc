"""What stored objects take up is freed when nobody needs them, and never before."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noetl.control_plane.collector import Collector
from noetl.control_plane.limits import Limits
from noetl.engine import events as e
from noetl.engine.commands import Rejection
from noetl.engine.holds import Hold
from noetl.engine.output import Output
from noetl.engine.rerun import Cut
from noetl.engine.size import Blob
from noetl.ports import Append, Appended, Collected, Console, Held, ToolCall, Unavailable
from noetl.storage.memory import MemoryResults, MemoryStore
from tests.conformance.given import summary
from tests.conformance.homes import HandClock
from tests.runtime import Rig, answering, chain, head, played

GRACE_S, EVERY_S = 100.0, 50.0
LIMITS = Limits(collect_grace_s=GRACE_S, collect_every_s=EVERY_S, collect_look_s=10.0, collect_digits=1)

BIG = (
    head("big")
    + """
workflow:
  - step: a
    tool: { name: a, kind: python, code: x, spec: { result: { inline_max_bytes: 1000 } } }
"""
)


def blob(number: int) -> Blob:
    data = b"%d" % number
    return Blob(sha256(data).hexdigest(), data)


async def large(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
    return Output(data=["x" * 5_000])


# ------------------------------------------------------------------------------ a server


@played
async def test_what_a_run_refers_to_stays_and_what_nobody_refers_to_goes(rig: Rig) -> None:
    rig.bench.does["a"] = large
    plane = rig.serve(LIMITS)
    rig.work(plane)
    assert await rig.end(await rig.begin(plane, BIG)) == "completed"
    needed = rig.results.names
    assert len(needed) == 1
    await rig.results.put([blob(1), blob(2)])
    await asyncio.sleep(GRACE_S - EVERY_S)
    assert len(rig.results.names) == 3
    await asyncio.sleep(4 * GRACE_S)
    assert rig.results.names == needed
    await plane.stop()


@played
async def test_several_servers_share_the_parts_and_one_that_leaves_is_not_missed(rig: Rig) -> None:
    planes = [rig.serve(LIMITS) for _ in range(3)]
    await rig.results.put([blob(number) for number in range(100)])
    await asyncio.sleep(GRACE_S)
    await planes.pop().stop()
    await asyncio.sleep(4 * EVERY_S)
    assert rig.results.names == frozenset()
    for plane in planes:
        await plane.stop()


@played
async def test_a_store_that_does_not_answer_is_asked_again_later(rig: Rig) -> None:
    store = _Troubled(rig.clock)
    rig.store = store  # type: ignore[assignment]
    plane = rig.serve(LIMITS)
    await rig.results.put([blob(1)])
    await rig.until(lambda: store.troubles == 0, 10 * GRACE_S)
    await asyncio.sleep(GRACE_S + 2 * EVERY_S)
    assert rig.results.names == frozenset()
    await plane.stop()


@played
async def test_a_run_that_is_soon_over_looks_once_and_at_its_end(rig: Rig) -> None:
    store = _Counting(rig.clock)
    rig.store = store  # type: ignore[assignment]
    plane = rig.serve()
    rig.work(plane)
    assert await rig.end(await rig.begin(plane, chain("a"))) == "completed"
    assert store.looks == 0
    await plane.stop()
    assert store.looks == 1


@played
async def test_where_all_runs_are_short_what_nobody_refers_to_goes_all_the_same(rig: Rig) -> None:
    await rig.serve(LIMITS).stop()
    await rig.results.put([blob(1), blob(2)])
    await asyncio.sleep(GRACE_S + 1.0)
    await rig.serve(LIMITS).stop()
    assert rig.results.names == frozenset()


@played
async def test_a_short_run_does_a_little_and_leaves_the_rest_to_the_next(rig: Rig) -> None:
    rig.store = _Slow(rig.clock)  # type: ignore[assignment]
    await rig.serve(LIMITS).stop()
    await rig.results.put([blob(number) for number in range(100)])
    await asyncio.sleep(GRACE_S + 1.0)
    left = []
    for _ in range(16):
        await rig.serve(LIMITS).stop()
        left.append(len(rig.results.names))
    assert left[0] > left[1] > left[-1] == 0


@played
async def test_a_run_that_was_long_enough_for_a_look_does_nothing_at_its_end(rig: Rig) -> None:
    store = _Counting(rig.clock)
    rig.store = store  # type: ignore[assignment]
    plane = rig.serve(LIMITS)
    await asyncio.sleep(LIMITS.collect_after_s + 1.0)
    await plane.stop()
    assert store.looks == 1


@played
async def test_a_short_run_ends_though_the_store_does_not_answer(rig: Rig) -> None:
    store = _Troubled(rig.clock)
    rig.store = store  # type: ignore[assignment]
    await rig.serve(LIMITS).stop()
    await asyncio.sleep(GRACE_S + 1.0)
    await rig.serve(LIMITS).stop()
    assert store.troubles == 2


class _Troubled(MemoryStore):
    troubles = 3

    async def held(self, prefix: str) -> Held:
        if self.troubles:
            self.troubles -= 1
            raise Unavailable("the store did not answer")
        return await super().held(prefix)


class _Slow(MemoryStore):
    async def held(self, prefix: str) -> Held:
        await asyncio.sleep(LIMITS.collect_last_s)
        return await super().held(prefix)


class _Counting(MemoryStore):
    looks = 0

    async def next_part(self, parts: int, every_s: float) -> int | None:
        self.looks += 1
        return await super().next_part(parts, every_s)


TIMED = (
    head("timed")
    + """
workflow:
  - step: a
    tool: { name: a, kind: python, code: x, spec: { result: { inline_max_bytes: 1000, ttl: 1h } } }
    next: { arcs: [ { step: b } ] }
  - step: b
    tool: { name: b, kind: python, code: x, input: { n: 1 } }
    next: { arcs: [ { step: c } ] }
  - step: c
    tool: { name: c, kind: python, code: x, input: { rows: "{{ a.data }}" } }
"""
)


@played
async def test_an_author_says_how_long_an_output_is_kept(rig: Rig) -> None:
    rig.bench.does["a"] = large
    plane = rig.serve(LIMITS)
    worker = rig.work(plane)
    name = await rig.begin(plane, TIMED)
    assert await rig.end(name) == "completed"
    await asyncio.sleep(3_600 - GRACE_S)
    assert len(rig.results.names) == 1
    await asyncio.sleep(2 * GRACE_S)
    assert rig.results.names == frozenset()

    await worker.stop(1.0)
    rig.work(plane, "w2")
    origin = await rig.store.summary(name)
    assert origin is not None
    again = await plane.rerun(origin, Cut(from_step="b"), {})
    assert isinstance(again, str)
    assert await rig.end(again) == "failed"
    assert rig.bench.count("b") == 2, "who does not need the data goes on"
    error = next(fact.output.error for fact in await rig.facts(again) if isinstance(fact, e.StepFailed))
    assert error is not None
    assert error.kind == "reference_not_available"
    assert "was kept for 1h" in error.message
    await plane.stop()


@played
async def test_a_rerun_does_not_loop_over_what_is_gone(rig: Rig) -> None:
    loop = 'loop: { in: "{{ a.data }}", iterator: row }'
    text = TIMED.replace("  - step: c\n", f"  - step: c\n    {loop}\n").replace(
        '{{ a.data }}" } }', '{{ iter.row }}" } }'
    )
    rig.bench.does["a"] = large
    plane = rig.serve(LIMITS)
    worker = rig.work(plane)
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "completed"
    held = await rig.store.held("")
    await asyncio.sleep(4_000)
    assert rig.results.names == frozenset(held.names), "a collection is kept for good"
    rig.results.lose_all()
    await worker.stop(1.0)
    await plane.stop()
    plane = rig.serve(LIMITS)
    rig.work(plane, "w2")
    origin = await rig.store.summary(name)
    assert origin is not None
    again = await plane.rerun(origin, Cut(from_step="c"), {})
    assert isinstance(again, str)
    assert await rig.end(again) == "failed"
    error = next(fact.output.error for fact in await rig.facts(again) if isinstance(fact, e.StepFailed))
    assert error is not None
    assert error.kind == "reference_not_available"
    await plane.stop()


NEVER = Limits(collect_after_s=1e9)


@played
async def test_a_rerun_that_begins_while_what_nobody_holds_is_collected_has_its_data(rig: Rig) -> None:
    """Its objects were put long ago, and it holds them only after it was found out what is held."""
    rig.bench.does["a"] = large
    store = _Interrupted(rig.clock)
    rig.store = store  # type: ignore[assignment]
    plane = rig.serve(NEVER)
    rig.work(plane)
    name = await rig.begin(plane, TIMED)
    assert await rig.end(name) == "completed"
    await asyncio.sleep(3_600 + 2 * GRACE_S)
    origin = await rig.store.summary(name)
    assert origin is not None
    begun: list[str | Rejection] = []

    async def begin() -> None:
        begun.append(await plane.rerun(origin, Cut(from_step="b"), {}))

    store.meanwhile = begin
    await Collector(store, rig.results, rig.clock, LIMITS)._collect("")
    (again,) = begun
    assert isinstance(again, str)
    assert await rig.end(again) == "completed"
    assert len(rig.results.names) == 1
    await plane.stop()


CALLER = (
    head("caller")
    + """
workflow:
  - step: call
    tool: { name: call, kind: playbook, path: timed }
    next: { arcs: [ { step: c } ] }
  - step: c
    tool: { name: d, kind: python, code: x, input: { rows: "{{ call.data }}" } }
"""
)


@played
async def test_what_a_called_playbook_gave_is_kept_until_its_caller_has_it(rig: Rig) -> None:
    """The answer is on its way for a long time: the child has ended, and its caller does not refer to the data yet."""
    rig.bench.does |= {"c": large}
    spec = "{ result: { inline_max_bytes: 1000, ttl: 1h } }"
    await rig.register(TIMED.replace('{ rows: "{{ a.data }}" }', f"{{ n: 1 }}, spec: {spec}"))
    plane = rig.serve(NEVER)
    rig.work(plane)
    collected: list[Collected] = []

    async def wait_and_collect() -> None:
        if all(summary.parent is None or not summary.has_ended for summary in rig.store._summaries.values()):
            rig.store.before_commit = wait_and_collect
            return
        await asyncio.sleep(3_600 + 2 * GRACE_S)
        collected.append(await Collector(rig.store, rig.results, rig.clock, LIMITS)._collect(""))

    rig.store.before_commit = wait_and_collect
    name = await rig.begin(plane, CALLER)
    assert await rig.end(name) == "completed"
    assert collected == [Collected()]
    assert rig.bench.runs[-1].input == {"rows": ["x" * 5_000]}
    await plane.stop()


@played
async def test_a_run_that_goes_on_keeps_its_data_beyond_the_time(rig: Rig) -> None:
    rig.bench.does |= {"a": large, "b": answering(Output(), after_s=2 * 3_600)}
    plane = rig.serve(LIMITS)
    rig.work(plane)
    assert await rig.end(await rig.begin(plane, TIMED)) == "completed"
    assert rig.bench.runs[-1].input == {"rows": ["x" * 5_000]}
    await plane.stop()


# ------------------------------------------------------------------------------ in any order


class Put(msgspec.Struct, frozen=True):
    number: int


class Commit(msgspec.Struct, frozen=True):
    number: int
    ttl_s: float | None
    ends: bool


class Pass(msgspec.Struct, frozen=True):
    seconds: float


class Collect(msgspec.Struct, frozen=True):
    """`between` happens after it was found out what is held, and before anything is removed."""

    between: Sequence[Put | Commit | Pass]


NUMBERS = st.integers(0, 1)
TIMES_S = st.sampled_from([1.0, 30.0, GRACE_S - 1, GRACE_S, 3 * GRACE_S])
SMALL = st.one_of(
    st.builds(Put, NUMBERS),
    st.builds(Commit, NUMBERS, st.one_of(st.none(), TIMES_S), st.booleans()),
    st.builds(Pass, TIMES_S),
)
ANY = st.one_of(SMALL, SMALL, st.builds(Collect, st.lists(SMALL, max_size=4)))


class _World:
    """One execution for each object. An event comes at most a grace period after its object was put, as is promised."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.store = _Interrupted(self.clock)
        self.results = MemoryResults(self.clock)
        self.collector = Collector(self.store, self.results, self.clock, LIMITS)
        self.put_at: dict[int, float] = {}
        self.until: dict[int, float] = {}
        self.live: set[int] = set()
        self.lost: list[tuple[Put | Commit | Pass | Collect, int]] = []

    async def do(self, step: Put | Commit | Pass | Collect) -> None:
        now = self.clock.now()
        match step:
            case Put(number):
                await self.results.put([blob(number)])
                self.put_at[number] = now
            case Commit(number, ttl_s, ends):
                if now - self.put_at.get(number, -GRACE_S) <= GRACE_S:
                    await self.commit(number, ttl_s, ends=ends)
            case Pass(seconds):
                self.clock.pass_s(seconds)
            case Collect(between):
                self.store.meanwhile = lambda: self.all(between)
                await self.collector._collect("")
        self.lost += [(step, number) for number in self.until if await self.is_lost(number)]

    async def all(self, steps: Sequence[Put | Commit | Pass]) -> None:
        for step in steps:
            await self.do(step)

    async def commit(self, number: int, ttl_s: float | None, *, ends: bool) -> None:
        until = self.clock.now() + ttl_s if ttl_s is not None else None
        name, status = f"e{number}", "completed" if ends else "running"
        hold = Hold(blob(number).sha256, until)
        append = Append(name, await self.store.head(name), [b"event"], summary=summary(name, status), holds=[hold])
        (answer,) = await self.store.commit([append])
        assert isinstance(answer, Appended)
        self.until[number] = max(until if until is not None else float("inf"), self.until.get(number, 0.0))
        (self.live.discard if ends else self.live.add)(number)

    async def is_lost(self, number: int) -> bool:
        """Whether it is needed and not there."""
        is_needed = number in self.live or self.until[number] > self.clock.now()
        return is_needed and await self.results.get(blob(number).sha256) is None


class _Interrupted(MemoryStore):
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def held(self, prefix: str) -> Held:
        found = await super().held(prefix)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return found


@settings(max_examples=300)
@example([Put(1), Pass(30.0), Collect([Commit(1, None, True), Pass(GRACE_S)])])
@given(st.lists(ANY, max_size=25))
def test_nothing_that_is_needed_is_ever_removed_whatever_happens_in_between(steps: Sequence[Put | Collect]) -> None:
    async def play() -> object:
        world = _World()
        for step in steps:
            await world.do(step)
        return world.lost

    assert asyncio.run(play()) == []


def test_what_is_not_needed_is_removed_in_the_end() -> None:
    async def play() -> Collected:
        world = _World()
        for step in (Put(1), Put(2), Put(3), Commit(2, 30.0, True), Commit(3, None, True), Pass(2 * GRACE_S)):
            await world.do(step)
        return await world.collector._collect("")

    assert asyncio.run(play()) == Collected(2, 2)
