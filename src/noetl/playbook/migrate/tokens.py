"""Which values a v10 token carries to which step: given on the way, sure on every way, and needed from there on."""

from collections.abc import Iterator

import msgspec

from noetl.expressions.sites import Site
from noetl.expressions.template import NameUse, is_template, parse
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.model import Arc, Join, Step

RECEIVERS = ("python", "script", "workbook")
"""Kinds that are handed all of the step's input."""


class Way(msgspec.Struct, frozen=True):
    """An arc and the step it leaves."""

    source: str
    arc: Arc


class Tokens:
    """The flow of args through a playbook."""

    def __init__(self, document: Document) -> None:
        playbook = document.playbook
        self.steps: dict[str, Step] = {step.name: step for step in playbook.workflow}
        self.entry = playbook.entry_step
        self.ways: dict[str, list[Way]] = {name: [] for name in self.steps}
        for step in playbook.workflow:
            for arc in step.next.arcs:
                self.ways.setdefault(arc.step, []).append(Way(step.name, arc))
        self._reads = _reads(document)
        self.given = self._given()
        self.sure = self._sure()
        self.needed = self._needed()
        self.references = self._references()

    def carried(self, target: str) -> dict[str, None]:
        """The keys to hand to a step: those its arcs give and those it needs, in a stable order."""
        direct = (key for way in self.ways[target] for key in way.arc.args)
        return dict.fromkeys((*direct, *sorted(self.needed[target])))

    def passed_on(self, source: str) -> set[str]:
        """The keys of a step's token that a step behind it needs."""
        return {
            key
            for arc in self.steps[source].next.arcs
            for key in self.needed.get(arc.step, set()) & self.given[source]
            if key not in arc.args
        }

    def server_reads(self, target: str) -> Iterator[tuple[TemplateUse, NameUse]]:
        for use, name in self._reads.get(target, ()):
            if use.site in (Site.ADMIT_WHEN, Site.STEP_INPUT):
                yield use, name

    def is_sometimes_reference(self, target: str, key: str) -> bool:
        """Whether some ways bring a reference under this key and others bring something else."""
        ways = [way for way in self.ways[target] if key in way.arc.args or key in self.given[way.source]]
        return len({self._brings_reference(way, key, self.references) for way in ways}) > 1

    def _brings_reference(self, way: Way, key: str, known: set[tuple[str, str]]) -> bool:
        return _is_reference(way.arc.args[key]) if key in way.arc.args else (way.source, key) in known

    def _references(self) -> set[tuple[str, str]]:
        """The keys of each step under which a reference may arrive."""
        found: set[tuple[str, str]] = set()
        changed = True
        while changed:
            arriving = {
                (target, key)
                for target, ways in self.ways.items()
                for key in self.given[target]
                if any(self._brings_reference(way, key, found) for way in ways)
            }
            changed = arriving != found
            found = arriving
        return found

    def groups(self) -> list[set[str]]:
        """Steps that are rewritten together: those linked by a value that passes through."""
        linked: dict[str, set[str]] = {name: {name} for name in self.steps if self.carried(name)}
        for target in list(linked):
            for way in self.ways[target]:
                passes = self.needed[target] & self.given[way.source] - set(way.arc.args)
                if passes and linked.get(way.source, linked[target]) is not linked[target]:
                    merged = linked[target] | linked[way.source]
                    for name in merged:
                        linked[name] = merged
        return list({id(group): group for group in linked.values()}.values())

    def _given(self) -> dict[str, set[str]]:
        """What may arrive."""
        found: dict[str, set[str]] = {name: set() for name in self.ways}
        changed = True
        while changed:
            changed = False
            for target, ways in self.ways.items():
                arriving = {key for way in ways for key in (*way.arc.args, *found[way.source])}
                changed |= not arriving <= found[target]
                found[target] |= arriving
        return found

    def _sure(self) -> dict[str, set[str]]:
        """What arrives whichever way a token comes; at a join that fires once, what any of them brings."""
        found = {name: set(keys) for name, keys in self.given.items()}
        changed = True
        while changed:
            changed = False
            for target, ways in self.ways.items():
                arriving = [set(way.arc.args) | found[way.source] for way in ways]
                kept = self._kept(target, arriving)
                changed |= kept != found[target]
                found[target] = kept
        return found

    def _kept(self, target: str, arriving: list[set[str]]) -> set[str]:
        if target == self.entry or not arriving:
            return set()
        step = self.steps.get(target)
        if step is not None and step.join is Join.ALL and target not in self._reachable(target):
            return set[str]().union(*arriving)
        return arriving[0].intersection(*arriving)

    def _needed(self) -> dict[str, set[str]]:
        """What a step reads itself, and what the steps behind it need of its token."""
        found = {name: self._read(name) for name in self.ways}
        changed = True
        while changed:
            changed = False
            for name, step in reversed(self.steps.items()):
                passed = {
                    key for arc in step.next.arcs for key in found[arc.step] & self.given[name] if key not in arc.args
                }
                changed |= not passed <= found[name]
                found[name] |= passed
        return found

    def _read(self, name: str) -> set[str]:
        step = self.steps.get(name)
        if step is None:
            return set()
        own = set(step.input)
        reads = self._reads.get(name, ())
        is_whole = any(not use.segments for _, use in reads) or any(task.kind in RECEIVERS for task in step.tool)
        named = {
            use.segments[0].name
            for template, use in reads
            if use.segments and (template.site in (Site.ADMIT_WHEN, Site.STEP_INPUT) or use.segments[0].name not in own)
        }
        return (self.given[name] - own if is_whole else set()) | (named & self.given[name])

    def _reachable(self, start: str) -> set[str]:
        found: set[str] = set()
        waiting = [arc.step for arc in self.steps[start].next.arcs]
        while waiting:
            name = waiting.pop()
            if name not in found and name in self.steps:
                found.add(name)
                waiting.extend(arc.step for arc in self.steps[name].next.arcs)
        return found


def _is_reference(value: object) -> bool:
    """Whether the text shows that a value is a reference."""
    if not isinstance(value, str) or not is_template(value):
        return False
    last = [name.segments[-1].name for name in parse(value).names if name.segments]
    return any(name == "ref" or name.endswith("_ref") for name in last)


def _reads(document: Document) -> dict[str, list[tuple[TemplateUse, NameUse]]]:
    """Every use of `args` or `input` in the templates of each step."""
    found: dict[str, list[tuple[TemplateUse, NameUse]]] = {}
    for use in document.notes.templates:
        root, _, rest = use.place.path.partition("/")
        for name in use.template.names:
            if root == "workflow" and name.root in ("args", "input"):
                found.setdefault(rest.partition("/")[0], []).append((use, name))
    return found
