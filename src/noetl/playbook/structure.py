"""Compares a document with the grammar and notes every place where they part.

It says nothing to people: it yields findings, which the rules turn into messages. A wrong node is noted
once and not entered, so that one mistake is one finding. Lists of rules are noted too, right or wrong: what
the order of their items means is more than a shape can say.
"""

from typing import assert_never

import msgspec

from noetl.errors import closest
from noetl.expressions.template import is_template
from noetl.playbook import shape
from noetl.playbook.durations import seconds_of
from noetl.playbook.grammar.policies import ADMIT_RULE, RULE
from noetl.playbook.grammar.root import KEYCHAIN, PLAYBOOK
from noetl.playbook.grammar.tasks import CHOICE_BRANCH, SUGAR, TASK_FIELDS, TASK_NAME
from noetl.playbook.grammar.workflow import BLOCK, STEP
from noetl.playbook.shape import Field, Shape, Type
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence, is_merge
from noetl.playbook.vocabulary import Vocabulary

NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

RULE_SHAPES = (RULE, ADMIT_RULE, CHOICE_BRANCH)
"""Items of a list that is read from the top: each has a `when`, or is the `else`."""


KIND_ELSEWHERE = frozenset(("type", "uses", "operator", "plugin", "module", "switch", "if", "match", "repeat"))
"""What other tools call the kind of a task, or what stands here in place of a task."""

NEVER_EMPTY = (STEP.fields["tool"], BLOCK.fields["tool"])
"""Pipelines that have a task. A branch without one does nothing, which may be meant."""


class UnknownKey(msgspec.Struct, frozen=True):
    key: Scalar
    shape: Shape
    parent: Mapping


class MissingKey(msgspec.Struct, frozen=True):
    parent: Mapping
    shape: Shape
    field: Field


class WrongType(msgspec.Struct, frozen=True):
    node: Node
    field: Field
    type: Type


class NotAllowed(msgspec.Struct, frozen=True):
    """A word that is none of the options."""

    node: Scalar
    field: Field
    options: tuple[str, ...]


class OutOfRange(msgspec.Struct, frozen=True):
    node: Scalar
    field: Field
    type: shape.Number


class TooFew(msgspec.Struct, frozen=True):
    node: Sequence
    field: Field
    items_min: int


class BadName(msgspec.Struct, frozen=True):
    node: Scalar
    field: Field


class BadDuration(msgspec.Struct, frozen=True):
    node: Scalar
    field: Field


class BadGuard(msgspec.Struct, frozen=True):
    """A `when` that is neither a boolean nor a text with a template."""

    node: Node


class OldWord(msgspec.Struct, frozen=True):
    """A word, or a form, of which the rule `code` has something to say. `key` is None for a form."""

    code: str
    key: Scalar | None
    value: Node
    parent: Mapping
    shape: Shape


class InertWord(msgspec.Struct, frozen=True):
    key: Scalar
    field: Field


class UnknownKind(msgspec.Struct, frozen=True):
    node: Scalar


class UnknownKeychainKind(msgspec.Struct, frozen=True):
    node: Scalar


class RuleList(msgspec.Struct, frozen=True):
    """No fault: a list of rules, the key it stands under and the object around it."""

    node: Sequence
    parent: Mapping
    field: Field
    shape: Shape


Finding = (
    UnknownKey | MissingKey | WrongType | NotAllowed | OutOfRange | TooFew | BadName | BadDuration | BadGuard
    | OldWord | InertWord | UnknownKind | UnknownKeychainKind | RuleList
)  # fmt: skip


def check_structure(root: Mapping, vocabulary: Vocabulary) -> list[Finding]:
    checker = _Checker(vocabulary)
    checker.object(root, PLAYBOOK)
    return checker.findings


def labelled(item: Node) -> tuple[Scalar, Mapping] | None:
    """The label and body of a v10 task, `- fetch: { kind: http }`."""
    if not isinstance(item, Mapping) or len(item.entries) != 1:
        return None
    entry = item.entries[0]
    if not isinstance(entry.value, Mapping) or entry.key.text in TASK_WORDS:
        return None
    return entry.key, entry.value


def sugar_word(item: Mapping) -> str | None:
    """`choose`, `while` or `until`, where the item is that and no task."""
    return next((word for word in SUGAR if item.get(word) is not None and item.get("kind") is None), None)


TASK_WORDS = frozenset({field.name for field in TASK_FIELDS} | set(SUGAR) | {"spec", "input"})


class _Checker:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.findings: list[Finding] = []

    def object(self, node: Mapping, its: Shape) -> None:
        fields = its.fields
        for entry in node.entries:
            field = fields.get(entry.key.text)
            if field is not None:
                self.field(node, entry.key, entry.value, field, its)
            elif not its.is_open and not entry.key.text.startswith("x-") and not is_merge(entry.key):
                self.findings.append(UnknownKey(entry.key, its, node))
        for field in fields.values():
            if field.required and node.get(field.name) is None and not is_merged(node):
                self.findings.append(MissingKey(node, its, field))

    def field(self, parent: Mapping, key: Scalar, value: Node, field: Field, its: Shape) -> None:
        if field.rule is not None:
            self.findings.append(OldWord(field.rule, key, value, parent, its))
        if field.inert:
            self.findings.append(InertWord(key, field))
            return
        self.value(value, field.type, field, parent, its)

    def value(self, node: Node, type_: Type, field: Field, parent: Mapping, its: Shape) -> None:
        match type_:
            case shape.Value():
                pass
            case shape.Values() | shape.Assignments():
                self.expect(isinstance(node, Mapping), node, field, type_)
            case shape.Nested():
                self.nested(node, type_, field, parent, its)
            case shape.Pipeline():
                self.pipeline(node, field)
            case shape.Listing():
                self.listing(node, type_, field, parent, its)
            case shape.Table():
                self.table(node, type_, field, its)
            case shape.Either():
                self.either(node, type_, field, parent, its)
            case shape.Guard():
                self.guard(node)
            case shape.Text() | shape.Name() | shape.Flag() | shape.Number() | shape.Choice():
                self.scalar(node, type_, field)
            case _:
                assert_never(type_)

    def expect(self, holds: bool, node: Node, field: Field, type_: Type) -> bool:
        if not holds:
            self.findings.append(WrongType(node, field, type_))
        return holds

    def nested(self, node: Node, type_: shape.Nested, field: Field, parent: Mapping, its: Shape) -> None:
        if isinstance(node, Sequence) and type_.list_rule is not None:
            self.findings.append(OldWord(type_.list_rule, parent.key(field.name), node, parent, its))
        elif self.expect(isinstance(node, Mapping), node, field, type_) and isinstance(node, Mapping):
            inner = type_.shape()
            if inner is KEYCHAIN:
                self.keychain_entry(node)
            else:
                self.object(node, self.vocabulary.spec(inner))

    def listing(self, node: Node, type_: shape.Listing, field: Field, parent: Mapping, its: Shape) -> None:
        if not self.expect(isinstance(node, Sequence), node, field, type_) or not isinstance(node, Sequence):
            return
        if len(node.items) < type_.items_min:
            self.findings.append(TooFew(node, field, type_.items_min))
        rule = _rule_shape(type_)
        if rule is not None:
            self.findings.append(RuleList(node, parent, field, rule))
        for item in node.items:
            self.value(item, type_.of, field, parent, its)

    def table(self, node: Node, type_: shape.Table, field: Field, its: Shape) -> None:
        if not self.expect(isinstance(node, Mapping), node, field, type_) or not isinstance(node, Mapping):
            return
        for entry in node.entries:
            if type_.is_named and not is_name(entry.key.text):
                self.findings.append(BadName(entry.key, field))
            self.value(entry.value, type_.of, field, node, its)

    def either(self, node: Node, type_: shape.Either, field: Field, parent: Mapping, its: Shape) -> None:
        takes_mapping = (shape.Nested, shape.Values)
        for option in type_.options:
            if isinstance(node, Mapping) == isinstance(option, takes_mapping) and not isinstance(node, Sequence):
                self.value(node, option, field, parent, its)
                return
        self.findings.append(WrongType(node, field, type_))

    def guard(self, node: Node) -> None:
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, bool) and not (isinstance(value, str) and is_template(value)):
            self.findings.append(BadGuard(node))

    def scalar(
        self,
        node: Node,
        type_: shape.Text | shape.Name | shape.Flag | shape.Number | shape.Choice,
        field: Field,
    ) -> None:
        if not isinstance(node, Scalar):
            self.findings.append(WrongType(node, field, type_))
            return
        match type_:
            case shape.Text():
                is_text = self.expect(isinstance(node.value, str) or _is_written(node, type_), node, field, type_)
                if is_text and type_.is_duration and seconds_of(node.text) is None:
                    self.findings.append(BadDuration(node, field))
            case shape.Name():
                if self.expect(isinstance(node.value, str), node, field, type_) and not is_name(node.text):
                    self.findings.append(BadName(node, field))
            case shape.Flag():
                self.expect(isinstance(node.value, bool), node, field, type_)
            case shape.Number():
                self.number(node, type_, field)
            case shape.Choice():
                if node.value not in type_.options:
                    self.findings.append(NotAllowed(node, field, type_.options))
            case _:
                assert_never(type_)

    def number(self, node: Scalar, type_: shape.Number, field: Field) -> None:
        value = node.value
        if isinstance(value, str) and type_.is_template and _is_one_template(value):
            return
        if isinstance(value, bool) or not isinstance(value, int | float) or (type_.integer and value != value // 1):
            self.findings.append(WrongType(node, field, type_))
        elif not _in_range(value, type_):
            self.findings.append(OutOfRange(node, field, type_))

    def pipeline(self, node: Node, field: Field) -> None:
        if isinstance(node, Mapping):
            self.task(node)
        elif self.expect(isinstance(node, Sequence), node, field, shape.Pipeline()) and isinstance(node, Sequence):
            if not node.items and field in NEVER_EMPTY:
                self.findings.append(TooFew(node, field, 1))
            for item in node.items:
                self.item(item, field)

    def item(self, item: Node, field: Field) -> None:
        if not self.expect(isinstance(item, Mapping), item, field, shape.Nested(lambda: self.vocabulary.any_task)):
            return
        assert isinstance(item, Mapping)
        named = labelled(item)
        word = sugar_word(item)
        if named is not None:
            self.label(*named, item)
        elif word is not None:
            self.object(item, SUGAR[word])
        else:
            self.task(item)

    def label(self, name: Scalar, body: Mapping, item: Mapping) -> None:
        self.findings.append(OldWord("NOE606", name, body, item, self.vocabulary.any_task))
        if not is_name(name.text):
            self.findings.append(BadName(name, TASK_NAME))
        self.task(body)

    def task(self, node: Mapping) -> None:
        kind = node.get("kind")
        known = kind.text if isinstance(kind, Scalar) and kind.text in self.vocabulary.tasks else None
        if known is None and isinstance(kind, Scalar) and isinstance(kind.value, str):
            self.findings.append(UnknownKind(kind))
        if kind is None:
            self.misspelt_kind(node)
        self.object(node, self.vocabulary.tasks[known] if known is not None else self.vocabulary.any_task)

    def misspelt_kind(self, node: Mapping) -> None:
        """Without its kind a task may have any key; only one that was meant as `kind`, or as sugar, is known wrong."""
        for entry in node.entries:
            key = entry.key.text
            is_meant = key in KIND_ELSEWHERE or key.startswith("kind:") or closest(key, ("kind", *SUGAR)) is not None
            if is_meant and key not in self.vocabulary.task_words:
                self.findings.append(UnknownKey(entry.key, self.vocabulary.any_task, node))

    def keychain_entry(self, node: Mapping) -> None:
        kind = node.get("kind")
        known = self.vocabulary.keychain.get(kind.text) if isinstance(kind, Scalar) else None
        if known is None and isinstance(kind, Scalar) and isinstance(kind.value, str):
            self.findings.append(UnknownKeychainKind(kind))
        self.object(node, known if known is not None else KEYCHAIN)


def is_merged(node: Mapping) -> bool:
    """Whether keys were to come from elsewhere, so that none of them is known to be missing."""
    key = node.key("<<")
    return key is not None and is_merge(key)


def is_name(text: str) -> bool:
    return bool(text) and not text[0].isdigit() and NAME_CHARS.issuperset(text)


def _rule_shape(type_: shape.Listing) -> Shape | None:
    found = type_.of.shape() if isinstance(type_.of, shape.Nested) else None
    return found if any(found is known for known in RULE_SHAPES) else None


def _is_one_template(value: str) -> bool:
    return value.strip().startswith("{{") and value.strip().endswith("}}")


def _is_written(node: Scalar, type_: shape.Text) -> bool:
    return type_.lenient and node.value is not None


def _in_range(value: float, type_: shape.Number) -> bool:
    return (value > type_.minimum if type_.exclusive else value >= type_.minimum) and value <= shape.NUMBER_MAX
