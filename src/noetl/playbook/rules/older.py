"""What the rules on older words share: the rewrites a document calls for, and how its older parts look today.

The rewriter is imported when a document holds an older word, and so hardly ever: start-up time counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from noetl.expressions.template import NameUse, Template
from noetl.playbook.diagnostics import Diagnostic, Edit
from noetl.playbook.document import Document
from noetl.playbook.grammar.root import API_VERSION_V10
from noetl.playbook.model import Dialect
from noetl.playbook.reading import text
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import OldWord

if TYPE_CHECKING:
    from noetl.playbook.migrate.guide import Guide
    from noetl.playbook.migrate.rewrite import Rewrite

CODES = ("NOE6", "NOE7")
ROOTS = frozenset(("outcome", "args", "vars"))
RESULTS = frozenset(("result", "result_ref"))
FIELDS = frozenset((("py", "exception"), ("pg", "message")))


def rewrites(document: Document, code: str) -> "list[Rewrite]":
    """What can be, or cannot be, rewritten of the words a rule speaks of, each place by itself."""
    return list(document.once(_rewrites).get(code, ()))


def old_words(document: Document, code: str) -> Iterator[OldWord]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == code:
            yield finding


def refuse(rule: Rule, document: Document, message: str) -> Iterator[Diagnostic]:
    """An error at each old word of a rule, whose hint shows what to write instead; `message` may name the `{word}`."""
    for finding in old_words(document, rule.code):
        place = finding.key if finding.key is not None else finding.value
        word = finding.key.text if finding.key is not None else ""
        yield rule.at(place, message.format(word=word), document.once(_guide).hint(finding))


def deprecate(rule: Rule, document: Document, message: str) -> Iterator[Diagnostic]:
    """A diagnostic with its fix at each place a rewrite of the rule applies to; `message` may name the `{word}`."""
    lines = document.source.lines
    for rewrite in rewrites(document, rule.code):
        span = rewrite.span
        start = lines.start(span.line) + span.column - 1
        end = lines.start(span.end_line) + span.end_column - 1
        word = " ".join(document.source.text[start:end].split())
        fix = rewrite.edits if document.once(is_fixable) else ()
        yield rule.at(span, message.format(word=word), rewrite.reason or _advice(fix), fix)


def _advice(fix: Sequence[Edit]) -> str:
    if len(fix) == 1 and "\n" not in fix[0].text:
        return f"write `{fix[0].text}`; `noetl fix` does it"
    return "`noetl fix` rewrites it" if fix else "`noetl migrate` rewrites it"


def is_fixable(document: Document) -> bool:
    """Whether words may be replaced one by one: not where `_prev` would change its meaning with the last of them."""
    if document.playbook.dialect is Dialect.CANONICAL:
        return True
    from noetl.playbook.migrate.previous import rewrite_previous  # noqa: PLC0415

    return next(iter(rewrite_previous(document)), None) is None


def _guide(document: Document) -> "Guide":
    from noetl.playbook.migrate.guide import Guide  # noqa: PLC0415

    return Guide(document)


def _rewrites(document: Document) -> "Mapping[str, list[Rewrite]]":
    if not _is_suspect(document):
        return {}
    from noetl.playbook.migrate.migration import single_rewrites  # noqa: PLC0415

    found: dict[str, list[Rewrite]] = {}
    for rewrite in single_rewrites(document):
        found.setdefault(rewrite.code, []).append(rewrite)
    return found


def _is_suspect(document: Document) -> bool:
    """Whether an older word may be in a document; looking closer costs more."""
    if text(document.root, "apiVersion") == API_VERSION_V10:
        return True
    if any(isinstance(finding, OldWord) and finding.code.startswith(CODES) for finding in document.findings):
        return True
    return any(_is_old_template(use.template) for use in document.notes.templates)


def _is_old_template(template: Template) -> bool:
    return "success" in template.text or any(_is_old_name(name) for name in template.names)


def _is_old_name(name: NameUse) -> bool:
    path = tuple(segment.name for segment in name.segments[:2])
    return name.root in ROOTS or bool(path and path[0] in RESULTS) or path in FIELDS
