"""An arc that waits for the end of a step in the wrong word: `step.done` of a loop, `loop.done` of none."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.choices import LOOP_DONE, STEP_DONE
from noetl.playbook.net.findings import Certainty, LoopDoneWithoutLoop, StepDoneOnLoop
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import arc_guard
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.positions import locate, replace_in_scalar


def check(document: Document) -> Iterator[Diagnostic]:
    judgement = document.once(judge)
    for with_loop in judgement.of(StepDoneOnLoop):
        yield _report(document, with_loop, STEP_DONE, LOOP_DONE, "has a loop")
    for without_loop in judgement.of(LoopDoneWithoutLoop):
        yield _report(document, without_loop, LOOP_DONE, STEP_DONE, "has no loop")


def _report(
    document: Document, finding: StepDoneOnLoop | LoopDoneWithoutLoop, wrong: str, right: str, why: str
) -> Diagnostic:
    name, target = finding.step.name, finding.arc.step
    taken = "is never taken" if finding.certainty is Certainty.MUST else "is not taken after a success"
    message = f'step "{name}" {why}, so it succeeds with "{right}" and never "{wrong}": the arc to "{target}" {taken}'
    guard = arc_guard(document, finding.arc)
    if not isinstance(guard, Scalar) or guard.text.count(wrong) != 1:
        return RULE.at(guard, message, f'compare with "{right}"')
    start = guard.text.index(wrong)
    end = start + len(wrong)
    edit = replace_in_scalar(document.source, guard, start, end, right)
    fix = [edit] if edit is not None else []
    return RULE.at(locate(document.source, guard, start, end).span, message, fix=fix)


RULE = Rule("NOE810", "step-done-on-loop", Severity.WARNING, check)
