"""How messages call things: what stands at a place, what was expected there, and whose place it is."""

from typing import assert_never

from noetl.expressions.template import is_template
from noetl.playbook import shape
from noetl.playbook.grammar.root import METADATA
from noetl.playbook.reading import text
from noetl.playbook.shape import Type
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence
from noetl.playbook.source.tree import shorten

WORDS_SHOWN_MAX = 24


def found(node: Node) -> str:
    """What an author has written, in plain words."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, str):
        return f'the {"template" if is_template(node.value) else "text"} "{shorten(node.text)}"'
    return f"the number {shorten(node.text)}"


def expected(type_: Type) -> str:
    match type_:
        case shape.Text():
            return "text"
        case shape.Name():
            return "a name"
        case shape.Flag():
            return "true or false"
        case shape.Number():
            return _number(type_)
        case shape.Choice(options=options):
            return f"one of {', '.join(options)}"
        case shape.Guard():
            return "true, false or one {{ … }}"
        case shape.Value():
            return "a value"
        case shape.Values() | shape.Assignments() | shape.Table() | shape.Nested():
            return "a mapping"
        case shape.Listing():
            return "a list"
        case shape.Pipeline():
            return "a task or a list of tasks"
        case shape.Either(options=options):
            return " or ".join(expected(option) for option in options)
        case _:
            assert_never(type_)


def _number(type_: shape.Number) -> str:
    number = "a whole number" if type_.integer else "a number"
    return f"{number} or one {{{{ … }}}}" if type_.is_template else number


def called(node: Mapping, title: str) -> str:
    """An object by its title and, where it has one, its name: `step "load"`."""
    name = text(node, "step") or (text(node, "name") if title != METADATA.title else None)
    return f'{title} "{shorten(name)}"' if name else f"the {title}"


def article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def listed(words: list[str]) -> str:
    shown = words[:WORDS_SHOWN_MAX]
    return ", ".join(shown) + (", …" if len(words) > len(shown) else "")


def head(node: Mapping) -> Scalar | Mapping:
    """Where to point when something is missing from a mapping: at its first key."""
    return node.entries[0].key if node.entries else node
