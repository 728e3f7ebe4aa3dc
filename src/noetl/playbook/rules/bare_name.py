"""An iterator or a workload key read without its scope."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.names import Reading, Sense, iterator_path, read_names, rename
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    readings = document.once(read_names)
    for reading in readings[Sense.ITERATOR]:
        yield _report(document, reading, "iterator", iterator_path(reading.place.iterators, reading.root))
    for reading in readings[Sense.WORKLOAD]:
        yield _report(document, reading, "workload key", f"workload.{reading.root}")


def _report(document: Document, reading: Reading, what: str, path: str) -> Diagnostic:
    message = f'the {what} "{reading.root}" is read without its scope; write `{path}`'
    fix = rename(document, reading, path)
    return RULE.in_template(document, reading.use, reading.names[0], message, fix=fix)


RULE = Rule("NOE504", "bare-name", Severity.WARNING, check)
