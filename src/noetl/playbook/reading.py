"""Reads nodes into plain values, forgivingly: what is not of the wanted type is simply not there.

The structure check has already noted it. Templates and `set` targets are noted on the way.
"""

from collections.abc import Iterator
from enum import StrEnum
from math import isfinite
from typing import TypeVar

from noetl.expressions.sites import Site
from noetl.expressions.template import is_template, parse
from noetl.playbook.document import Notes, Place, SetUse, TemplateUse
from noetl.playbook.model import Guard
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar, Sequence

SCOPES = ("ctx", "step", "iter")

Word = TypeVar("Word", bound=StrEnum)
Part = TypeVar("Part")


def child(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, Mapping) else None


def mapping(node: Node | None, key: str) -> Mapping | None:
    found = child(node, key)
    return found if isinstance(found, Mapping) else None


def items(node: Node | None, key: str) -> tuple[Node, ...]:
    found = child(node, key)
    return found.items if isinstance(found, Sequence) else ()


def mappings(node: Node | None, key: str) -> list[Mapping]:
    return [item for item in items(node, key) if isinstance(item, Mapping)]


def entries(node: Node | None, key: str) -> tuple[Entry, ...]:
    found = mapping(node, key)
    return found.entries if found is not None else ()


def text(node: Node | None, key: str) -> str | None:
    """A scalar as it was written."""
    found = child(node, key)
    return found.text if isinstance(found, Scalar) and found.value is not None else None


def number(node: Node | None, key: str) -> float | None:
    found = child(node, key)
    value = found.value if isinstance(found, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None


def choice(node: Node | None, key: str, words: type[Word], default: Word) -> Word:
    return option(node, key, words) or default


def option(node: Node | None, key: str, words: type[Word]) -> Word | None:
    written = text(node, key)
    return next((word for word in words if word == written), None)


class Reader:
    """Reads values that may hold templates, and keeps notes of them."""

    def __init__(self) -> None:
        self.notes = Notes()

    def made_from(self, node: Mapping, part: Part) -> Part:
        self.notes.origins[id(part)] = (part, node)
        return part

    def value(self, node: Node, site: Site | None, place: Place) -> object:
        """Plain data. Without a site its text is data and never a template."""
        if isinstance(node, Scalar):
            return self._scalar(node, site, place)
        if isinstance(node, Sequence):
            return [self.value(item, site, place.at(index)) for index, item in enumerate(node.items)]
        return {entry.key.text: self.value(entry.value, site, place.at(entry.key.text)) for entry in node.entries}

    def values(self, node: Node | None, site: Site | None, place: Place) -> dict[str, object]:
        if not isinstance(node, Mapping):
            return {}
        return {entry.key.text: self.value(entry.value, site, place.at(entry.key.text)) for entry in node.entries}

    def guard(self, node: Node | None, site: Site, place: Place) -> Guard:
        value = self._scalar(node, site, place) if isinstance(node, Scalar) else None
        return value if isinstance(value, bool | str) else None

    def templated_number(self, parent: Node | None, key: str, site: Site, place: Place) -> float | str | None:
        found = child(parent, key)
        if isinstance(found, Scalar) and isinstance(found.value, str):
            self._scalar(found, site, place.at(key))
            return found.value if is_template(found.value) else None
        return number(parent, key)

    def assignments(self, node: Node | None, site: Site, place: Place, scope: str | None = None) -> dict[str, object]:
        """Targets as flat paths. With a `scope`, as under v10's `set_ctx`, the keys are paths inside it."""
        found: dict[str, object] = {}
        for target, entry in _targets(node, scope):
            self.notes.sets.append(SetUse(target, entry.key, entry.value, site, place))
            found[target] = self.value(entry.value, site, place.at(target))
        return found

    def _scalar(self, node: Scalar, site: Site | None, place: Place) -> bool | int | float | str | None:
        value = node.value
        if isinstance(value, str):
            if is_template(value):
                self._note_template(node, value, site, place)
        elif isinstance(value, float) and not isfinite(value):
            self.notes.numbers.append(node)
        return value

    def _note_template(self, node: Scalar, text: str, site: Site | None, place: Place) -> None:
        if site is None:
            self.notes.plain.append(node)
        else:
            self.notes.templates.append(TemplateUse(parse(text), node, site, place))


def _targets(node: Node | None, scope: str | None) -> Iterator[tuple[str, Entry]]:
    if not isinstance(node, Mapping):
        return
    for entry in node.entries:
        key = entry.key.text
        if scope is not None:
            yield f"{scope}.{key}", entry
        elif key in SCOPES and isinstance(entry.value, Mapping):
            yield from _targets(entry.value, key)
        else:
            yield key, entry
