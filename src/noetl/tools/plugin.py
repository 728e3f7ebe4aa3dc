"""What an installed package offers to add a kind of tool, and how such packages are found.

A package names a `Plugin` under the entry point group `noetl.tools`; the entry point's name is the kind.
Which kinds this process has is decided here, and handed on as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from noetl.playbook.kinds import KINDS, Kind
from noetl.ports import EventLog, ResultStore, Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from noetl.playbook.model import Block, Playbook, Step
    from noetl.playbook.vocabulary import Vocabulary

T = TypeVar("T")

GROUP = "noetl.tools"
BUILT_IN = frozenset(kind.name for kind in KINDS)


class Parts(msgspec.Struct, frozen=True):
    """What tools are made with. `environment` is that of the worker, of which a child process sees very little."""

    results: ResultStore
    log: EventLog
    environment: Mapping[str, str] = {}


class Plugin(msgspec.Struct, frozen=True):
    """A kind of tool: what its tasks take, as data, and how to make the tool, which happens on first use."""

    kind: Kind
    make: Callable[[Parts], Tool]


class BrokenPlugin(Exception):
    """An installed package offers something that is no plugin."""


class Installed:
    """The kinds of this process. Packages are looked for and imported when something asks for them, and once."""

    @cached_property
    def names(self) -> Sequence[str]:
        """The kinds that installed packages add. Nothing of theirs is imported."""
        return installed()

    @cached_property
    def added(self) -> Mapping[str, Kind | BrokenPlugin]:
        """What the tasks of those kinds take, or why nobody can say."""
        return {name: _kind(name) for name in self.names}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        from noetl.playbook.vocabulary import Vocabulary  # noqa: PLC0415 — a run that is resumed does without

        usable = [kind for kind in self.added.values() if isinstance(kind, Kind)]
        return Vocabulary([*KINDS, *usable], unusable=self.unusable)

    @cached_property
    def unusable(self) -> Mapping[str, str]:
        """Kinds of packages that are installed and cannot be used, with the reason."""
        return {name: str(kind) for name, kind in self.added.items() if isinstance(kind, BrokenPlugin)}

    def kinds_of(self, playbook: Playbook) -> Sequence[Kind]:
        """The kinds that a playbook needs to be made ready: all of ours, and those of packages that it names."""
        named = _words(playbook) - BUILT_IN
        if not named or not (named := _without_knobs(named)):
            return KINDS
        found = (self.added[name] for name in sorted(named.intersection(self.names)))
        return [*KINDS, *(kind for kind in found if isinstance(kind, Kind))]


def installed() -> Sequence[str]:
    return sorted({point.name for point in _points()})


def load(kind: str) -> Plugin | None:
    """The plugin of a kind; None where no package has one."""
    found = {point.value: point for point in _points() if point.name == kind}
    if not found:
        return None
    if len(found) > 1:
        whence = " and ".join(sorted(map(_whence, found.values())))
        raise BrokenPlugin(f"several packages add the kind `{kind}`: {whence}; uninstall all but one")
    point = next(iter(found.values()))
    if kind in BUILT_IN:
        raise BrokenPlugin(f"{_whence(point)} adds the kind `{kind}`, which NoETL has itself; give it another name")
    cure = "; install the package again, or uninstall it"
    return _checked(point, _theirs(point.load, f"{_whence(point)} cannot be imported", cure))


def made(kind: str, parts: Parts) -> Tool | None:
    """The tool of a kind that a package adds; None where no package does."""
    plugin = load(kind)
    if plugin is None:
        return None
    tool = _theirs(lambda: plugin.make(parts), f"the tool of the kind `{kind}` cannot be made")
    if not callable(getattr(tool, "run", None)) or not callable(getattr(tool, "close", None)):
        found = type(tool).__name__
        raise BrokenPlugin(f"`make` of the kind `{kind}` must give a tool with `run` and `close`; it gave {found}")
    return tool


def _kind(name: str) -> Kind | BrokenPlugin:
    try:
        plugin = load(name)
    except BrokenPlugin as broken:
        return broken
    return plugin.kind if plugin is not None else BrokenPlugin(f"the package of the kind `{name}` is gone")


def _theirs(call: Callable[[], T], trouble: str, cure: str = "") -> T:
    """Whatever the code of a package raises is its own trouble, and nobody else's."""
    try:
        return call()
    except Exception as error:
        raise BrokenPlugin(f"{trouble}: {type(error).__name__}: {error}{cure}") from error


def _checked(point: EntryPoint, plugin: object) -> Plugin:
    from noetl.playbook.wellformed import faults  # noqa: PLC0415 — the grammar is needed where there is a plugin

    whence = _whence(point)
    if not isinstance(plugin, Plugin):
        found = f"{type(plugin).__module__}.{type(plugin).__qualname__}"
        raise BrokenPlugin(f"{whence} must be a noetl.tools.plugin.Plugin; found {found}")
    faulty = next(_of_parts(plugin.kind, plugin.make), None) or next(faults(plugin.kind), None)
    if faulty is not None:
        raise BrokenPlugin(f"{whence} has a fault: {faulty}; tell its author")
    if plugin.kind.name != point.name:
        message = f"{whence} is a plugin of kind `{plugin.kind.name}`, and its entry point is called `{point.name}`"
        raise BrokenPlugin(f"{message}; give both the same name")
    return plugin


def _of_parts(kind: object, make: object) -> Iterator[str]:
    if not isinstance(kind, Kind):
        yield f"`kind` must be a noetl.playbook.kinds.Kind; found {type(kind).__name__}"
    if not callable(make):
        yield f"`make` must be a function that makes the tool; found {type(make).__name__}"


def _whence(point: EntryPoint) -> str:
    """The package, and what of it is meant: `noetl-csv 0.1.0 (noetl_csv:PLUGIN)`."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a package without a name"
    return f"{package} ({point.value})"


def _words(playbook: Playbook) -> set[str]:
    """All that may name a kind: those of tasks, and the blocks of specs."""
    owners: list[Step | Block] = [*playbook.workflow, *playbook.workbook.values()]
    loops = [level for owner in owners if owner.loop is not None for level in owner.loop.levels()]
    specs = [playbook.executor.spec, *(step.spec for step in playbook.workflow), *(loop.spec for loop in loops)]
    blocks = {key for spec in specs for key, value in spec.items() if isinstance(value, Mapping)}
    return blocks.union(task.kind for owner in owners for task in owner.tool)


def _without_knobs(words: set[str]) -> set[str]:
    from noetl.playbook.wellformed import SPEC_WORDS  # noqa: PLC0415

    return words - SPEC_WORDS


def _points() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 — slow to import, and rarely needed

    return entry_points(group=GROUP)
