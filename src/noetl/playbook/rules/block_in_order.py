"""Knobs that only a loop of a step has, on the loop of a workbook block."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import LoopMode
from noetl.playbook.reading import child, mapping
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Mapping, Scalar

KNOBS = ("max_in_flight", "exec", "reduce")

HINT = (
    "remove it: a block runs as a part of the task that calls it. "
    "For iterations side by side, let the step that calls the block have the loop"
)


def check(document: Document) -> Iterator[Diagnostic]:
    for block in document.playbook.workbook.values():
        for level in block.loop.levels() if block.loop is not None else ():
            spec = mapping(document.node(level), "spec")
            key = _knob(spec) or _knob(mapping(spec, "policy"))
            if key is not None:
                knob = "mode: parallel" if key.text == "mode" else key.text
                where = f'the loop over "{level.iterator}" in {title(block)}'
                yield RULE.at(key, f"`{knob}` has no effect: the iterations of {where} run one after the other", HINT)


def _knob(node: Mapping | None) -> Scalar | None:
    """The first key of a mapping that asks for more than one iteration at a time."""
    if node is None:
        return None
    mode = child(node, "mode")
    is_parallel = isinstance(mode, Scalar) and mode.text == LoopMode.PARALLEL
    keys = (node.key(name) for name in (*(("mode",) if is_parallel else ()), *KNOBS))
    return next((key for key in keys if key is not None), None)


RULE = Rule("NOE312", "block-in-order", Severity.WARNING, check)
