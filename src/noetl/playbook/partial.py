"""Which diagnostics can be trusted when parts of a file could not be read.

Those that look at one place alone can. A name that nobody seems to know may be known in a part that is lost, but not
without being spelt there. Anything else, above all about the net, would be guesswork.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.document import Document
from noetl.playbook.rules import missing_key
from noetl.playbook.rules.wording import head

LOCAL = frozenset(
    {
        *("NOE011", "NOE101", "NOE102", "NOE103", "NOE104", "NOE105", "NOE106", "NOE108", "NOE109", "NOE110"),
        *("NOE111", "NOE112", "NOE113", "NOE114", "NOE201", "NOE202", "NOE205", "NOE209", "NOE211"),
        *("NOE301", "NOE302", "NOE303", "NOE304", "NOE305", "NOE306", "NOE307", "NOE308", "NOE309", "NOE310", "NOE311"),
        *("NOE401", "NOE402", "NOE403", "NOE501", "NOE503", "NOE505", "NOE506", "NOE507", "NOE511"),
        *("NOE601", "NOE602", "NOE603", "NOE604", "NOE606", "NOE607", "NOE701", "NOE702", "NOE703", "NOE704"),
        *("NOE705", "NOE706", "NOE707", "NOE708", "NOE709", "NOE710", "NOE711", "NOE712"),
        *("NOE901", "NOE902", "NOE903"),
    }
)
NAMING = frozenset({"NOE203", "NOE204", "NOE206", "NOE502", "NOE509"})
"""Each points at the name that it does not know."""

HINT = "parts of the file could not be read; correct them first"

_WORD = re.compile(r"\w+")


def trusted(found: Iterable[Diagnostic], document: Document) -> Iterator[Diagnostic]:
    """What still holds, given what is lost. The keys that the playbook itself lacks may be there."""
    lost = frozenset(word for text in document.source.lost for word in _WORD.findall(text))
    of_playbook = (missing_key.RULE.code, head(document.root).span)
    for diagnostic in found:
        if diagnostic.code in LOCAL and (diagnostic.code, diagnostic.span) != of_playbook:
            yield diagnostic
        elif diagnostic.code in NAMING and lost.isdisjoint(_WORD.findall(_text_at(document, diagnostic))):
            yield _hinted(diagnostic)


def _hinted(diagnostic: Diagnostic) -> Diagnostic:
    """Without a likely word the hint lists those that are known, and here that is not all there is."""
    if "did you mean" in diagnostic.message:
        return diagnostic
    return msgspec.structs.replace(diagnostic, hint=HINT)


def _text_at(document: Document, diagnostic: Diagnostic) -> str:
    lines, span = document.source.lines, diagnostic.span
    start = lines.start(span.line) + span.column - 1
    return lines.text[start : lines.start(span.end_line) + span.end_column - 1]
