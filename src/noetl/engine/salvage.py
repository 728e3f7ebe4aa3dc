"""What of a loop is kept when it runs again: the iterations that gave all they should, at every level.

It is gathered while the log is passed over once, and takes a byte an iteration. Of what had succeeded as a whole
nothing inside is remembered, for it is part of its end.
"""

from collections.abc import Sequence

from noetl.engine import events as e

_WHOLE = 1
"""The iteration gave all it should: itself, and in the loops inside it."""

_HURT = 2
"""It failed, or went on though something inside it had failed."""


class Salvage:
    """One run of a step that loops. Of its loops it knows the outermost, and those inside iterations that go on."""

    def __init__(self, outermost: e.LoopStarted) -> None:
        self._loops: dict[e.Path, bytearray] = {}
        self._unopened: set[e.Path] = set()
        self._is_clashing = False
        self.note(outermost)

    @property
    def has_any(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self._unopened) or any(_WHOLE in marks for marks in self._loops.values())

    @property
    def is_unfinished(self) -> bool:
        """Whether some iteration did not succeed."""
        marks = self._loops[()]
        return not self._is_clashing and marks.count(_WHOLE) < len(marks)

    def note(self, fact: e.LoopStarted | e.IterationDone | e.IterationFailed | e.StepFailed) -> None:
        """Takes the facts of the run in their order. Iterations of a workbook block, by its `call`, are none of it."""
        match fact:
            case e.LoopStarted():
                self._loops[fact.path] = _marks(fact)
                self._unopened.discard(fact.path)
                self._unopened.update(inside.path for inside in _begun(fact) if _keeps_any(inside))
            case e.StepFailed():
                self._is_clashing = self._clash(())
            case e.IterationDone(call=""):
                self._done(fact.path)
            case e.IterationFailed(call=""):
                self._clash(fact.path)
                self._loops[fact.path[:-1]][fact.path[-1]] = _HURT
            case _:
                pass

    def keeps(self, fact: e.Fact) -> bool:
        """Whether a fact of the run is taken over. What is inside a whole iteration is part of its end."""
        match fact:
            case e.StepScheduled():
                return True
            case e.LoopStarted():
                return fact.path in self._loops
            case e.CtxPatched():
                return self._is_whole(fact.origin.iteration)
            case e.IterationStarted(call=""):
                return self._is_end(fact.path) or fact.path in self._loops
            case e.IterationDone(call=""):
                return self._is_end(fact.path)
            case _:
                return False

    def _done(self, path: e.Path) -> None:
        inside = self._loops.get(path)
        is_whole = inside is None or _HURT not in inside
        if is_whole:
            self._loops.pop(path, None)
        self._loops[path[:-1]][path[-1]] = _WHOLE if is_whole else _HURT

    def _clash(self, path: e.Path) -> bool:
        """A loop that failed though each of its iterations had succeeded: what these wrote does not go together."""
        marks = self._loops.get(path)
        if not marks or marks.count(_WHOLE) < len(marks):
            return False
        self._loops[path] = bytearray(len(marks))
        return True

    def _is_end(self, path: e.Path) -> bool:
        marks = self._loops.get(path[:-1])
        return marks is not None and marks[path[-1]] == _WHOLE

    def _is_whole(self, path: e.Path) -> bool:
        """By itself, or as part of an iteration around it."""
        return any(self._is_end(path[:length]) for length in range(1, len(path) + 1))


def _marks(started: e.LoopStarted) -> bytearray:
    """With the iterations that the origin itself had taken over."""
    marks = bytearray(started.count)
    if started.kept is not None:
        for start, stop in zip(started.kept.ended.starts, started.kept.ended.stops, strict=True):
            marks[start:stop] = bytes([_WHOLE]) * (stop - start)
    return marks


def _begun(started: e.LoopStarted) -> Sequence[e.LoopStarted]:
    """The loops that the origin itself had taken over, and goes on with when it opens the iterations around them."""
    return started.kept.begun if started.kept is not None else ()


def _keeps_any(started: e.LoopStarted) -> bool:
    assert started.kept is not None
    return started.kept.succeeded > 0 or any(map(_keeps_any, started.kept.begun))
