"""A credential written into the playbook."""

import re
from collections.abc import Iterator

from noetl.expressions.template import is_template
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.reading import child, entries
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.rules.written import WrittenTask, written_tasks
from noetl.playbook.source.nodes import Node, Scalar, Sequence
from noetl.playbook.source.positions import locate

HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "x-auth-token"})
CHARS_MAX = 10_000
"""How much of a value is looked at."""

_PLACEHOLDER = r"(?i)[<\[(].*[>\])]|[x*.•…]+|(?:your|my|change|replace|example|dummy|test)\b.*"
_SCHEME = r"(?i)(?:bearer|basic|token)\s+"
_IN_URL = r"\w://[^\s/:@{}]*:([^\s/@{}]+)@"
_IN_DSN = r"\bpassword\s*=\s*'?([^\s'{}]+)"
_PREFIXES = ("AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "sk-", "eyJ", "PRIVATE KEY")
_KNOWN = (
    r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|xox[abprs]-[0-9A-Za-z-]{10,}|sk-[0-9A-Za-z_-]{20,}"
    r"|eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]+)|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""Keys whose form tells what they are: clouds, code hosts, chats, signed tokens, private keys."""

_HINT = """declare it in the keychain and read it where it is used:
  keychain:
    - name: api_token
      kind: secret_manager
  …
  "{{ keychain.api_token }}\""""


def check(document: Document) -> Iterator[Diagnostic]:
    for task in written_tasks(document):
        for holder in (task.node, task.node.get("input"), task.node.get("args")):
            yield from _headers(document, holder)
            yield from _connections(document, task, holder)
    workload = document.root.get("workload")
    if workload is not None:
        yield from _anywhere(document, workload)


def _headers(document: Document, holder: Node | None) -> Iterator[Diagnostic]:
    for entry in entries(holder, "headers"):
        value = entry.value
        if entry.key.text.lower() in HEADERS and isinstance(value, Scalar) and not is_template(value.text):
            scheme = re.match(_SCHEME, value.text)
            start = scheme.end() if scheme is not None else 0
            if _is_secret(value.text[start:]):
                message = f'the header "{entry.key.text}" holds a credential in clear'
                yield _report(document, value, Part(start, len(value.text)), message)


def _connections(document: Document, task: WrittenTask, holder: Node | None) -> Iterator[Diagnostic]:
    for key in ("url", "dsn"):
        value = child(holder, key)
        if isinstance(value, Scalar) and task.kind is not None and key in task.kind.fields:
            yield from _passwords(document, value)


def _passwords(document: Document, node: Scalar) -> Iterator[Diagnostic]:
    text = node.text[:CHARS_MAX]
    found = re.search(_IN_URL, text) if "@" in text else re.search(_IN_DSN, text) if "password" in text else None
    if found is not None and _is_secret(found[1]):
        yield _report(document, node, Part(*found.span(1)), "a password stands in the playbook in clear")


def _anywhere(document: Document, node: Node) -> Iterator[Diagnostic]:
    """Workload values are of any shape: only what cannot be anything else is taken for a credential."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Scalar):
            yield from _workload_value(document, part)
        else:
            waiting.extend(part.items if isinstance(part, Sequence) else [entry.value for entry in part.entries])


def _workload_value(document: Document, node: Scalar) -> Iterator[Diagnostic]:
    text = node.text[:CHARS_MAX]
    known = re.search(_KNOWN, text) if any(prefix in text for prefix in _PREFIXES) else None
    if known is not None:
        yield _report(document, node, Part(*known.span()), "a key or token stands in the playbook in clear")
    elif "://" in text:
        yield from _passwords(document, node)


def _is_secret(text: str) -> bool:
    return bool(text) and re.fullmatch(_PLACEHOLDER, text[:CHARS_MAX]) is None


def _report(document: Document, node: Scalar, part: Part, message: str) -> Diagnostic:
    return RULE.at(locate(document.source, node, part.start, part.end).span, message, _HINT)


RULE = Rule("NOE903", "literal-credential", Severity.WARNING, check)
