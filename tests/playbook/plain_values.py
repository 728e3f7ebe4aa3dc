"""A playbook's text as plain values, typed as the compiler types them: what a schema looks at."""

from noetl.playbook.source.nodes import Mapping, Node, Sequence
from noetl.playbook.source.read import read_source


def plain_values(text: bytes | str) -> object:
    source, problems = read_source(text, "plain.yaml")
    assert source.root is not None, problems
    return plain(source.root)


def plain(node: Node) -> object:
    match node:
        case Mapping():
            return {entry.key.text: plain(entry.value) for entry in node.entries}
        case Sequence():
            return [plain(item) for item in node.items]
        case _:
            return node.value
