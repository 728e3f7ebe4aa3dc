"""Decides lists of guards over every case and every value of their unknown parts at once.

A row is one case (say, the step failed) together with one value for each opaque condition; a set of rows is
an integer with a bit a row, so that `and`, `or` and `not` are single operations on whole truth tables.
Conditions beyond `CONDITIONS_MAX` get no column of their own: they may be either in every row.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import assert_never

import msgspec

CONDITIONS_MAX = 8

OPPOSITES = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "in": "not in",
    "not in": "in",
}

Case = Mapping[str, str]
"""What is known in one case, such as `event.name`; a name that is missing may have any value."""


class Literal(msgspec.Struct, frozen=True, gc=False):
    value: bool


class Condition(msgspec.Struct, frozen=True, gc=False):
    """Something that is true or false at run time: `subject` alone, or compared with `value`."""

    subject: str
    relation: str = ""
    value: str = ""
    is_text: bool = False


class Fact(msgspec.Struct, frozen=True, gc=False):
    """True where the case says that `name` is `value`; a condition like any other where it does not say."""

    name: str
    value: str

    @property
    def condition(self) -> Condition:
        return Condition(self.name, "==", repr(self.value), is_text=True)


class Negation(msgspec.Struct, frozen=True, gc=False):
    part: "Formula"


class Every(msgspec.Struct, frozen=True, gc=False):
    parts: "tuple[Formula, ...]"


class Some(msgspec.Struct, frozen=True, gc=False):
    parts: "tuple[Formula, ...]"


Formula = Literal | Condition | Fact | Negation | Every | Some


class Truth(msgspec.Struct, frozen=True, gc=False):
    """The rows in which something may be true, and those in which it certainly is."""

    may: int
    must: int


class Table(msgspec.Struct, frozen=True, gc=False):
    """`rows` are those that can occur. In an `odd` one both of two opposites, as `<` and `>=`, are false,
    which happens only with undefined values: reason enough to claim nothing, and no reason to warn."""

    rows: int
    odd: int
    cases: tuple[int, ...]
    truths: tuple[Truth, ...]


def tabulate(formulas: Sequence[Formula], cases: Sequence[Case]) -> Table:
    columns = _Columns(formulas, cases)
    impossible, odd = columns.constraints()
    rows = columns.every & ~impossible
    return Table(
        rows=rows,
        odd=odd & rows,
        cases=tuple(block & rows for block in columns.blocks),
        truths=tuple(_within(columns.truth(formula), rows) for formula in formulas),
    )


class _Columns:
    """The columns of one truth table. Built, asked and dropped within `tabulate`."""

    def __init__(self, formulas: Sequence[Formula], cases: Sequence[Case]) -> None:
        conditions: dict[Condition, None] = {}
        names = frozenset.intersection(*(frozenset(case) for case in cases))
        for formula in formulas:
            _collect(formula, names, conditions)
        self._known = tuple(conditions)[:CONDITIONS_MAX]
        self._cases = cases
        size = 1 << len(self._known)
        self.every = (1 << size * len(cases)) - 1
        self.blocks = tuple(((1 << size) - 1) << size * index for index in range(len(cases)))
        self._columns = {each: self._column(index) for index, each in enumerate(self._known)}

    def _column(self, index: int) -> int:
        half = 1 << index
        return self.every // ((1 << 2 * half) - 1) * (((1 << half) - 1) << half)

    def truth(self, formula: Formula) -> Truth:
        match formula:
            case Literal(value=value):
                return Truth(self.every, self.every) if value else Truth(0, 0)
            case Condition():
                column = self._columns.get(formula)
                return Truth(self.every, 0) if column is None else Truth(column, column)
            case Fact():
                return self._fact(formula)
            case Negation(part=part):
                inner = self.truth(part)
                return Truth(self.every & ~inner.must, self.every & ~inner.may)
            case Every(parts=parts):
                return self._every(parts)
            case Some(parts=parts):
                return self._some(parts)
            case other:
                assert_never(other)

    def _fact(self, fact: Fact) -> Truth:
        known = yes = 0
        for case, block in zip(self._cases, self.blocks, strict=True):
            if fact.name in case:
                known |= block
                yes |= block if case[fact.name] == fact.value else 0
        if known == self.every:
            return Truth(yes, yes)
        other = self.truth(fact.condition)
        return Truth(yes | other.may & ~known, yes | other.must & ~known)

    def _every(self, parts: Sequence[Formula]) -> Truth:
        may = must = self.every
        for part in parts:
            truth = self.truth(part)
            may, must = may & truth.may, must & truth.must
        return Truth(may, must)

    def _some(self, parts: Sequence[Formula]) -> Truth:
        may = must = 0
        for part in parts:
            truth = self.truth(part)
            may, must = may | truth.may, must | truth.must
        return Truth(may, must)

    def constraints(self) -> tuple[int, int]:
        """The rows that cannot occur, and those that are odd."""
        impossible = odd = 0
        for one, other in permutations(self._known, 2):
            if one.subject != other.subject:
                continue
            mine, others = self._columns[one], self._columns[other]
            if _are_opposites(one, other):
                impossible |= mine & others
                odd |= self.every & ~(mine | others)
            elif _are_other_texts(one, other):
                impossible |= mine & others if other.relation == "==" else mine & ~others
        return impossible, odd


def _within(truth: Truth, rows: int) -> Truth:
    return Truth(truth.may & rows, truth.must & rows)


def _are_opposites(one: Condition, other: Condition) -> bool:
    return one.value == other.value and OPPOSITES.get(one.relation) == other.relation


def _are_other_texts(one: Condition, other: Condition) -> bool:
    """`x == 'a'` beside `x == 'b'`, which is then false, or beside `x != 'b'`, which is then true."""
    are_texts = one.is_text and other.is_text and one.value != other.value
    return are_texts and one.relation == "==" and other.relation in ("==", "!=")


def _collect(formula: Formula, facts: frozenset[str], found: dict[Condition, None]) -> None:
    """Adds the conditions of a formula; `facts` are the names that every case knows."""
    match formula:
        case Condition():
            found[formula] = None
        case Fact(name=name):
            if name not in facts:
                found[formula.condition] = None
        case Negation(part=part):
            _collect(part, facts, found)
        case Every(parts=parts) | Some(parts=parts):
            for part in parts:
                _collect(part, facts, found)
        case Literal():
            pass
        case other:
            assert_never(other)
