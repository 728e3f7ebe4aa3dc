"""A value of another type than the key takes."""

from collections.abc import Iterator

from noetl.expressions.template import is_template
from noetl.playbook import shape
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.nodes import Mapping, Scalar, Sequence, Style
from noetl.playbook.rules.policy_shape import speaks_of
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.rules.wording import expected, found
from noetl.playbook.scalars import quote, resolve_plain
from noetl.playbook.structure import TooFew, WrongType

Cure = tuple[str | None, list[Edit]]

FLAGS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}

SHORTHANDS = {
    "next": "write\nnext:\n  arcs:\n    - step: {}",
    "tool": "write `tool: {{ kind: {} }}`",
    "loop": "write\nloop:\n  in: {}\n  iterator: item",
    "arcs": "write `- step: {}`",
    "then": "write `then: {{ do: {} }}`",
    "else": "write `else: {{ then: {{ do: {} }} }}`",
}
"""What a bare text stands for at some keys."""


EMPTY = {"else": "indent what belongs to it below `else`"}


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, WrongType) and not speaks_of(finding):
            yield _report(finding)
        elif isinstance(finding, TooFew):
            message = f'"{finding.field.name}" is an empty list; expected at least {finding.items_min} item'
            yield RULE.at(finding.node, message, f"add one: {finding.field.doc}")


def _report(finding: WrongType) -> Diagnostic:
    node = finding.node
    message = f"{_place(finding)} {expected(finding.type)}; found {found(node)}"
    hint, fix = _scalar_cure(node, finding) if isinstance(node, Scalar) else (_hint(node, finding.type), [])
    return RULE.at(node, message, hint, fix)


def _place(finding: WrongType) -> str:
    """What takes the value: the key itself, or what stands in its list or mapping."""
    name, type_ = f'"{finding.field.name}"', finding.field.type
    if isinstance(type_, shape.Listing | shape.Pipeline) and type(finding.type) is not type(type_):
        return f"an item of {name} is"
    return f"a value of {name} is" if isinstance(type_, shape.Table) and finding.type is not type_ else f"{name} takes"


def _scalar_cure(node: Scalar, finding: WrongType) -> Cure:
    if node.value is None:
        return EMPTY.get(finding.field.name, f"give `{finding.field.name}` a value, or delete it"), []
    for type_ in finding.type.options if isinstance(finding.type, shape.Either) else (finding.type,):
        cure = _cure(node, type_, finding.field.name)
        if cure is not None:
            return cure
    return None, []


def _cure(node: Scalar, type_: shape.Type, name: str) -> Cure | None:
    match type_:
        case shape.Number():
            return _number_cure(node, type_)
        case shape.Flag():
            word = FLAGS.get(node.text.lower())
            return _written(node, word) if word is not None else None
        case shape.Text() | shape.Name():
            return _written(node, quote(node.text)) if node.style is Style.PLAIN else None
        case shape.Listing() if name != "workflow":
            return f"write a list: [{node.text}]", []
        case _ if name in SHORTHANDS and isinstance(node.value, str):
            return SHORTHANDS[name].format(quote(node.text) if is_template(node.text) else node.text), []
        case _:
            return None


def _number_cure(node: Scalar, type_: shape.Number) -> Cure | None:
    if is_template(node.text):
        return "a template cannot stand here; write the number itself", []
    inner = node.text.strip()
    value = resolve_plain(inner)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if node.style is Style.PLAIN or not is_number or (type_.integer and not isinstance(value, int)):
        return None
    hint, fix = _written(node, inner)
    return f"remove the quotes: {inner}" if hint else None, fix


def _written(node: Scalar, text: str) -> Cure:
    return f"write {text}", respell(node, text)


def _hint(node: Sequence | Mapping, type_: shape.Type) -> str | None:
    takes_list = isinstance(type_, shape.Listing | shape.Pipeline)
    if isinstance(node, Mapping) and takes_list:
        return "begin each item with `- `"
    if isinstance(node, Sequence) and not takes_list and expected(type_) == "a mapping":
        return "write `key: value` without the dash"
    return None


RULE = Rule("NOE103", "wrong-type", Severity.ERROR, check)
