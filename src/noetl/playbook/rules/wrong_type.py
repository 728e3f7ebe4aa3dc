"""A value of another type than the key takes."""

from collections.abc import Iterator

from noetl.expressions.sites import SCOPE_WORDS
from noetl.expressions.template import is_template
from noetl.playbook import shape
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.root import API_VERSION
from noetl.playbook.rules.forms import (
    AUTH,
    SHORTHANDS,
    colon_words,
    item_hint,
    item_title,
    loop_hint,
    shape_hint,
    space_behind_colon,
    tight_colon,
)
from noetl.playbook.rules.policy_shape import speaks_of
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.rules.wording import article, expected, found
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Mapping, Scalar, Sequence
from noetl.playbook.source.scalars import quote, resolve_plain
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import TooFew, WrongType, is_name

Cure = tuple[str | None, list[Edit]]
NONE: Cure = (None, [])

FLAGS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}

EXAMPLES = {
    "workflow": "write a list of steps, each of which begins with `- step: name`",
    "arcs": "write a list of arcs, each of which begins with `- step: name`",
    "keychain": "write a list of entries, each of which begins with `- name: …`",
}

KEYED = {"workbook": "write the name of each block as a key, without a dash, and what the block holds below it"}

EMPTY = {"else": "indent what belongs to it below `else`"}


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, WrongType) and not speaks_of(finding):
            yield _report(document, finding)
        elif isinstance(finding, TooFew):
            message = f'"{finding.field.name}" is an empty list; expected at least {finding.items_min} item'
            yield RULE.at(finding.node, message, f"add one: {finding.field.doc}")
    yield from _loops(document)


def _loops(document: Document) -> Iterator[Diagnostic]:
    """The list of a loop may be a template, so that its grammar takes any value; a text or number is none."""
    for level in (level for owner in owners(document) if owner.loop is not None for level in owner.loop.levels()):
        node = document.node(level).get("in")
        if isinstance(node, Scalar) and not is_template(node.text):
            message = f'"in" takes a list or a {{{{ … }}}} that gives one; found {found(node)}'
            yield RULE.at(node, message, *_list_cure(node))


def _list_cure(node: Scalar) -> Cure:
    if node.value is None:
        return "write the list behind `in:`, or one {{ … }} that gives it", []
    text = node.text.strip()
    if text.startswith("[") and text.endswith("]"):
        return "remove the quotes", respell(node, text)
    scope, dot, _ = text.partition(".")
    if dot and scope in SCOPE_WORDS:
        return _written(node, quote(f"{{{{ {text} }}}}"))
    return f"write a list: [{shorten(text)}]", []


def _report(document: Document, finding: WrongType) -> Diagnostic:
    node, title = finding.node, item_title(finding)
    if title is not None and isinstance(node, Scalar) and node.value is None:
        message = f'this item of "{finding.field.name}" is empty; expected {article(title)}'
        return RULE.at(node, message, item_hint(document, node, title))
    message = f"{_place(finding)} {expected(finding.type)}; found {found(node)}"
    return RULE.at(node, message, *_cured(document, finding, title))


def _place(finding: WrongType) -> str:
    """What takes the value: the key itself, or what stands in its list or mapping."""
    name, type_ = f'"{finding.field.name}"', finding.field.type
    if isinstance(type_, shape.Listing | shape.Pipeline) and type(finding.type) is not type(type_):
        return f"an item of {name} is"
    return f"a value of {name} is" if isinstance(type_, shape.Table) and finding.type is not type_ else f"{name} takes"


def _cured(document: Document, finding: WrongType, title: str | None) -> Cure:
    node, name = finding.node, finding.field.name
    if name == "loop" and (not isinstance(node, Scalar) or node.value is not None):
        return loop_hint(document, node), []
    if not isinstance(node, Scalar):
        return AUTH if name == "auth" else shape_hint(finding.type) or _hint(node, finding.type, name), []
    if node.value is None:
        return EMPTY.get(name, f"give `{name}` a value, or delete it"), []
    spaced = tight_colon(node.text, colon_words(document, finding.type))
    if spaced is not None:
        fix = space_behind_colon(node)
        shown = spaced if fix else f"{name}: {{ {spaced} }}"
        return f"put a space after the colon: `{shown}`", fix
    hint = item_hint(document, node, title) if title is not None else shape_hint(finding.type)
    return (hint, []) if hint is not None else _cure(node, finding.type, name)


def _cure(node: Scalar, type_: shape.Type, name: str) -> Cure:
    match type_:
        case shape.Number():
            return _number_cure(node, type_)
        case shape.Flag():
            word = FLAGS.get(node.text.lower())
            return _written(node, word) if word is not None else ("write true or false, without quotes", [])
        case shape.Text():
            return _written(node, API_VERSION if name == "apiVersion" else quote(node.text))
        case shape.Name():
            return "a name begins with a letter or _", []
        case shape.Listing():
            return EXAMPLES.get(name, f"write a list: [{shorten(node.text)}]"), []
        case _ if name in SHORTHANDS and isinstance(node.value, str):
            return SHORTHANDS[name].format(shorten(node.text)), []
        case shape.Values() | shape.Assignments() | shape.Table() | shape.Nested():
            return _mapping_hint(node.text, name), []
        case _:
            return NONE


def _mapping_hint(text: str, name: str) -> str:
    """What to write where a text stands for a mapping: perhaps only its colon is an equals sign."""
    key, equals, _ = text.partition("=")
    word = key.strip()
    if equals and is_name(word.replace(".", "_")):
        return f"write a colon in place of `=`: `{word}: …`"
    return f"write lines of the form `key: value` below `{name}`"


def _number_cure(node: Scalar, type_: shape.Number) -> Cure:
    if is_template(node.text):
        return "a template cannot stand here; write the number itself", []
    inner = node.text.strip()
    value = resolve_plain(inner)
    if isinstance(value, bool) or not isinstance(value, int if type_.integer else int | float):
        return "write the number in digits, without a unit", []
    return f"remove the quotes: {inner}", respell(node, inner)


def _written(node: Scalar, text: str) -> Cure:
    return f"write {text}", respell(node, text)


def _hint(node: Sequence | Mapping, type_: shape.Type, name: str) -> str | None:
    takes_list = isinstance(type_, shape.Listing | shape.Pipeline)
    if isinstance(node, Mapping) and takes_list:
        return EXAMPLES.get(name, "begin each item with `- `")
    if isinstance(node, Sequence) and not takes_list and expected(type_) == "a mapping":
        return KEYED.get(name, "write `key: value` without the dash")
    return None


RULE = Rule("NOE103", "wrong-type", Severity.ERROR, check)
