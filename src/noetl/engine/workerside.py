"""What templates on a worker see, and where its pipeline stands."""

from collections.abc import Mapping

import msgspec

from noetl.engine.binding import Scope
from noetl.engine.cursor import Cursor, Frame
from noetl.engine.events import Patch, Path, Values
from noetl.engine.names import entity_id
from noetl.engine.output import Output, view
from noetl.engine.program import Program, ReadyPipeline, ReadyTask
from noetl.engine.reference import GONE
from noetl.engine.scopes import iterators, patched
from noetl.playbook.model import Dialect


class Given(msgspec.Struct, frozen=True):
    """What the claim brought: everything the pipeline may read besides what it makes itself.

    It `is_whole` where nothing of it is gone.
    """

    execution_id: str
    step: str
    step_run_id: str
    path: Path = ()
    workload: Values = {}
    ctx: Values = {}
    input: Values = {}
    iter: Values | None = None
    outputs: Mapping[str, object] = {}
    is_whole: bool = True


class Standing(msgspec.Struct, frozen=True):
    """A pipeline at its cursor. `now` and `draw`, a number in [0, 1), come from the shell."""

    program: Program
    given: Given
    cursor: Cursor
    now: float
    draw: float

    def pipeline(self, frame: Frame) -> ReadyPipeline:
        return pipeline_of(self.program, frame, self.given.step)

    def run_id(self, frame: Frame, task: ReadyTask, number: int) -> str:
        return run_id(frame, self.given.step_run_id, self.given.path, task.task.name, number)


def pipeline_of(program: Program, frame: Frame, step: str) -> ReadyPipeline:
    return program.block_pipeline(frame.block, step) if frame.block else program.pipeline(step)


def run_id(frame: Frame, step_run_id: str, path: Path, task: str, number: int) -> str:
    """`fetch#2[17].get_page/3`; inside a workbook block `fetch#2.call/1[0].get_page/3`."""
    around = entity_id(frame.call, frame.indexes) if frame.call else entity_id(step_run_id, path)
    return f"{around}.{task}/{number}"


def task_scope(standing: Standing, frame: Frame, task: ReadyTask, attempt: int) -> dict[str, object]:
    """What a task's templates see, but for its own output."""
    given = standing.given
    own = frame.input if frame.block else given.input
    scratch = _scratch(frame, given)
    words = _words(standing, own) | {"step": frame.step, "_prev": frame.prev}
    words |= {"_task": task.task.name, "_attempt": attempt}
    if scratch is not None:
        words["iter"] = scratch
    bare = iterators(standing.pipeline(frame).iterators, scratch)
    return {**given.workload, **bare, **given.outputs, **frame.outputs, **words}


def block_loop_scope(standing: Standing, own: Values, names: tuple[str, ...], scratch: Values | None) -> Scope:
    """What `loop.in` of a workbook block sees. `names` are the iterators around it, inside the block."""
    words = _words(standing, own)
    if scratch is not None:
        words["iter"] = scratch
    return {**standing.given.workload, **iterators(names, scratch), **standing.given.outputs, **words}


def seen(output: Output, kind: str, dialect: Dialect) -> dict[str, object]:
    shown = view(output, kind, dialect)
    return {"output": shown, "outcome": shown} if dialect is Dialect.V10 else {"output": shown}


def with_input(scope: dict[str, object], own: Values, dialect: Dialect) -> dict[str, object]:
    """The scope with a task's own input laid over its step's."""
    around = scope["input"]
    assert isinstance(around, Mapping)
    laid = {**around, **own}
    return scope | ({"input": laid, "args": laid} if dialect is Dialect.V10 else {"input": laid})


def with_patch(scope: dict[str, object], patch: Patch) -> dict[str, object]:
    """The scope as it is after a `set`."""
    changed = dict(scope)
    for name, own in (("ctx", patch.ctx), ("step", patch.step), ("iter", patch.iter)):
        before = changed.get(name)
        if own and isinstance(before, Mapping):
            changed[name] = patched(before, own)
    return changed


def _scratch(frame: Frame, given: Given) -> Values | None:
    """`iter` as it is now: what the iteration began with and what was written since."""
    base = frame.base if frame.call else given.iter
    return patched(base, frame.iter) if base is not None and frame.iter else base


def _words(standing: Standing, own: Values) -> dict[str, object]:
    given, written = standing.given, standing.cursor.ctx
    words: dict[str, object] = {
        "workload": given.workload,
        "ctx": patched(given.ctx, written) if written else given.ctx,
        "input": own,
        "execution_id": given.execution_id,
    }
    if standing.program.playbook.dialect is Dialect.V10:
        words["args"] = own
    if not given.is_whole:
        words[GONE] = True
    return words
