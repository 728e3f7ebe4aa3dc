"""What the model expects of an execution. Whatever depends on the order of things is UNSURE, or one of several."""

from collections.abc import Mapping

import msgspec

from noetl.engine.output import Loop
from tests.simulation.model.outputs import Out
from tests.simulation.model.values import UNSURE, Unsure, is_unsure


class ExpectedRun(msgspec.Struct, frozen=True):
    """One step run: how it ends if it does, and whether it must. `loop` are the counts of its outermost loop."""

    boundary: str | Unsure
    loop: Loop | Unsure | None = None
    must: bool = True


class ExpectedTask(msgspec.Struct, frozen=True):
    directive: str
    must: bool = True


class Expected(msgspec.Struct, frozen=True):
    """`is_closed`: nothing runs that is not named here. `outputs` are what each step gave last.

    `error_kinds` and `results` are what is allowed: one where it is certain.
    """

    execution_id: str
    status: str | Unsure = UNSURE
    error_kinds: frozenset[object] | Unsure = UNSURE
    ctx: Mapping[str, object] | Unsure = UNSURE
    results: tuple[Out, ...] | Unsure = UNSURE
    runs: Mapping[str, ExpectedRun] = {}
    tasks: Mapping[str, ExpectedTask] = {}
    skipped: Mapping[str, int] | Unsure = UNSURE
    outputs: Mapping[str, object] = {}
    children: Mapping[str, "Expected"] = {}
    must: bool = True
    is_closed: bool = False
    doubts: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether every part is known."""
        known = (self.status, self.ctx, self.skipped, self.error_kinds)
        if is_unsure(known) or not self.is_closed or not self.must:
            return False
        if not all(run.must for run in self.runs.values()) or not all(task.must for task in self.tasks.values()):
            return False
        if any(run.boundary is UNSURE or run.loop is UNSURE for run in self.runs.values()):
            return False
        return self._is_one_result and all(child.is_certain for child in self.children.values())

    @property
    def _is_one_result(self) -> bool:
        results, kinds = self.results, self.error_kinds
        if isinstance(results, Unsure) or isinstance(kinds, Unsure):
            return False
        return len(kinds) <= 1 and len(results) == 1 and not is_unsure(results[0].data)
