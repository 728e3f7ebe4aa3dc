"""One run of the YAML parser over a text or a part of it: the tree as far as it goes, and what is wrong."""

import msgspec
import yaml
from yaml._yaml import CParser

from noetl.playbook.source.failures import Failure
from noetl.playbook.source.feeding import Feed
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import Mapping, Node, Refused, Scalar, SourceProblem
from noetl.playbook.source.syntax import explain_syntax
from noetl.playbook.source.tree import TreeBuilder

TAG_DIRECTIVES_MAX = 100


class Part(msgspec.Struct, frozen=True):
    """`ended_by` is what ended the reading early; it is the last of the problems. `values` is how much was read."""

    root: Node | None
    problems: list[SourceProblem]
    ended_by: SourceProblem | None
    values: int

    @property
    def is_broken(self) -> bool:
        """Whether it is no YAML, and not merely beyond a bound."""
        return self.ended_by is not None and self.ended_by.kind == "syntax"


def read_part(encoded: bytes, lines: Lines, start: int, end: int) -> Part:
    """`lines` are those of the whole file; `encoded` is what the parser reads, from `start` to `end` of it."""
    builder = TreeBuilder(lines, start)
    try:
        _check_directives(builder)
        builder.feed(CParser(Feed(encoded, builder)).get_event)
    except Refused as refused:
        builder.problems.append(refused.problem)
        return Part(builder.close(), builder.problems, refused.problem, builder.values)
    except yaml.MarkedYAMLError as error:
        return _explained(builder, error, end)
    return Part(builder.close(), builder.problems, None, builder.values)


def _explained(builder: TreeBuilder, error: yaml.MarkedYAMLError, end: int) -> Part:
    opening = builder.opening()
    collected = list(builder.problems)
    root = builder.close()
    problem = explain_syntax(_failure(builder, error, end, opening, _last_scalar(root)))
    # What broke its line is told already, such as a template that was taken for a mapping: one mistake, told once.
    others = [other for other in collected if other.span.line != problem.span.line]
    aliases = (other for other in collected if other.kind == "alias" and other.span.line == problem.span.line)
    problem = next(aliases, problem)
    return Part(root, [*others, problem], problem, builder.values)


def _failure(
    builder: TreeBuilder, error: yaml.MarkedYAMLError, end: int, opening: int | None, last: Scalar | None
) -> Failure:
    at = error.problem_mark.index + builder.shift if error.problem_mark is not None else builder.shift
    context = error.context_mark.index + builder.shift if error.context_mark is not None else None
    is_flow = context is not None and "parsing a flow" in (error.context or "")
    if is_flow and builder.text.startswith(("[", "{"), context):
        opening = context
    return Failure(builder.lines, error.problem or "", at, end, context, opening, last)


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
