"""Finds the names a template reads from outside: each use of a root, with the keys behind it that the text shows."""

from msgspec import Struct

from noetl.expressions.filters import DEFAULTS
from noetl.expressions.syntax import (
    Attribute,
    Body,
    Const,
    Expression,
    Filter,
    For,
    If,
    Item,
    Output,
    Path,
    Set,
    SetBlock,
    Target,
    Test,
    Text,
)


class Segment(Struct, frozen=True, gc=False):
    """A key behind a root name, written as `.name` or `['name']`."""

    name: str
    start: int
    end: int


class NameUse(Struct, frozen=True, gc=False):
    """One use of a root name. `defaulted` says that the template itself deals with its absence."""

    root: str
    segments: tuple[Segment, ...]
    start: int
    end: int
    defaulted: bool = False


def names_in(body: Body) -> tuple[NameUse, ...]:
    finder = _Finder()
    finder.body(body, frozenset())
    guarded = {_key(use) for use in finder.uses if use.start in finder.tested}
    if not guarded:
        return tuple(finder.uses)
    return tuple(_guarded(use, guarded) for use in finder.uses)


def _key(use: NameUse) -> tuple[str, ...]:
    return (use.root, *(segment.name for segment in use.segments))


def _guarded(use: NameUse, guarded: set[tuple[str, ...]]) -> NameUse:
    """A path that is tested with `is defined` anywhere in the template counts as dealt with everywhere in it."""
    key = _key(use)
    if use.defaulted or not any(key[:size] in guarded for size in range(1, len(key) + 1)):
        return use
    return NameUse(use.root, use.segments, use.start, use.end, True)


class _Finder:
    __slots__ = ("uses", "tested")

    def __init__(self) -> None:
        self.uses: list[NameUse] = []
        self.tested: set[int] = set()

    def body(self, body: Body, bound: frozenset[str]) -> frozenset[str]:
        """Goes through statements in order and gives the names bound behind them."""
        for statement in body:
            match statement:
                case Text():
                    pass
                case Output(value=value):
                    self.expression(value, bound, is_defaulted=False)
                case Set(target=target, value=value):
                    self.expression(value, bound, is_defaulted=False)
                    bound |= set(target)
                case SetBlock(target=target, body=inner):
                    self.body(inner, bound)
                    bound |= set(target)
                case If():
                    bound = self._branches(statement, bound)
                case _:
                    self._loop(statement, bound)
        return bound

    def _branches(self, choice: If, bound: frozenset[str]) -> frozenset[str]:
        after = bound
        for test, inner in choice.branches:
            if test is not None:
                self.expression(test, bound, is_defaulted=False)
            after |= self.body(inner, bound)
        return after

    def _loop(self, loop: For, bound: frozenset[str]) -> None:
        self.expression(loop.items, bound, is_defaulted=False)
        inner: frozenset[str] = bound | _bound(loop.target)
        if loop.test is not None:
            self.expression(loop.test, inner, is_defaulted=False)
        self.body(loop.body, inner | {"loop"})
        self.body(loop.otherwise, bound)

    def expression(self, node: Expression, bound: frozenset[str], *, is_defaulted: bool) -> None:
        if isinstance(node, (Path, Attribute, Item)):
            self._member(node, bound, is_defaulted=is_defaulted)
        elif isinstance(node, Filter) and node.name in DEFAULTS:
            self.expression(node.target, bound, is_defaulted=True)
            for inner in node.arguments.inside():
                self.expression(inner, bound, is_defaulted=False)
        elif isinstance(node, Test) and node.name in ("defined", "undefined"):
            first = len(self.uses)
            self.expression(node.target, bound, is_defaulted=True)
            self.tested.update(use.start for use in self.uses[first : first + 1])
        elif not isinstance(node, Const):
            for inner in node.inside():
                self.expression(inner, bound, is_defaulted=False)

    def _member(self, node: Expression, bound: frozenset[str], *, is_defaulted: bool) -> None:
        """Walks down to the root of a chain and back, gathering the keys as long as they are constant."""
        links: list[Attribute | Item] = []
        while isinstance(node, (Attribute, Item)):
            links.append(node)
            node = node.target
        links.reverse()
        if isinstance(node, Path):
            if node.root not in bound:
                self.uses.append(_use(node, links, is_defaulted))
        else:
            self.expression(node, bound, is_defaulted=is_defaulted)
        for link in links:
            if isinstance(link, Item):
                self.expression(link.key, bound, is_defaulted=False)


def _bound(target: Target) -> frozenset[str]:
    return frozenset(target)


def _use(path: Path, links: list[Attribute | Item], is_defaulted: bool) -> NameUse:
    segments: list[Segment] = []
    position = path.start + len(path.root)
    for name in path.names:
        segments.append(Segment(name, position + 1, position + 1 + len(name)))
        position += 1 + len(name)
    for link in links:
        segment = _segment(link)
        if segment is None:
            break
        segments.append(segment)
    return NameUse(path.root, tuple(segments), path.start, path.start + len(path.root), is_defaulted)


def _segment(link: Attribute | Item) -> Segment | None:
    if isinstance(link, Attribute):
        return Segment(link.name, link.name_start, link.end)
    if isinstance(link.key, Const) and isinstance(link.key.value, str):
        return Segment(link.key.value, link.key.start, link.key.end)
    return None
