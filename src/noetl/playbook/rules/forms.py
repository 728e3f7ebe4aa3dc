"""The YAML to write where a value of another type stands, and the space that a tight colon lacks."""

from collections.abc import Container

from noetl.expressions.template import is_template
from noetl.playbook import shape
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import ADMIT_THEN
from noetl.playbook.grammar.root import KEYCHAIN
from noetl.playbook.grammar.tasks import CHOICE_ELSE
from noetl.playbook.source.nodes import Node, Scalar, Style
from noetl.playbook.source.scalars import quote
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import WrongType, is_name

SHORTHANDS = {
    "next": "write\nnext:\n  arcs:\n    - step: {}",
    "tool": "write `tool: {{ kind: {} }}`",
    "metadata": "write `metadata: {{ name: {0}, path: {0} }}`",
    "executor": "write `executor: {{ profile: {} }}`",
    "failure": "write `failure: {{ mode: {} }}`",
    "then": "write `then: {{ do: {} }}`",
    "else": "write `else: {{ then: {{ do: {} }} }}`",
}
"""What a bare text stands for at some keys."""

SAMPLES = {
    "step": "- step: {}\n  tool: {{ kind: noop }}",
    "arc": "- step: {}",
    "task": "- name: {}\n  kind: noop",
    KEYCHAIN.title: "- name: {}\n  kind: env\n  var: …",
    "rule": "- when: \"{{{{ output.status == 'error' }}}}\"\n  then: {{ do: {} }}",
    "admission rule": '- when: "{{{{ … }}}}"\n  then: {{ allow: true }}',
    "branch": '- when: "{{{{ … }}}}"\n  tool: {{ kind: noop }}',
}
"""An item of a list, by its title, around a text that may have been meant as its name."""

NAMES = {"rule": "fail"}
"""What stands for that text where there is none."""

ALLOW = "write `then: { allow: true }`, or `{ allow: false }`"
ELSE = "put the tasks under `tool`:\nelse:\n  tool: …"
LOOP = "write\nloop:\n  in: {}\n  iterator: item"
AUTH = "declare the credential under `keychain` and name that entry here: `auth: entry_name`"


def item_title(finding: WrongType) -> str | None:
    """What an item of the list is called, where the finding is about an item and not about the list."""
    type_ = finding.field.type
    if not isinstance(type_, shape.Listing | shape.Pipeline) or not isinstance(finding.type, shape.Nested):
        return None
    return finding.type.shape().title


def item_hint(document: Document, node: Scalar, title: str) -> str:
    """The item as it should be: around the text that stands there, or a sample."""
    sample = SAMPLES[title]
    if node.value is None:
        return f"write the {title}, or delete the dash:\n{sample.format(NAMES.get(title, 'name'))}"
    if node.text in document.vocabulary.kinds and title == "task":
        return f"write `- kind: {node.text}`"
    written = sample.format(shorten(node.text))
    return f"write\n{written}" if "\n" in written else f"write `{written}`"


def loop_hint(document: Document, node: Node) -> str:
    """A `loop` around the list, the template or the number that stands in its place."""
    raw = document.source.text[node.start : node.end]
    if not isinstance(node, Scalar):
        return LOOP.format(raw if raw.startswith("[") and shorten(raw) == raw else "[ … ]")
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return LOOP.format(quote(f"{{{{ range({node.value}) }}}}"))
    if not isinstance(node.value, str):
        return LOOP.format("[ … ]")
    template = node.text if is_template(node.text) else f"{{{{ workload.{shorten(node.text)} }}}}"
    return LOOP.format(quote(template))


def shape_hint(type_: shape.Type) -> str | None:
    """What two words that mean several objects take here: an admission's `then`, a branch's `else`."""
    its = type_.shape() if isinstance(type_, shape.Nested) else None
    return ALLOW if its is ADMIT_THEN else ELSE if its is CHOICE_ELSE else None


class _AnyName:
    """The keys of a mapping that has none of its own: whatever can be a name."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and is_name(word)


ANY_NAME = _AnyName()


def tight_colon(text: str, words: Container[str]) -> str | None:
    """`name: world` for `name:world`, where `name` is a word that is possible there."""
    word, colon, rest = text.partition(":")
    is_tight = colon and rest and not rest[0].isspace() and not rest.startswith("//") and word in words
    return f"{word}: {rest}" if is_tight else None


def colon_words(document: Document, type_: shape.Type) -> Container[str]:
    """The keys of the object that a type takes."""
    if isinstance(type_, shape.Nested):
        return type_.shape().fields
    if isinstance(type_, shape.Values | shape.Table):
        return ANY_NAME
    return document.vocabulary.task_words if isinstance(type_, shape.Pipeline) else ()


def space_behind_colon(node: Scalar) -> list[Edit]:
    """The edit, where the text is the first thing on its line, or a key between braces."""
    at = node.start + node.lines.text[node.start : node.end].index(":") + 1
    before = node.lines.line_text(node.line)[: node.column - 1]
    is_first = not before.strip(" -") or before.rstrip().endswith(("{", ","))
    is_plain = node.style is Style.PLAIN and node.line == node.end_line
    return [Edit(at, at, " ")] if is_plain and is_first else []
