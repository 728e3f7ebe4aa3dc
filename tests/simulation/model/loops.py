"""Loops of steps and of workbook blocks: every iteration on its own, then what they come to together."""

from collections.abc import Callable, Mapping

import msgspec

from noetl.engine.output import Loop as Counts
from noetl.engine.reference import Reference
from noetl.playbook.model import FailureMode, Loop, LoopMode, Reducer, Step, Task
from tests.simulation.model.outputs import NOTHING, Out, failure, kind_of
from tests.simulation.model.pipelines import Pipeline, Setting, Stage, Thread, bare_iterators, task_runs_max
from tests.simulation.model.reducing import Conflict, Kept, gathered, reduced
from tests.simulation.model.values import (
    UNSURE,
    Broken,
    FromLog,
    Lost,
    Patch,
    Unsure,
    as_worker_sees,
    both,
    patched,
    scope_of_worker,
)

Values = Mapping[str, object]


class StepBroken(Exception):
    """The whole step run fails, whatever its other iterations do. `counts` are those of its outermost loop."""

    def __init__(self, kind: str, counts: Counts | Unsure | None = UNSURE) -> None:
        super().__init__(kind)
        self.kind = kind
        self.counts = counts


class Ended(msgspec.Struct, frozen=True):
    """How an iteration or a loop ended. `kinds` are the errors it may have failed with, if it did.

    `is_shaky`: which iterations ran at all depends on the order of things. `breaks`: it ends the whole step run.
    """

    output: Out
    patch: Patch = {}
    kept: Kept = {}
    step: Values = {}
    kinds: frozenset[object] = frozenset()
    is_shaky: bool = False
    breaks: bool = False
    counts: Counts | None = None


class StepLoop:
    """The loop of one step run. `scope` is what its templates see besides `ctx` and `iter`.

    `patch` and `carried` are what stays of it, in ctx and in `step`, where the step breaks.
    """

    def __init__(self, setting: Setting, step: Step, run_id: str, given: Values, scope: dict[str, object]) -> None:
        self.setting = setting
        self.step = step
        self.run_id = run_id
        self.given = given
        self.scope = scope
        self.levels = list(step.loop.levels()) if step.loop is not None else []
        self.patch: Patch = {}
        self.carried: Values = {}
        self.log: list[tuple[str, object]] = []

    def run(self, ctx: dict[str, object]) -> Ended:
        return self.level((), ctx, {}, None)

    def level(self, path: tuple[int, ...], ctx: dict[str, object], step: Values, scratch: Values | None) -> Ended:
        loop = self.levels[len(path)]
        items, in_flight = self.collection(loop, path, ctx, scratch)
        ends: list[Ended] = []
        patch: Patch = {}
        one_by_one = loop.mode is LoopMode.SEQUENTIAL or in_flight == 1
        for index, item in enumerate(items):
            inner = iteration_scope(loop.iterator, item, index, len(items), scratch)
            own = step if loop.mode is LoopMode.SEQUENTIAL else {}
            ended = self.guarded((*path, index), ctx, own, inner, is_alone=one_by_one or len(items) == 1)
            ends.append(ended)
            if loop.mode is LoopMode.SEQUENTIAL:
                step = ended.step
                if not ended.kinds:
                    patch, ctx = both(patch, ended.patch), patched(ctx, ended.patch)
                self.note(path, patch, step, ended)
            if one_by_one and ended.kinds and (self.is_fail_fast or ended.is_shaky):
                break
        is_shaky = not one_by_one and len(items) > 1
        return self.end(loop, path, len(items), ends, ctx, patch, step, is_shaky=is_shaky)

    def guarded(
        self, path: tuple[int, ...], ctx: dict[str, object], step: Values, scratch: dict[str, object], *, is_alone: bool
    ) -> Ended:
        """Where the step breaks in one of several iterations, nobody knows how far the others are."""
        try:
            return self.iteration(path, ctx, step, scratch)
        except StepBroken as broken:
            if is_alone:
                raise
            return Ended(failure(broken.kind), kinds=frozenset({broken.kind}), is_shaky=True, breaks=True)
        except Broken as broken:
            if is_alone:
                raise
            raise Lost("a template breaks beside other iterations") from broken

    def note(self, path: tuple[int, ...], patch: Patch, step: Values, ended: Ended) -> None:
        """A sequential loop of its own, not inside another, is seen by others after each of its iterations."""
        if not path:
            self.patch, self.carried = patch, step
            self.log.extend({} if ended.kinds else ended.patch.items())

    @property
    def is_fail_fast(self) -> bool:
        return self.step.failure is FailureMode.FAIL_FAST

    def collection(
        self, loop: Loop, path: tuple[int, ...], ctx: Values, scratch: Values | None
    ) -> tuple[list[object], int]:
        scope = {**self.scope, "ctx": ctx}
        if scratch is not None:
            names = tuple(level.iterator for level in self.levels[: len(path)])
            scope = {**bare_iterators(names, scratch), **scope, "iter": scratch}
        items = self.setting.reader.evaluate(loop.in_, scope)
        in_flight = 1
        if loop.mode is LoopMode.PARALLEL:
            found = self.setting.reader.evaluate(loop.max_in_flight, scope)
            if isinstance(found, bool) or not isinstance(found, int) or found < 1:
                raise Broken
            in_flight = found
        if items is UNSURE or isinstance(items, Reference):
            raise Lost("a collection that is stored elsewhere")
        items = items.items if isinstance(items, FromLog) else items
        if not isinstance(items, list | tuple):
            raise StepBroken("loop_collection", UNSURE if path else None)
        return list(items), in_flight

    def iteration(
        self, path: tuple[int, ...], ctx: dict[str, object], step: Values, scratch: dict[str, object]
    ) -> Ended:
        if len(path) < len(self.levels):
            return self.level(path, ctx, step, scratch)
        thread = Thread(scope_of_worker(ctx))
        stage = Stage(
            self.step.tool,
            f"{self.run_id}[{','.join(map(str, path))}]",
            task_runs_max(*layers(self.setting, self.step)),
            scope_of_worker(self.given),
            dict(step),
            scope_of_worker(scratch),
            tuple(level.iterator for level in self.levels),
        )
        end = Pipeline(self.setting, thread, stage, Blocks(self.step).call).run()
        kinds = frozenset({kind_of(end.output)}) if end.is_failed else frozenset()
        return Ended(end.output, {} if kinds else thread.written, step=stage.step, kinds=kinds)

    def end(
        self,
        loop: Loop,
        path: tuple[int, ...],
        total: int,
        ends: list[Ended],
        ctx: Values,
        patch: Patch,
        step: Values,
        *,
        is_shaky: bool,
    ) -> Ended:
        bad = [ended for ended in ends if ended.kinds]
        counts = Counts(total, len(ends) - len(bad), len(bad), total - len(ends))
        breaking = [ended for ended in bad if ended.breaks]
        if breaking and not self.is_fail_fast:
            bad = breaking
        if bad and (self.is_fail_fast or breaking):
            shaky = (is_shaky and self.is_fail_fast) or any(ended.is_shaky for ended in bad)
            return self.failed(bad, counts, patch, step, is_shaky=shaky)
        kept: Kept = {}
        if loop.mode is LoopMode.PARALLEL:
            good = [(ended.patch, ended.kept) for ended in ends if not ended.kinds]
            try:
                patch, kept = self.merged(loop, path, good, ctx)
            except Conflict:
                broken = frozenset({"ctx_conflict"})
                output = msgspec.structs.replace(failure("ctx_conflict"), loop=counts)
                return Ended(output, kinds=broken, step=step, breaks=True, counts=counts)
        output = loop_output(ends, counts)
        return Ended(output, patch, kept, step, counts=counts)

    def failed(self, bad: list[Ended], counts: Counts, patch: Patch, step: Values, *, is_shaky: bool) -> Ended:
        """In a parallel loop any of those that fail may be the one that is told of."""
        kinds = frozenset(kind for ended in bad for kind in ended.kinds)
        output = bad[0].output
        if is_shaky and (len(bad) > 1 or bad[0].is_shaky):
            output = Out("error", UNSURE, UNSURE, {"kind": next(iter(kinds)) if len(kinds) == 1 else UNSURE})
        output = msgspec.structs.replace(output, loop=UNSURE if is_shaky else counts)
        breaks = any(ended.breaks for ended in bad)
        return Ended(output, patch, {}, step, kinds, is_shaky, breaks, None if is_shaky else counts)

    def merged(
        self, loop: Loop, path: tuple[int, ...], good: list[tuple[Patch, Kept]], ctx: Values
    ) -> tuple[Patch, Kept]:
        """What the loop writes; keys that the loop around reduces in the same way it goes on with by itself."""
        around = self.levels[len(path) - 1] if path else None
        shared: Mapping[str, Reducer] = {}
        if around is not None and around.mode is LoopMode.PARALLEL:
            shared = {key: each for key, each in loop.reduce.items() if around.reduce.get(key) is each}
        agreed, kept = gathered(good, loop.reduce)
        for key in kept:
            self.setting.reader.touch(("ctx", *key.split(".")))
        written = {
            key: reduced(loop.reduce[key], as_worker_sees(_at(ctx, key)), values) for key, values in kept.items()
        }
        written = {key: value for key, value in written.items() if key not in shared}
        return {**agreed, **written}, {key: values for key, values in kept.items() if key in shared}


class Blocks:
    """Workbook blocks, called from the pipeline of a step."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def call(self, caller: Pipeline, task: Task, run_id: str, scope: dict[str, object]) -> Out:
        """The block's defaults under the caller's input under that of the call."""
        setting = caller.setting
        block = setting.playbook.workbook[str(task.fields["task"])]
        bound = setting.reader.evaluate(dict(task.input), scope)
        defaults = setting.reader.evaluate(dict(block.input), scope)
        assert isinstance(bound, dict)
        assert isinstance(defaults, dict)
        given = {**defaults, **caller.stage.input, **bound}
        levels = list(block.loop.levels()) if block.loop is not None else []
        limit = task_runs_max(*layers(setting, self.step), *(level.spec for level in levels))
        names = tuple(level.iterator for level in levels)
        stage = Stage(block.tool, run_id, limit, given, iterators=names, depth=caller.stage.depth + 1)
        if not levels:
            end = Pipeline(setting, caller.thread, stage, self.call).run()
            is_fine = end.is_failed or end.output.is_ok
            return end.output if is_fine else msgspec.structs.replace(end.output, status="ok", error=None)
        return BlockLoop(caller, stage, levels, self.call).level((), None, caller.stage.iter)[0]


class BlockLoop:
    """A looped block: its iterations are parts of one thread, one after the other; the first failure ends it."""

    def __init__(
        self,
        caller: Pipeline,
        stage: Stage,
        levels: list[Loop],
        call: Callable[[Pipeline, Task, str, dict[str, object]], Out],
    ) -> None:
        self.caller = caller
        self.stage = stage
        self.levels = levels
        self.call = call
        self.step: dict[str, object] = {}

    def level(self, path: tuple[int, ...], scratch: Values | None, parent: Values | None) -> tuple[Out, bool]:
        """The output, and whether it failed. `scratch` is what `in` sees as `iter`, `parent` what iterations do."""
        loop = self.levels[len(path)]
        items = self.items(loop, path, scratch)
        data: list[Out] = []
        for index, item in enumerate(items):
            inner = iteration_scope(loop.iterator, item, index, len(items), parent)
            before = (self.caller.thread.written, self.step)
            output, is_failed = self.iteration((*path, index), inner)
            is_changed = before != (self.caller.thread.written, self.step)
            if is_changed and (is_failed or loop.mode is LoopMode.PARALLEL):
                raise Lost("what iterations of a block write when they fail or are parallel")
            if is_failed:
                counts = Counts(len(items), len(data), 1, len(items) - len(data) - 1)
                return msgspec.structs.replace(output, loop=counts), True
            data.append(output)
        return Out(data=[each.data for each in data], loop=Counts(len(items), len(items), 0, 0)), False

    def items(self, loop: Loop, path: tuple[int, ...], scratch: Values | None) -> list[object]:
        setting = self.caller.setting
        scope: dict[str, object] = {
            **setting.workload,
            **bare_iterators(self.stage.iterators[: len(path)], scratch),
            **setting.outputs,
            "workload": setting.workload,
            "ctx": self.caller.thread.ctx,
            "execution_id": setting.execution_id,
            **self.caller.inputs(self.stage.input),
        }
        if scratch is not None:
            scope["iter"] = scratch
        items = setting.reader.evaluate(loop.in_, scope)
        if items is UNSURE:
            raise Lost("a collection that is unsure")
        if not isinstance(items, list | tuple):
            raise Broken("loop_collection")
        return list(items)

    def iteration(self, path: tuple[int, ...], scratch: dict[str, object]) -> tuple[Out, bool]:
        if len(path) < len(self.levels):
            try:
                return self.level(path, scratch, scratch)
            except Broken as broken:
                return failure(broken.kind), True
        stage = msgspec.structs.replace(
            self.stage,
            id=f"{self.stage.id}[{','.join(map(str, path))}]",
            step=self.step,
            iter=scratch,
            runs={},
            named={},
        )
        end = Pipeline(self.caller.setting, self.caller.thread, stage, self.call).run()
        self.step = stage.step
        return end.output, end.is_failed


def loop_output(ends: list[Ended], counts: Counts) -> Out:
    """The iterations' data in index order; one whose data is stored elsewhere lets the whole be read from the log."""
    good = [ended.output if not ended.kinds else NOTHING for ended in ends]
    if any(output.data is UNSURE for output in good):
        return Out(data=UNSURE, ref=UNSURE, loop=counts)
    items = [output.ref if _is_of_tool(output) else as_worker_sees(output.data) for output in good]
    if any(_is_of_tool(output) or isinstance(output.data, FromLog) for output in good):
        return Out(data=FromLog(items), ref=UNSURE, loop=counts)
    return Out(data=items, loop=counts)


def _is_of_tool(output: Out) -> bool:
    """Whether its tool stored the data itself. What the runtime stores it has the data of, be it null."""
    return output.data is None and isinstance(output.ref, Reference)


def iteration_scope(iterator: str, item: object, index: int, count: int, parent: Values | None) -> dict[str, object]:
    scope: dict[str, object] = {iterator: item, "index": index, "count": count}
    return scope if parent is None else {**scope, "parent": parent}


def layers(setting: Setting, step: Step) -> list[Values]:
    levels = step.loop.levels() if step.loop is not None else ()
    return [setting.playbook.executor.spec, step.spec, *(level.spec for level in levels)]


def _at(ctx: Values, path: str) -> object:
    found: object = ctx
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
