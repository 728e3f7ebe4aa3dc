"""What each name in a template means at its place: a scope, a task, a step, a name that is hidden there, or nothing."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from noetl.expressions.sites import SCOPE_WORDS, Site, visible
from noetl.expressions.template import NameUse
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document, Place, TemplateUse
from noetl.playbook.model import Loop, Step
from noetl.playbook.rules.advice import meant, stand_ins
from noetl.playbook.rules.written import owners, title, unclear_names, unclear_tasks
from noetl.playbook.source import nodes as source
from noetl.playbook.source.positions import replace_in_scalar


class Sense(StrEnum):
    """Names of scopes that may be read where they stand need no word and are not among these."""

    HIDDEN = "hidden"
    """A scope word that cannot be read here."""
    SECRET = "secret"
    """`keychain` where it cannot be read."""
    ENTRY = "entry"
    """`keychain` where it can."""
    TASK = "task"
    STEP = "step"
    ITERATOR = "iterator"
    WORKLOAD = "workload"
    """A declared workload key by its bare name."""
    FOREIGN = "foreign"
    """A task or an iterator of this playbook that is not known here."""
    UNCLEAR = "unclear"
    """What a mistake elsewhere may hide, of which that place is told."""
    UNDEFINED = "undefined"


class Reading(msgspec.Struct, frozen=True):
    """The uses of one root name in one template, which all mean the same."""

    use: TemplateUse
    names: tuple[NameUse, ...]

    @property
    def root(self) -> str:
        return self.names[0].root

    @property
    def place(self) -> Place:
        return self.use.place

    @property
    def visible(self) -> frozenset[str]:
        """The scope words that can be read where the name stands."""
        return visible(self.use.site, in_loop=self.use.place.in_loop)


class Owner(msgspec.Struct, frozen=True):
    """What a task or an iterator belongs to; `title` as in messages: `step "fetch"`."""

    title: str
    name: str
    is_step: bool


class Known(msgspec.Struct, frozen=True):
    """The names of a playbook. Of several owners of one name the first is kept; `loops` are the titles with one.

    `unclear` are names that only a misspelt key keeps from being known; `unclear_loops` titles whose loop it keeps.
    """

    steps: frozenset[str]
    workload: frozenset[str]
    tasks: Mapping[str, Owner]
    iterators: Mapping[str, Owner]
    loops: frozenset[str]
    unclear: frozenset[str]
    unclear_loops: frozenset[str]


def known_names(document: Document) -> Known:
    playbook = document.playbook
    tasks: dict[str, Owner] = {}
    iterators: dict[str, Owner] = {}
    loops = set()
    for part in owners(document):
        owner = Owner(title(part), part.name, isinstance(part, Step))
        for task in part.tool:
            tasks.setdefault(task.name, owner)
        for level in _levels(part.loop):
            loops.add(owner.title)
            iterators.setdefault(level.iterator, owner)
    steps = frozenset(step.name for step in playbook.workflow)
    return Known(
        steps=steps,
        workload=frozenset(playbook.workload),
        tasks=tasks,
        iterators=iterators,
        loops=frozenset(loops),
        unclear=unclear_names(document) | unclear_tasks(document) | _unclear_workload(document),
        unclear_loops=_unclear_loops(document),
    )


def _unclear_workload(document: Document) -> frozenset[str]:
    """The keys of a `workload` that is misspelt."""
    finding = document.once(stand_ins).get((id(document.root), "workload"))
    value = finding.parent.get(finding.key.text) if finding is not None else None
    return frozenset(value.keys()) if isinstance(value, source.Mapping) else frozenset()


def _unclear_loops(document: Document) -> frozenset[str]:
    told = document.once(meant)
    return frozenset(title(part) for part in owners(document) if (id(document.node(part)), "loop") in told)


def read_names(document: Document) -> Mapping[Sense, Sequence[Reading]]:
    """Every name worth a word, by what it means, in the order of the file."""
    known = document.once(known_names)
    words: dict[tuple[Site, bool], frozenset[str]] = {}
    tasks: dict[int, frozenset[str]] = {}
    found: dict[Sense, list[Reading]] = {sense: [] for sense in Sense}
    for use in document.notes.templates:
        key = (use.site, use.place.in_loop)
        seen = words.get(key)
        if seen is None:
            seen = words[key] = visible(use.site, in_loop=use.place.in_loop)
        roots = _by_root(use.template.names, seen)
        if roots:
            frame = use.place.frame
            if id(frame) not in tasks:
                tasks[id(frame)] = frozenset(frame.tasks)
            for root, names in roots.items():
                found[_sense(root, use, known, seen, tasks[id(frame)])].append(Reading(use, tuple(names)))
    return found


def rename(document: Document, reading: Reading, new: str) -> list[Edit]:
    """The edits that write `new` for the name wherever the template reads it; none where one of them is not safe."""
    edits: list[Edit] = []
    for name in reading.names:
        edit = replace_in_scalar(document.source, reading.use.node, name.start, name.end, new)
        if edit is None:
            return []
        edits.append(edit)
    return edits


def iterator_path(iterators: Sequence[str], name: str) -> str:
    """How an iteration reads an iterator: `iter.hotel`, and `iter.parent.city` for the loop around it."""
    outward = tuple(reversed(iterators)).index(name)
    return f"iter.{'parent.' * outward}{name}"


def _levels(loop: Loop | None) -> Iterable[Loop]:
    return loop.levels() if loop is not None else ()


def _by_root(names: Iterable[NameUse], seen: frozenset[str]) -> dict[str, list[NameUse]]:
    """The names that need a look, by root. What a place sees is fine, but for the keys of the keychain."""
    roots: dict[str, list[NameUse]] = {}
    for name in names:
        if name.root not in seen or name.root == "keychain":
            roots.setdefault(name.root, []).append(name)
    return roots


def _sense(root: str, use: TemplateUse, known: Known, seen: frozenset[str], tasks: frozenset[str]) -> Sense:
    """`tasks` are those of the pipeline."""
    if root == "keychain":
        return Sense.ENTRY if root in seen else Sense.SECRET
    place, site = use.place, use.site
    has_unclear_loop = place.frame.title in known.unclear_loops
    if root in SCOPE_WORDS:
        return Sense.UNCLEAR if root == "iter" and has_unclear_loop else Sense.HIDDEN
    if site.sees_tasks and root in tasks:
        return Sense.TASK
    if site.sees_steps and root in known.steps:
        return Sense.STEP
    if site.sees_iterators and root in place.iterators:
        return Sense.ITERATOR
    if root in known.workload:
        return Sense.WORKLOAD
    is_elsewhere = root in tasks or root in known.tasks or root in known.iterators
    if is_elsewhere or root in known.steps:
        return Sense.FOREIGN
    is_unclear = root in known.unclear or has_unclear_loop or "" in place.iterators
    return Sense.UNCLEAR if is_unclear else Sense.UNDEFINED
