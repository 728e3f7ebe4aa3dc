"""What of a loop is kept when it runs again: the iterations that gave all they should, at every level."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from noetl.engine import events as e

Paths = dict[str, set[e.Path]]
"""Of each run of a loop some of its iterations."""


class Salvage(msgspec.Struct, frozen=True):
    """`whole` are the iterations that are kept; `begun` are the loops inside others that go on, and the outermost."""

    whole: frozenset[e.Path]
    begun: frozenset[e.Path]

    def keeps(self, fact: e.Fact) -> bool:
        """Whether a fact of the loop's run is taken over. What is inside a whole iteration is part of its end."""
        match fact:
            case e.StepScheduled():
                return True
            case e.LoopStarted():
                return fact.path in self.begun
            case e.CtxPatched():
                return fact.origin.iteration in self.whole
            case e.IterationStarted(call="", path=(*around, _)):
                return tuple(around) not in self.whole and (fact.path in self.whole or fact.path in self.begun)
            case e.IterationDone(call="", path=(*around, _)):
                return tuple(around) not in self.whole and fact.path in self.whole
            case _:
                return False


def unfinished(facts: Sequence[e.Fact]) -> set[str]:
    """The runs of loops of which some iteration did not succeed."""
    whole = _whole(facts)
    counts = {fact.step_run_id: fact.count for fact in facts if isinstance(fact, e.LoopStarted) and not fact.path}
    return {run for run, count in counts.items() if sum(len(path) == 1 for path in whole.get(run, ())) < count}


def salvage(facts: Sequence[e.Fact]) -> dict[str, Salvage]:
    """What can be kept of each run of a loop. It may be nothing."""
    whole = _whole(facts)
    for run, loops in _clashing(facts, whole).items():
        whole[run] = {path for path in whole[run] if loops.isdisjoint(path[:length] for length in range(len(path)))}
    begun: Paths = {}
    for fact in facts:
        if isinstance(fact, e.LoopStarted):
            begun.setdefault(fact.step_run_id, set()).add(fact.path)
    return {
        run: Salvage(frozenset(whole.get(run, ())), frozenset(paths - whole.get(run, set())))
        for run, paths in begun.items()
    }


def _whole(facts: Sequence[e.Fact]) -> Paths:
    """Of each loop the iterations that gave all they should: themselves, and in the loops inside them."""
    found: Paths = {}
    for fact in facts:
        match fact:
            case e.LoopStarted(kept=e.Kept()):
                found.setdefault(fact.step_run_id, set()).update(_kept_before(fact))
            case e.IterationDone(call=""):
                found.setdefault(fact.step_run_id, set()).add(fact.path)
    for run, path in _failures(facts):
        if run in found:
            found[run] -= {path[:length] for length in range(1, len(path) + 1)}
    return found


def _kept_before(started: e.LoopStarted) -> Iterator[e.Path]:
    """The iterations that the origin itself had taken over, those in loops it did not come to included."""
    assert started.kept is not None
    gaps = set(started.kept.ended.gaps(started.count))
    yield from ((*started.path, index) for index in range(started.count) if index not in gaps)
    for inside in started.kept.begun:
        yield from _kept_before(inside)


def _failures(facts: Iterable[e.Fact]) -> Iterator[tuple[str, e.Path]]:
    """The iterations that failed, and with an empty path the loops that did."""
    for fact in facts:
        match fact:
            case e.IterationFailed(call=""):
                yield fact.step_run_id, fact.path
            case e.StepFailed():
                yield fact.step_run_id, ()


def _clashing(facts: Sequence[e.Fact], whole: Paths) -> Paths:
    """Loops that failed though each of their iterations had succeeded: what these wrote does not go together."""
    failed = set(_failures(facts))
    found: Paths = {}
    for fact in facts:
        if isinstance(fact, e.LoopStarted) and fact.count > 0 and (fact.step_run_id, fact.path) in failed:
            own = whole.get(fact.step_run_id, set())
            if all((*fact.path, index) in own for index in range(fact.count)):
                found.setdefault(fact.step_run_id, set()).add(fact.path)
    return found
