"""`ctx` written by the iterations of a parallel loop, with nothing that says how the values merge."""

from collections.abc import Iterator, Sequence

from noetl.expressions.template import is_template
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse
from noetl.playbook.model import Block, Loop, LoopMode, Reducer, Step
from noetl.playbook.reading import entries, mapping
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.writes import looped, writes_in
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Scalar

EVERY = "*"


def check(document: Document) -> Iterator[Diagnostic]:
    for owner in looped(document):
        levels = [level for level in _levels(owner) if level.mode is LoopMode.PARALLEL]
        if not levels:
            continue
        reduced = {id(level): _reduced(document, level) for level in levels}
        for path, uses in writes_in(document, owner).items():
            open_levels = [level for level in levels if not reduced[id(level)] & {path, f"ctx.{path}", EVERY}]
            if open_levels and not _always_the_same(uses):
                yield _report(owner, path, min(uses, key=_start), open_levels[0])


def _reduced(document: Document, level: Loop) -> frozenset[str]:
    """The keys of `reduce`, whatever reducer they name; every key, where `reduce` itself is misspelt or misplaced."""
    node = document.node(level)
    spec = mapping(node, "spec")
    policy = mapping(spec, "policy")
    told = document.once(meant)
    if told & {(id(node), "spec"), (id(spec), "policy"), (id(policy), "reduce")}:
        return frozenset({EVERY})
    return frozenset(entry.key.text for entry in entries(policy, "reduce"))


def _start(use: SetUse) -> int:
    return use.key.start


def _levels(owner: Step | Block) -> list[Loop]:
    return list(owner.loop.levels()) if owner.loop is not None else []


def _always_the_same(uses: Sequence[SetUse]) -> bool:
    """A plain value that every write gives alike: equal values never conflict."""
    values = [use.value.value for use in uses if isinstance(use.value, Scalar) and not is_template(use.value.text)]
    return len(values) == len(uses) and all(value == values[0] for value in values)


def _report(owner: Step | Block, path: str, use: SetUse, level: Loop) -> Diagnostic:
    loop = f'the parallel loop over "{level.iterator}" in {title(owner)}'
    message = f'"ctx.{path}" is written in {loop}: two iterations that write different values fail the step'
    hint = "\n".join(
        (
            "say how the values merge, where the loop is declared:",
            "  spec:",
            "    policy:",
            f"      reduce: {{ {path}: append }}   # or {', '.join(each for each in Reducer if each != 'append')}",
            f"or write to `iter.{path}`, which belongs to one iteration",
        )
    )
    return RULE.at(use.key, message, hint)


RULE = Rule("NOE406", "parallel-ctx-write", Severity.WARNING, check)
