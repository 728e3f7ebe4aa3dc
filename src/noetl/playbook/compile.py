"""Text in, playbook and diagnostics out: the one door to the compiler."""

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Lookup

import msgspec

from noetl.playbook.diagnostics import Diagnostic, Severity, Span
from noetl.playbook.document import Document
from noetl.playbook.model import Block, Playbook, Step, Task
from noetl.playbook.parse import parse_document
from noetl.playbook.partial import trusted
from noetl.playbook.rules import RULES, size
from noetl.playbook.source.nodes import Scalar, Source, SourceProblem, Style
from noetl.playbook.source.read import read_source
from noetl.playbook.vocabulary import Vocabulary

DIAGNOSTICS_MAX = 500
"""What a file is told at most. Errors go before warnings, and the last diagnostic counts what was left out."""


class Compilation(msgspec.Struct, frozen=True):
    """`playbook` is there when no diagnostic is an error; `document` whenever the text could be read at all."""

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    playbook: Playbook | None
    document: Document | None

    def source_map(self) -> Lookup[str, Span]:
        """Where each step, task, template, code and script stands in the file, by its path in the model.

        A task that was generated stands where what generated it does.
        """
        if self.document is None:
            return {}
        templates = {use.place.path: use.node.span for use in self.document.notes.templates}
        return _places(self.document) | templates


def compile_playbook(data: bytes | str, name: str, vocabulary: Vocabulary | None = None) -> Compilation:
    source, problems = read_source(data, name)
    found = _source_diagnostics(problems)
    document = None
    if source.complete and source.root is not None:
        document = parse_document(source, source.root, vocabulary or Vocabulary())
        found.extend(_unfixed(_apart(_check(document), problems)) if problems else _check(document))
    elif source.lost and source.root is not None:
        rest = parse_document(source, source.root, vocabulary or Vocabulary())
        found.extend(_unfixed(trusted(_check(rest), rest)))
    is_sound = not any(diagnostic.severity is Severity.ERROR for diagnostic in found)
    playbook = document.playbook if document is not None and is_sound else None
    return Compilation(source, _bounded(_each_once(found)), playbook, document)


def _source_diagnostics(problems: list[SourceProblem]) -> list[Diagnostic]:
    by_kind = {rule.problem: rule for rule in RULES if rule.problem is not None}
    return [by_kind[problem.kind].at(problem.span, problem.message, problem.hint, problem.fix) for problem in problems]


def _apart(found: Iterable[Diagnostic], problems: list[SourceProblem]) -> Iterator[Diagnostic]:
    """Without what follows from an alias that stands for nothing known."""
    aliases = {problem.span for problem in problems if problem.kind == "alias"}
    return (diagnostic for diagnostic in found if diagnostic.span not in aliases)


def _unfixed(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Where the source has problems, keys may be missing from the tree: an edit could cut through what stands there."""
    return (msgspec.structs.replace(diagnostic, fix=()) for diagnostic in found)


def _check(document: Document) -> list[Diagnostic]:
    return [found for rule in RULES if rule.check is not None for found in rule.check(document)]


def _each_once(found: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """What an alias repeats is told once, though the hints may differ with the place."""
    once: dict[tuple[str, Span, str], Diagnostic] = {}
    for diagnostic in found:
        once.setdefault((diagnostic.code, diagnostic.span, diagnostic.message), diagnostic)
    return once.values()


def _bounded(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In the order of the file; of too many the gravest first ones and a last one that counts the others."""
    ordered = sorted(found, key=_place)
    if len(ordered) <= DIAGNOSTICS_MAX:
        return tuple(ordered)
    gravest = sorted(ordered, key=_gravity)
    kept, cut = gravest[:DIAGNOSTICS_MAX], gravest[DIAGNOSTICS_MAX:]
    message = f"{len(cut):,} more problems are not shown; a file is told {DIAGNOSTICS_MAX} at most"
    last = Diagnostic(size.RULE.code, cut[0].severity, message, kept[-1].span, "correct those above first")
    return (*sorted(kept, key=_place), last)


def _place(diagnostic: Diagnostic) -> tuple[Span, str]:
    return diagnostic.span, diagnostic.code


def _gravity(diagnostic: Diagnostic) -> int:
    return list(Severity).index(diagnostic.severity)


def _places(document: Document) -> dict[str, Span]:
    playbook = document.playbook
    owners: list[tuple[str, Step | Block]] = [(f"workflow/{step.name}", step) for step in playbook.workflow]
    owners += [(f"workbook/{block.name}", block) for block in playbook.workbook.values()]
    found = {}
    for path, owner in owners:
        found[path] = document.node(owner).span
        for task in owner.tool:
            found[f"{path}/tool/{task.name}"] = document.node(task).span
            found |= _texts(document, task, f"{path}/tool/{task.name}")
    return found


def _texts(document: Document, task: Task, path: str) -> dict[str, Span]:
    """Where code and scripts begin: below the sign of a block, else where they stand.

    Quotes and `>` may put several lines into one or tear one apart: the lines of such a text are its own.
    """
    kind = document.vocabulary.kinds.get(task.kind)
    found = {}
    for name in kind.texts if kind is not None else ():
        node = document.node(task).get(name)
        if isinstance(node, Scalar) and (node.style is Style.LITERAL or "\n" not in node.text.rstrip("\n")):
            below = node.style in (Style.LITERAL, Style.FOLDED)
            found[f"{path}/{name}"] = msgspec.structs.replace(node.span, line=node.line + below)
    return found
