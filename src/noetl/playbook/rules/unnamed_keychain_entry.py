"""The keychain read as a whole, or by a name that is known only when the task runs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.names import Sense, read_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling

MESSAGE = "`keychain` is read without the name of an entry, and a task gets only those that its templates name"


def check(document: Document) -> Iterator[Diagnostic]:
    spelling = Spelling(sorted({entry.name for entry in document.playbook.keychain}))
    for reading in document.once(read_names)[Sense.ENTRY]:
        for name in reading.names:
            if not name.segments:
                yield RULE.in_template(document, reading.use, name, MESSAGE, _hint(spelling))


def _hint(spelling: Spelling) -> str:
    if not spelling.names:
        return "declare the entry under `keychain`, and name it here: `keychain.<name>`"
    return f"name the entry: `keychain.{spelling.names[0]}`\ndeclared are: {spelling.shown}"


RULE = Rule("NOE516", "unnamed-keychain-entry", Severity.ERROR, check)
