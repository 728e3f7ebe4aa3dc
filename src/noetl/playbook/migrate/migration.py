"""Rewrites a playbook of an older dialect, pass by pass, each on a freshly read text, as far as that is faithful."""

from collections.abc import Iterator, Sequence

import msgspec

from noetl.playbook.diagnostics import Diagnostic, Edit, Severity, Span
from noetl.playbook.document import Document
from noetl.playbook.migrate.arc_args import rewrite_arc_args
from noetl.playbook.migrate.arguments import rewrite_api_version, rewrite_arguments
from noetl.playbook.migrate.cases import rewrite_cases
from noetl.playbook.migrate.evals import rewrite_eval_entries, rewrite_evals, rewrite_exprs
from noetl.playbook.migrate.guards import rewrite_guards
from noetl.playbook.migrate.history import History
from noetl.playbook.migrate.labels import rewrite_labels
from noetl.playbook.migrate.pipes import rewrite_pipes
from noetl.playbook.migrate.previous import rewrite_previous
from noetl.playbook.migrate.refusals import Refusals
from noetl.playbook.migrate.retries import rewrite_retries
from noetl.playbook.migrate.rewrite import UNTOLD, Pass, Rewrite
from noetl.playbook.migrate.routing import rewrite_modes, rewrite_next_lists
from noetl.playbook.migrate.sets import rewrite_set_vars, rewrite_sets
from noetl.playbook.migrate.sinks import rewrite_sinks
from noetl.playbook.migrate.templates import rewrite_fields, rewrite_status, rewrite_words
from noetl.playbook.migrate.variables import rewrite_variables
from noetl.playbook.migrate.walk import owners
from noetl.playbook.model import Dialect
from noetl.playbook.parse import parse_document
from noetl.playbook.source.edits import apply_fixes
from noetl.playbook.source.read import read_source
from noetl.playbook.structure import OldWord
from noetl.playbook.vocabulary import Vocabulary

ROUNDS_MAX = 100
TRIALS_MAX = 100
NOT_MIGRATED = "not migrated: "
BESIDE_REFUSED = "`{word}` stands beside or inside something that could not be migrated"
VERSION_STAYS = "`apiVersion` stays as long as what is told below is left"
UNREADABLE = "the text could not be read any more; write aliases and anchors out first"
OLDER_RULES = "NOE7"
"""Codes of the rules that speak of words older than v10 begin like this."""

OLDER: tuple[Pass, ...] = (
    rewrite_pipes,
    rewrite_eval_entries,
    rewrite_evals,
    rewrite_exprs,
    rewrite_retries,
    rewrite_guards,
    rewrite_next_lists,
    rewrite_modes,
    rewrite_cases,
    rewrite_sinks,
    rewrite_set_vars,
    rewrite_variables,
    rewrite_status,
    rewrite_fields,
)

V10: tuple[Pass, ...] = (
    rewrite_labels,
    rewrite_sets,
    rewrite_api_version,
    rewrite_arc_args,
    rewrite_arguments,
    rewrite_words,
)

SINGLE: tuple[Pass, ...] = (*V10, rewrite_variables, rewrite_status, rewrite_fields)
"""Passes whose rewrites are of use one by one."""

STAYS_V10 = "`_prev` after http means something else once the playbook is no longer v10, and here {why}"


class Change(msgspec.Struct, frozen=True):
    """Something that was rewritten, at its place in the text as it was given."""

    code: str
    span: Span
    what: str


class Migration(msgspec.Struct, frozen=True):
    """`refused` says what was left as it is, where in the given text, and in its hint why."""

    text: str
    applied: tuple[Change, ...]
    refused: tuple[Diagnostic, ...]

    @property
    def changed(self) -> bool:
        return bool(self.applied)


def migrate(text: str, vocabulary: Vocabulary | None = None) -> Migration:
    """The playbook in today's words. A text that cannot be read at all is given back as it is."""
    document = read_document(text, vocabulary or Vocabulary())
    if document is None:
        return Migration(text, (), ())
    run = Run(document)
    is_old, given = _is_old(run.document), run.snapshot()
    run.apply_all(OLDER)
    _leave_v10(run, given, is_old=is_old)
    run.refuse_rest()
    refused = sorted(dict.fromkeys(run.refused), key=lambda refusal: (refusal.span, refusal.code))
    return Migration(run.text, tuple(dict.fromkeys(run.applied)), tuple(refused))


def single_rewrites(document: Document) -> Iterator[Rewrite]:
    """What each place of an older word could become by itself, or why not."""
    for each in SINGLE:
        yield from each(document)


def _is_old(document: Document) -> bool:
    return document.playbook.dialect is Dialect.V10 or _has_older(document)


def _has_older(document: Document) -> bool:
    return next(_older(document), None) is not None


def _older(document: Document) -> Iterator[OldWord]:
    """The words and forms that are older than v10."""
    for found in document.findings:
        if isinstance(found, OldWord) and found.code.startswith(OLDER_RULES):
            yield found


def read_document(text: str, vocabulary: Vocabulary) -> Document | None:
    """The document, if its text can be read without any problem."""
    source, problems = read_source(text, "playbook.yaml")
    if problems or source.root is None:
        return None
    return parse_document(source, source.root, vocabulary)


def _leave_v10(run: "Run", given: "Snapshot", *, is_old: bool) -> None:
    """`_prev` changes its meaning with the last v10 word, so either both go or that word stays."""
    document = run.document
    sensitive = list(rewrite_previous(document)) if is_old else []
    if sensitive and _has_older(document):
        run.refuse(sensitive, STAYS_V10.format(why="older words are left"))
        return
    uncertain = [rewrite for rewrite in sensitive if rewrite.reason is not None]
    run.refuse(uncertain, None)
    kept = run.snapshot() if document.playbook.dialect is Dialect.V10 else given
    run.frozen = _owners_of(document, uncertain)
    run.apply_all(V10)
    run.frozen = ()
    is_v10 = run.document.playbook.dialect is Dialect.V10
    if uncertain and not is_v10:
        run.restore(kept)
    elif sensitive and is_v10:
        certain = [rewrite for rewrite in rewrite_previous(run.document) if rewrite.reason is None]
        run.refuse(certain, STAYS_V10.format(why="v10 words are left"))
    elif sensitive:
        run.apply_once(rewrite_previous)


def _owners_of(document: Document, rewrites: Sequence[Rewrite]) -> tuple[int, ...]:
    """The positions of the steps and blocks in which rewrites lie."""
    lines = {rewrite.span.line for rewrite in rewrites}
    return tuple(
        position
        for position, owner in enumerate(owners(document.root))
        if any(owner.line <= line <= owner.end_line for line in lines)
    )


Snapshot = tuple[History, Document, int]


class Run:
    """The text on its way. `frozen` are the positions of steps and blocks that are to stay as they are."""

    def __init__(self, document: Document) -> None:
        self.history = History(document.source.text)
        self.applied: list[Change] = []
        self.refused: list[Diagnostic] = []
        self.frozen: tuple[int, ...] = ()
        self.document = document

    @property
    def text(self) -> str:
        return self.history.text

    def apply_all(self, passes: Sequence[Pass]) -> None:
        for each in passes:
            self.apply(each)

    def apply(self, each: Pass) -> None:
        """One pass, round after round: rewrites inside each other take several."""
        rewrites: list[Rewrite] = []
        for _ in range(ROUNDS_MAX):
            rewrites = [self._thawed(rewrite) for rewrite in each(self.document)]
            ready = [rewrite for rewrite in rewrites if rewrite.edits]
            if not self._round(ready) and not any(self._round([rewrite]) for rewrite in ready[:TRIALS_MAX]):
                self.refuse(ready, UNREADABLE)
                break
        self.refuse([rewrite for rewrite in rewrites if rewrite.reason is not None], None)

    def apply_once(self, each: Pass) -> None:
        """A pass whose rewrites would mean something else a second time."""
        self._round(list(each(self.document)))

    def _round(self, rewrites: Sequence[Rewrite]) -> bool:
        """Whether anything was done. Nothing is if the text could not be read then: aliases may lose their anchor."""
        result = apply_fixes(self.text, [rewrite.edits for rewrite in rewrites])
        left_out = set(result.refused)
        done = [rewrite for rewrite in rewrites if rewrite.edits not in left_out]
        document = read_document(result.text, self.document.vocabulary) if result.text != self.text else None
        if document is None:
            return False
        self.applied.extend(self._change(rewrite) for rewrite in done if rewrite.what != UNTOLD)
        self.history.advance(result.text, [edit for rewrite in done for edit in rewrite.edits])
        self.document = document
        return True

    def _change(self, rewrite: Rewrite) -> Change:
        return Change(rewrite.code, self.history.original(rewrite.span), rewrite.what)

    def _thawed(self, rewrite: Rewrite) -> Rewrite:
        """The rewrite, unless it touches what is to stay as it is."""
        if not self.frozen or not rewrite.edits or not self._touches(rewrite.edits):
            return rewrite
        reason = STAYS_V10.format(why="it is not certain what `_prev` is")
        return Rewrite(rewrite.code, rewrite.span, rewrite.what, reason=reason)

    def _touches(self, edits: Sequence[Edit]) -> bool:
        found = owners(self.document.root)
        spans = [(found[position].start, found[position].end) for position in self.frozen]
        return any(start <= edit.end and edit.start <= end for edit in edits for start, end in spans)

    def refuse(self, rewrites: Sequence[Rewrite], reason: str | None) -> None:
        for rewrite in rewrites:
            span = self.history.original(rewrite.span)
            message = f"{NOT_MIGRATED}{reason or rewrite.reason}"
            self.refused.append(Diagnostic(rewrite.code, Severity.WARNING, message, span))

    def refuse_rest(self) -> None:
        """Tells of older words that are left and of which no pass said anything."""
        told = Refusals(self.refused)
        for found in _older(self.document):
            key, end = found.key or found.value, self.document.source.lines.span(found.value.end, found.value.end)
            if told.within(found.code, self.history.original(key.span), self.history.original(end)) is None:
                reason = BESIDE_REFUSED.format(word=found.key.text if found.key is not None else "")
                self.refuse([Rewrite(found.code, key.span, UNTOLD)], reason)
        self.refuse(list(rewrite_api_version(self.document)), VERSION_STAYS)

    def snapshot(self) -> Snapshot:
        return self.history.copy(), self.document, len(self.applied)

    def restore(self, kept: Snapshot) -> None:
        self.history, self.document, count = kept
        del self.applied[count:]
