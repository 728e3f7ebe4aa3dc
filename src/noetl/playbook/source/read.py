"""YAML text to a tree of nodes with positions, or to the reasons why not. Never raises, whatever the input.

Duplicate and non-text keys and tags are collected while the reading goes on; anything else ends it there.
"""

import yaml
from yaml._yaml import CParser

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.bounds import DEPTH_MAX, NODES_MAX, PROBLEMS_MAX, SCALAR_CHARS_MAX
from noetl.playbook.source.encoding import FILE_BYTES_MAX, decode, readable
from noetl.playbook.source.feeding import Feed
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import (
    Entry,
    Mapping,
    Node,
    Refused,
    Scalar,
    Sequence,
    Source,
    SourceProblem,
    Style,
)
from noetl.playbook.source.syntax import explain_syntax
from noetl.playbook.source.tree import TreeBuilder

__all__ = [
    "DEPTH_MAX",
    "FILE_BYTES_MAX",
    "NODES_MAX",
    "PROBLEMS_MAX",
    "SCALAR_CHARS_MAX",
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "Source",
    "SourceProblem",
    "Style",
    "read_source",
]

TAG_DIRECTIVES_MAX = 100


def read_source(data: bytes | str, name: str) -> tuple[Source, list[SourceProblem]]:
    """Read one playbook's text. What could be built of its tree is in the source, beside all problems."""
    try:
        encoded, text = decode(data)
    except Refused as refused:
        text = readable(data, refused.problem)
        return Source(text, name, None, False, Lines(text)), [refused.problem]
    lines = Lines(text)
    builder = TreeBuilder(text, lines)
    complete, root = _fill(builder, encoded)
    if complete and not isinstance(root, Mapping):
        builder.problems.append(_no_mapping(root))
    mapping = root if isinstance(root, Mapping) else None
    return Source(text, name, mapping, complete, lines), builder.problems


def _fill(builder: TreeBuilder, encoded: bytes) -> tuple[bool, Node | None]:
    """Whether the text was read to its end, and the root."""
    try:
        _check_directives(builder)
        builder.feed(CParser(Feed(encoded, builder)).get_event)
    except Refused as refused:
        builder.problems.append(refused.problem)
        return False, builder.close()
    except yaml.MarkedYAMLError as error:
        return False, _explain(builder, error)
    return True, builder.close()


def _explain(builder: TreeBuilder, error: yaml.MarkedYAMLError) -> Node | None:
    opening = builder.opening()
    collected = list(builder.problems)
    root = builder.close()
    problem = explain_syntax(error, builder.lines, opening=opening, last=_last_scalar(root))
    # A template that was taken for a mapping is also what broke its line: one mistake, told once.
    builder.problems = [other for other in collected if other.span.line != problem.span.line]
    builder.problems.append(problem)
    return root


def _last_scalar(node: Node | None) -> Scalar | None:
    while node is not None and not isinstance(node, Scalar):
        children = [entry.value for entry in node.entries] if isinstance(node, Mapping) else node.items
        node = children[-1] if children else None
    return node


def _check_directives(builder: TreeBuilder) -> None:
    # The parser compares each %TAG directive with all before it.
    if builder.text.count("%TAG") > TAG_DIRECTIVES_MAX:
        start = builder.text.index("%TAG")
        message = f"more than {TAG_DIRECTIVES_MAX} %TAG directives; a playbook has no tags"
        raise Refused(SourceProblem("tag", message, builder.lines.span(start, start + 4), "delete them"))


def _no_mapping(root: Scalar | Sequence | None) -> SourceProblem:
    hint = "a playbook begins with keys such as apiVersion, kind, metadata and workflow"
    if root is None:
        return SourceProblem("empty", "the file is empty; expected a playbook", Span(1, 1, 1, 1), hint)
    if isinstance(root, Scalar) and ":" in root.text.split(" ")[0]:
        hint = "put a space after the colon of a key"
    found = "a list" if isinstance(root, Sequence) else "a single value"
    message = f"the file is {found}; expected a mapping with the keys of a playbook"
    return SourceProblem("empty", message, root.span, hint)
