"""A policy that is not an object with `rules`."""

from collections.abc import Iterator

from noetl.playbook import shape
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import ADMIT, ADMIT_RULE, TASK_POLICY
from noetl.playbook.grammar.policies import RULE as TASK_RULE
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import found, head
from noetl.playbook.source.nodes import Sequence
from noetl.playbook.structure import Finding, MissingKey, OldWord, UnknownKey, WrongType

CODE = "NOE301"

SAMPLES = {
    TASK_POLICY.title: ("do: fail", "do: continue"),
    ADMIT.title: ("allow: true", "allow: false"),
}
RULE_KEYS = frozenset(TASK_RULE.fields.keys() | ADMIT_RULE.fields.keys())


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        report = _report(finding)
        if report is not None:
            yield report


def speaks_of(finding: WrongType) -> bool:
    """Whether a wrong type is a policy's, of which this rule speaks."""
    return isinstance(finding.type, shape.Nested) and finding.type.list_rule == CODE


def is_of_bare_rule(finding: UnknownKey) -> bool:
    """A `when` or `then` right under the policy, where `rules` is missing."""
    is_policy = finding.shape is TASK_POLICY or finding.shape is ADMIT
    return is_policy and finding.key.text in RULE_KEYS and finding.parent.get("rules") is None


def _report(finding: Finding) -> Diagnostic | None:
    match finding:
        case OldWord(code=code, key=key, shape=its) if code == CODE and key is not None:
            message = f'the "{key.text}" of the {its.title} is an object; found a list'
            return RULE.at(key, message, _hint(key.text, _title(its.fields[key.text].type)))
        case WrongType(node=node, field=field, type=type_) if speaks_of(finding):
            message = f'"{field.name}" is an object; found {found(node)}'
            return RULE.at(node, message, _hint(field.name, _title(type_), is_list=isinstance(node, Sequence)))
        case MissingKey(parent=parent, shape=its) if its is TASK_POLICY or its is ADMIT:
            message = f'the {its.title} has no "rules"'
            word = "policy" if its is TASK_POLICY else "admit"
            return RULE.at(head(parent), message, _hint(word, its.title))
        case _:
            return None


def _title(type_: shape.Type) -> str:
    return type_.shape().title if isinstance(type_, shape.Nested) else ""


def _hint(word: str, title: str, *, is_list: bool = True) -> str:
    """The right form, as far as the object has rules at all."""
    if title not in SAMPLES:
        return f"write keys under `{word}`, not a list" if is_list else f"write keys under `{word}`, or delete it"
    then, otherwise = SAMPLES[title]
    first = f'    - when: "{{{{ … }}}}"\n      then: {{ {then} }}'
    return f"write\n{word}:\n  rules:\n{first}\n    - else:\n        then: {{ {otherwise} }}"


RULE = Rule(CODE, "policy-shape", Severity.ERROR, check)
