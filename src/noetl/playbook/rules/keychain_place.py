"""A keychain value read where it would leave the worker."""

from collections.abc import Iterator

from noetl.expressions.sites import Site
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.names import Reading, Sense, read_names
from noetl.playbook.rules.rule import Rule

_CALLS = frozenset({Site.CALL_INPUT, Site.WORKBOOK_INPUT})
_SETS = frozenset({Site.STEP_SET, Site.ARC_SET, Site.TASK_SET, Site.RULE_SET, Site.BEFORE_SET})


def check(document: Document) -> Iterator[Diagnostic]:
    for reading in document.once(read_names)[Sense.SECRET]:
        yield _report(document, reading)


def _report(document: Document, reading: Reading) -> Diagnostic:
    site = reading.use.site
    message = f"`keychain` cannot be read in {site.title}: {_reason(site)}"
    hint = "read it in the `input` of the task that needs it, or name the entry there with `auth:`"
    if site in _CALLS:
        hint += "; a playbook that is called has a `keychain` of its own"
    return RULE.in_template(document, reading.use, reading.names[0], message, hint)


def _reason(site: Site) -> str:
    if site is Site.KEYCHAIN_FIELD:
        return "entries are looked up one by one, before the workflow starts"
    if site in _CALLS:
        return "what a call receives is recorded"
    if site in _SETS:
        return "what is set goes into events and the database in clear"
    if site is Site.SELECT:
        return "what is selected goes into events and the database in clear"
    if site.is_guard:
        return "guards are evaluated in the open and their results recorded"
    return "secrets reach the inputs of tasks only"


RULE = Rule("NOE408", "keychain-place", Severity.ERROR, check)
