"""What an installed package offers to add a kind of tool, and how such packages are found.

A package names a `Plugin` under the entry point group `noetl.tools`; the entry point's name is the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from noetl.playbook.kinds import Kind
from noetl.ports import EventLog, ResultStore, Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "noetl.tools"


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


def installed() -> Sequence[str]:
    """The kinds that installed packages add. Nothing of theirs is imported."""
    return sorted({point.name for point in _points()})


def kinds() -> Sequence[Kind]:
    """What the tasks of all those kinds take."""
    return [plugin.kind for name in installed() if (plugin := load(name)) is not None]


def load(kind: str) -> Plugin | None:
    """The plugin of a kind; None where no package has one."""
    found = [point for point in _points() if point.name == kind]
    if not found:
        return None
    places = sorted({point.value for point in found})
    if len(places) > 1:
        raise BrokenPlugin(f"several packages add the kind `{kind}`: {', '.join(places)}; uninstall all but one")
    try:
        plugin = found[0].load()
    except (ImportError, AttributeError) as error:
        raise BrokenPlugin(f"the kind `{kind}` cannot be loaded from {places[0]}: {error}") from error
    return _checked(kind, places[0], plugin)


def _checked(kind: str, place: str, plugin: object) -> Plugin:
    if not isinstance(plugin, Plugin):
        raise BrokenPlugin(f"the entry point `{kind}` of group `{GROUP}` must name a Plugin, and {place} is not one")
    if plugin.kind.name != kind:
        message = f"the entry point `{kind}` of group `{GROUP}` names a plugin of kind `{plugin.kind.name}`"
        raise BrokenPlugin(f"{message}; give both the same name")
    return plugin


def _points() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 — slow to import, and rarely needed

    return entry_points(group=GROUP)
