"""An arc that carries `input`: arcs carry `set`."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.reading import text
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Mapping, Node
from noetl.playbook.structure import OldWord

MESSAGE = 'an arc has no "input"; it carries values with "set", and the step it leads to binds them'


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OldWord) and finding.code == RULE.code and finding.key is not None:
            yield RULE.at(finding.key, MESSAGE, _hint(finding.value, text(finding.parent, "step") or "…"))


def _hint(value: Node, target: str) -> str:
    keys = list(value.keys()) if isinstance(value, Mapping) else []
    name = keys[0] if keys else "name"
    return f'on the arc write\nset:\n  ctx.{name}: …\nand on step "{target}"\ninput:\n  {name}: "{{{{ ctx.{name} }}}}"'


RULE = Rule("NOE211", "input-on-arc", Severity.ERROR, check)
