"""A word that is none of those a key takes."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.fields import holders
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import correct
from noetl.playbook.rules.wording import found
from noetl.playbook.rules.written import written_tasks
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.structure import NotAllowed

ELSEWHERE = {
    "stop": "fail",
    "abort": "fail",
    "goto": "jump",
    "pass": "continue",
    "parallel": "inclusive",
    "both": "inclusive",
    "ignore": "best_effort",
    "all": "inclusive",
    "first": "exclusive",
    "any": "each",
    "serial": "sequential",
    "concurrent": "parallel",
    "async": "parallel",
    "list": "append",
    "collect": "append",
    "total": "sum",
    "concat": "append",
    "remote": "distributed",
}
"""What other tools call a word."""


LETTERS_MIN = 3
"""Fewer letters are no short form of a word."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, NotAllowed):
            yield _report(finding.node, finding.field.name, finding.options, finding.field.doc)
    for task in written_tasks(document):
        method = task.task.fields.get("method") if task.task.kind == "http" else None
        if isinstance(method, str) and _is_misspelt(method):
            nodes = (holder.get("method") for holder in holders(task))
            reports = (_report(node, "method", METHODS) for node in nodes if isinstance(node, Scalar))
            yield from (structs.replace(report, severity=Severity.WARNING) for report in reports)


def _is_misspelt(method: str) -> bool:
    """A server may have methods of its own; but one that looks like a common one is hardly meant."""
    return method.upper() not in METHODS and closest(method, METHODS) is not None


def _report(node: Scalar, name: str, options: Sequence[str], doc: str = "") -> Diagnostic:
    wanted = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    message = f'"{name}" takes {wanted}; found {found(node)}'
    near, meaning = _near(node, options), _meaning(options, doc)
    if near is None:
        return RULE.at(node, message, meaning or (f"write `{name}: {wanted}`" if len(options) == 1 else None))
    fix = correct(node, near)
    return RULE.at(node, message, f"did you mean `{near}`?" + (f" {meaning}" if meaning and not fix else ""), fix)


def _meaning(options: Sequence[str], doc: str) -> str:
    """What the key's description says of the words, if it says more than their names."""
    return doc if f"`{options[0]}`" in doc and len(doc.split()) > 2 * len(options) else ""


def _near(node: Scalar, options: Sequence[str]) -> str | None:
    if node.value is None:
        return None
    other = ELSEWHERE.get(node.text.lower())
    return other if other in options else closest(node.text, options) or _shortened(node.text, options)


def _shortened(text: str, options: Sequence[str]) -> str | None:
    """`exponential` for `exp`, if no other word begins so."""
    longer = [option for option in options if len(text) >= LETTERS_MIN and option.startswith(text.lower())]
    return longer[0] if len(longer) == 1 else None


RULE = Rule("NOE104", "not-allowed", Severity.ERROR, check)
