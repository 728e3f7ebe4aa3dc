"""What a list of guarded options does: in which rows each one is taken, and in which none is."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from noetl.playbook.model import Guard, RouteMode
from noetl.playbook.net.guards import read_guard
from noetl.playbook.net.truth import Case, Fact, Formula, Some, Table, Truth, tabulate

STEP_DONE, LOOP_DONE, STEP_FAILED = "step.done", "loop.done", "step.failed"

ENDINGS = tuple((event, status) for event in (STEP_DONE, LOOP_DONE, STEP_FAILED) for status in ("ok", "error"))
"""The boundary event of a step run and the status of the output that comes with it, in all combinations."""

_ON_SUCCESS = Some((Fact("event.name", STEP_DONE), Fact("event.name", LOOP_DONE)))
_ENTERING: tuple[Case, ...] = ({},)
_AFTER_TASK: tuple[Case, ...] = ({"output.status": "ok"}, {"output.status": "error"})
_AFTER_STEP: tuple[Case, ...] = tuple(
    {
        "event.name": event,
        "event.status": "error" if event == STEP_FAILED else "success",
        "output.status": status,
    }
    for event, status in ENDINGS
)
_KEPT = 2_048


class Choices(msgspec.Struct, frozen=True, gc=False):
    """`taken` says for each option in which rows it is taken; `none` where no option is."""

    formulas: tuple[Formula, ...]
    table: Table
    taken: tuple[Truth, ...]
    none: Truth

    def is_never_true(self, index: int, rows: int) -> bool:
        return not self.table.truths[index].may & rows

    def is_never_taken(self, index: int, rows: int) -> bool:
        return not self.taken[index].may & rows

    def shadows_of(self, index: int, rows: int) -> tuple[int, ...]:
        """The earlier options that are true wherever this one can be: one alone, if one is enough."""
        wanted = self.table.truths[index].may & rows
        earlier = self.table.truths[:index]
        for position, truth in enumerate(earlier):
            if not wanted & ~truth.must:
                return (position,)
        return tuple(position for position, truth in enumerate(earlier) if wanted & truth.must)


# Policies and plain routers repeat from step to step, so equal lists of guards are decided once.


@lru_cache(maxsize=_KEPT)
def entering_choices(guards: tuple[Guard, ...]) -> Choices:
    """The first true guard of those asked before anything ran: admission, `before`."""
    return _first_match(tuple(read_guard(guard) for guard in guards), _ENTERING)


@lru_cache(maxsize=_KEPT)
def task_choices(guards: tuple[Guard, ...]) -> Choices:
    """The first true guard of a task's rules. The cases are ok and error."""
    return _first_match(tuple(read_guard(guard) for guard in guards), _AFTER_TASK)


@lru_cache(maxsize=_KEPT)
def step_choices(guards: tuple[Guard, ...], mode: RouteMode) -> Choices:
    """What a router takes. The cases are `ENDINGS`; without a guard an arc is for successes."""
    formulas = tuple(_ON_SUCCESS if guard is None else read_guard(guard) for guard in guards)
    choose = _first_match if mode is RouteMode.EXCLUSIVE else _all_matches
    return choose(formulas, _AFTER_STEP)


def _first_match(formulas: tuple[Formula, ...], cases: Sequence[Case]) -> Choices:
    table = tabulate(formulas, cases)
    may_be_left = must_be_left = table.rows
    taken = []
    for truth in table.truths:
        taken.append(Truth(truth.may & may_be_left, truth.must & must_be_left))
        may_be_left &= ~truth.must
        must_be_left &= ~truth.may
    return Choices(formulas, table, tuple(taken), Truth(may_be_left, must_be_left))


def _all_matches(formulas: tuple[Formula, ...], cases: Sequence[Case]) -> Choices:
    table = tabulate(formulas, cases)
    may_be_left = must_be_left = table.rows
    for truth in table.truths:
        may_be_left &= ~truth.must
        must_be_left &= ~truth.may
    return Choices(formulas, table, table.truths, Truth(may_be_left, must_be_left))
