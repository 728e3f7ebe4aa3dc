"""What a list of guarded options does: in which rows each one is taken, and in which none is."""

from collections.abc import Sequence

import msgspec

from noetl.playbook.net.truth import Case, Formula, Table, Truth, tabulate


class Choices(msgspec.Struct, frozen=True):
    """`taken` says for each option in which rows it is taken; `none` where no option is."""

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


def first_match(formulas: Sequence[Formula], cases: Sequence[Case]) -> Choices:
    """The first true option is taken, and no other."""
    table = tabulate(formulas, cases)
    may_be_left = must_be_left = table.rows
    taken = []
    for truth in table.truths:
        taken.append(Truth(truth.may & may_be_left, truth.must & must_be_left))
        may_be_left &= ~truth.must
        must_be_left &= ~truth.may
    return Choices(table, tuple(taken), Truth(may_be_left, must_be_left))


def all_matches(formulas: Sequence[Formula], cases: Sequence[Case]) -> Choices:
    """Every true option is taken."""
    table = tabulate(formulas, cases)
    may_be_left = must_be_left = table.rows
    for truth in table.truths:
        may_be_left &= ~truth.must
        must_be_left &= ~truth.may
    return Choices(table, table.truths, Truth(may_be_left, must_be_left))
