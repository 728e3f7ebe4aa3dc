"""The net analysis of a document, without what a mistake elsewhere may have made it say.

A step with a mistake of its own is not judged, and no step is called unreachable as long as an arc to it
may be what its author meant to write.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from noetl.playbook.document import Document
from noetl.playbook.model import Block, Directive, Step
from noetl.playbook.net.analysis import analyse
from noetl.playbook.net.findings import (
    Certainty,
    EndlessCycle,
    JumpCycle,
    MeetWithoutJoin,
    NetFinding,
    NeverArc,
    NeverReason,
    NeverRule,
    ShadowedRule,
    TasksNeverReached,
    UnreachableStep,
    UnroutedFailures,
    WorstCase,
)
from noetl.playbook.rules.closed_values import impossible_values
from noetl.playbook.rules.conditions import unconditional
from noetl.playbook.rules.written import owners, title
from noetl.playbook.source.nodes import Mapping
from noetl.playbook.structure import Finding, InertWord, MissingKey, OldWord, RuleList, UnknownKey

AUTOMATIC_RULES = "NOE6"
"""Older words with these codes mean the same as the new ones, so what they say can be judged."""

Kind = TypeVar("Kind")


class Judgement(msgspec.Struct, frozen=True):
    findings: tuple[NetFinding, ...]

    def of(self, kind: type[Kind]) -> Iterator[Kind]:
        return (finding for finding in self.findings if isinstance(finding, kind))


def judge(document: Document) -> Judgement:
    doubtful = _doubtful(document)
    analysed = analyse(document.playbook)
    endless = {id(each.owner) for each in analysed if isinstance(each, JumpCycle) and each.certainty is Certainty.MUST}
    trusted = (_trusted(finding, doubtful) for finding in analysed)
    return Judgement(tuple(each for each in trusted if each is not None and not _follows(each, endless)))


def node_of(document: Document, *parts: object) -> Mapping:
    """The node of the first of these parts that the author wrote: sugar makes tasks and rules of its own."""
    origins = document.notes.origins
    return next(origins[id(part)][1] for part in parts if id(part) in origins)


def _trusted(finding: NetFinding, doubtful: frozenset[int]) -> NetFinding | None:
    match finding:
        case UnreachableStep():
            return None if doubtful else finding
        case EndlessCycle(steps=steps):
            return None if _any(steps, doubtful) else finding
        case MeetWithoutJoin(fan_out=fan_out, meeting=meeting):
            return None if _any((fan_out, meeting), doubtful) else finding
        case UnroutedFailures(steps=steps):
            sound = tuple(step for step in steps if id(step) not in doubtful)
            return UnroutedFailures(sound) if sound else None
        case ShadowedRule() | NeverRule() | JumpCycle() | TasksNeverReached() | WorstCase():
            return None if id(finding.owner) in doubtful else finding
        case _:
            return None if id(finding.step) in doubtful else finding


def _follows(finding: NetFinding, endless: set[int]) -> bool:
    """Whether the arc is never taken only because the pipeline never ends, which is said of the pipeline."""
    if not isinstance(finding, NeverArc):
        return False
    return finding.reason is NeverReason.NO_SUCCESS and id(finding.step) in endless


def _any(steps: Iterable[Step], doubtful: frozenset[int]) -> bool:
    return any(id(step) in doubtful for step in steps)


def _doubtful(document: Document) -> frozenset[int]:
    """The steps and blocks, by identity, in which something is wrong that may change what the net says."""
    playbook = document.playbook
    names = {step.name for step in playbook.workflow}
    broken = {id(part) for part in owners(document) if not _is_sound(part, names)}
    if playbook.entry_step not in names or len(names) < len(playbook.workflow):
        broken.add(id(playbook))
    return frozenset(broken.union(_around(document), _misled(document)))


def _is_sound(part: Step | Block, names: set[str]) -> bool:
    """Whether everything that the part refers to is there."""
    if isinstance(part, Step) and any(arc.step not in names for arc in part.next.arcs):
        return False
    tasks = {task.name for task in part.tool}
    policies = [task.policy for task in part.tool if task.policy is not None]
    rules = [rule for policy in policies for rule in (*policy.before, *policy.rules)]
    jumps = [rule.then.to for rule in rules if rule.then.do is Directive.JUMP]
    return len(tasks) == len(part.tool) and all(target in tasks for target in jumps)


def _around(document: Document) -> Iterator[int]:
    """The parts in which, or behind which, the structure check found a mistake; the playbook for one before all."""
    placed = sorted((document.node(part).start, id(part)) for part in owners(document))
    starts = [start for start, _ in placed]
    areas = [node for node in map(document.root.get, ("workflow", "workbook")) if node is not None]
    mistakes = (*map(_mistake, document.findings), *(item.start for item in unconditional(document)))
    for start in mistakes:
        if start is not None and any(area.start <= start < area.end for area in areas):
            position = bisect_right(starts, start)
            yield placed[position - 1][1] if position else id(document.playbook)


def _misled(document: Document) -> Iterator[int]:
    """The parts with a condition that asks for what never occurs: one of the values is misspelt."""
    titles = {use.use.place.frame.title for use in document.once(impossible_values)}
    return (id(part) for part in owners(document) if title(part) in titles)


def _mistake(finding: Finding) -> int | None:
    """Where the mistake stands; None for what is none, or has no say in what the net does."""
    match finding:
        case InertWord() | RuleList():
            return None
        case UnknownKey(key=key, shape=shape):
            return None if shape.title.endswith(" input") else key.start
        case OldWord(code=code, key=key, value=value):
            return None if code.startswith(AUTOMATIC_RULES) else (key or value).start
        case MissingKey(parent=parent):
            return parent.start
        case _:
            return finding.node.start
