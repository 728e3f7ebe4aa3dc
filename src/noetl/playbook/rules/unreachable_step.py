"""A step that no run comes to."""

from collections.abc import Iterator, Sequence

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import UnreachableStep
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import quoted, step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    """One word for each group: steps that only unreachable steps lead to follow from those."""
    findings = list(document.once(judge).of(UnreachableStep))
    unreached = {id(finding.step): finding for finding in findings}
    behind = _behind(findings)
    heads = [each for each in findings if not any(id(source) in unreached for source in each.sources)]
    told: set[int] = set()
    for finding in (*heads, *findings):
        if id(finding.step) not in told:
            group = _group(finding, behind, told)
            yield _report(document, finding, len(group) - 1, unreached)


def _behind(findings: Sequence[UnreachableStep]) -> dict[int, list[UnreachableStep]]:
    found: dict[int, list[UnreachableStep]] = {}
    for finding in findings:
        for source in finding.sources:
            found.setdefault(id(source), []).append(finding)
    return found


def _group(finding: UnreachableStep, behind: dict[int, list[UnreachableStep]], told: set[int]) -> list[int]:
    """The step and those that follow from it, all marked as told."""
    told.add(id(finding.step))
    group = [id(finding.step)]
    for step in group:
        for following in behind.get(step, ()):
            if id(following.step) not in told:
                told.add(id(following.step))
                group.append(id(following.step))
    return group


def _report(
    document: Document, finding: UnreachableStep, following: int, unreached: dict[int, UnreachableStep]
) -> Diagnostic:
    name = finding.step.name
    message = f'step "{name}" is never reached'
    if following:
        message = f"{message}, nor {'is the step' if following == 1 else f'are the {following} steps'} behind it"
    from_reached = [source.name for source in finding.sources if id(source) not in unreached]
    if from_reached:
        hint = f"no arc from {quoted(from_reached, 'or')} to it is ever taken"
    elif finding.sources:
        hint = f"only steps that are never reached lead to it: {quoted([source.name for source in finding.sources])}"
    else:
        hint = f"no arc leads to it: add {{ step: {name} }} to the `arcs` of another step, or remove it"
    return RULE.at(step_name(document, finding.step), message, hint)


RULE = Rule("NOE801", "unreachable-step", Severity.WARNING, check)
