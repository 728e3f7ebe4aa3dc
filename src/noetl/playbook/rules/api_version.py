"""An `apiVersion` that this compiler does not know."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.root import API_VERSION, API_VERSION_V10
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.tree import shorten


def check(document: Document) -> Iterator[Diagnostic]:
    node = document.root.get("apiVersion")
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return
    if node.value not in (API_VERSION, API_VERSION_V10):
        message = f'unknown apiVersion "{shorten(node.text)}"; expected "{API_VERSION}"'
        fix = respell(node, API_VERSION) if closest(node.text, [API_VERSION]) else []
        yield RULE.at(node, message, f"write `apiVersion: {API_VERSION}`", fix)


RULE = Rule("NOE106", "api-version", Severity.ERROR, check)
