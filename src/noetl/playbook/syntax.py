"""What the YAML parser found wrong, in words that help: what stands there, what was expected, what to do."""

import yaml

from noetl.playbook.lines import Lines
from noetl.playbook.nodes import SourceProblem


def explain_syntax(text: str, lines: Lines, error: yaml.MarkedYAMLError) -> SourceProblem:
    mark = error.problem_mark or error.context_mark
    offset = mark.index if mark is not None else 0
    return SourceProblem("syntax", str(error.problem), lines.span(offset, offset + 1))
