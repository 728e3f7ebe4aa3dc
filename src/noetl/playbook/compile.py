"""Text in, playbook and diagnostics out: the one door to the compiler."""

from collections.abc import Mapping as Lookup

import msgspec

from noetl.playbook.diagnostics import Diagnostic, Severity, Span
from noetl.playbook.document import Document
from noetl.playbook.model import Playbook
from noetl.playbook.nodes import Source, SourceProblem
from noetl.playbook.parse import parse_document
from noetl.playbook.rules import RULES
from noetl.playbook.source import read_source
from noetl.playbook.vocabulary import Vocabulary


class Compilation(msgspec.Struct, frozen=True):
    """`playbook` is there when no diagnostic is an error; `document` whenever the text could be read at all."""

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    playbook: Playbook | None
    document: Document | None

    def source_map(self) -> Lookup[str, Span]:
        """Where each template of the playbook stands in the file, by its path in the model."""
        if self.document is None:
            return {}
        return {use.place.path: use.node.span for use in self.document.notes.templates}


def compile_playbook(data: bytes | str, name: str, vocabulary: Vocabulary | None = None) -> Compilation:
    source, problems = read_source(data, name)
    found = _source_diagnostics(problems)
    document = None
    if source.complete and source.root is not None:
        document = parse_document(source, source.root, vocabulary or Vocabulary())
        found.extend(_check(document))
    diagnostics = tuple(sorted(set(found), key=lambda diagnostic: (diagnostic.span, diagnostic.code)))
    is_sound = document is not None and not any(found.severity is Severity.ERROR for found in diagnostics)
    return Compilation(source, diagnostics, document.playbook if document and is_sound else None, document)


def _source_diagnostics(problems: list[SourceProblem]) -> list[Diagnostic]:
    by_kind = {rule.problem: rule for rule in RULES if rule.problem is not None}
    return [by_kind[problem.kind].at(problem.span, problem.message, problem.hint, problem.fix) for problem in problems]


def _check(document: Document) -> list[Diagnostic]:
    return [found for rule in RULES if rule.check is not None for found in rule.check(document)]
