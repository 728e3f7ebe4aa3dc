"""The grammar as JSON Schema, for editors: completion, hover texts and errors while typing.

It is written in draft-07, the newest draft that the YAML language server understands in full. A schema
cannot read templates or follow names, so it knows less than `noetl validate`; it never refuses what that accepts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from noetl.playbook import shape
from noetl.playbook.durations import PATTERN
from noetl.playbook.grammar.policies import ADMIT_RULE, RULE, THEN
from noetl.playbook.grammar.root import API_VERSION, API_VERSION_V10, KEYCHAIN, PLAYBOOK
from noetl.playbook.grammar.tasks import CHOICE_BRANCH, SUGAR
from noetl.playbook.kinds import KeychainKind, Kind
from noetl.playbook.model import Directive
from noetl.playbook.reading import SCOPES
from noetl.playbook.shape import Field, Shape, Type
from noetl.playbook.structure import TASK_WORDS
from noetl.playbook.vocabulary import Vocabulary

DRAFT = "http://json-schema.org/draft-07/schema#"
IDENTIFIER = "urn:noetl:playbook"

V10_RULES = "NOE6"
"""Words with such a rule are accepted, with a warning. Words with any other rule are refused."""

_TEMPLATE = r"\{\{"
_ONE_TEMPLATE = r"""^\s*\{\{(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\{(?!\{)|[^"'{])*\}\}\s*$"""
_TARGET = rf"^({'|'.join(SCOPES)})(\.|$)"

Schema = dict[str, object]


def json_schema(vocabulary: Vocabulary | None = None) -> Schema:
    """The schema of a playbook with the tool kinds of the vocabulary."""
    writer = _Writer(vocabulary or Vocabulary())
    root = writer.object(PLAYBOOK)
    definitions = {name: writer.definitions[name] for name in sorted(writer.definitions)}
    return {"$schema": DRAFT, "$id": IDENTIFIER, **root, "definitions": definitions}


class _Writer:
    """Writes shapes as definitions, each once, and refers to them by name."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.definitions: dict[str, Schema] = {}
        self.shapes: dict[str, list[Shape]] = {}
        self.rests = _rests(vocabulary)
        self.words = _words(vocabulary)
        # An author may put values of their own beside the tool's, for templates to read.
        self.free = {id(its) for its in vocabulary.task_inputs.values() if its is not None}

    def object(self, its: Shape) -> Schema:
        fields = {name: field for name, field in its.fields.items() if _is_accepted(field)}
        written: Schema = {"title": its.title, "description": its.doc, "type": "object"}
        written["properties"] = {name: self.field(its, field) for name, field in fields.items()}
        required = [name for name, field in fields.items() if field.required]
        if required:
            written["required"] = required
        if not its.is_open and id(its) not in self.free:
            written |= {"patternProperties": {"^x-": {}}, "additionalProperties": False}
        return written | self.rests.get(id(its), {})

    def field(self, its: Shape, field: Field) -> Schema:
        if field.inert:
            return {"description": f"{field.doc} Accepted; it does nothing yet."}
        described: Schema = {"description": field.doc}
        if field.rule is not None:
            described |= _deprecated(field.doc, field.rule)
        return described | (self.words.get((id(its), field.name)) or self.type(field.type))

    def type(self, type_: Type) -> Schema:
        match type_:
            case shape.Value():
                return {}
            case shape.Values():
                return {"type": "object"}
            case shape.Assignments():
                return {"type": "object", "propertyNames": _pattern(_TARGET, f"A target begins with {_or(SCOPES)}.")}
            case shape.Listing():
                return {"type": "array", "items": self.type(type_.of), "minItems": type_.items_min}
            case shape.Table():
                named: Schema = {"propertyNames": _IS_NAME} if type_.is_named else {}
                return {"type": "object", "additionalProperties": self.type(type_.of)} | named
            case shape.Either():
                return {"anyOf": [self.type(option) for option in type_.options]}
            case shape.Pipeline():
                return _described_elsewhere(self.shared("tool", self.tool))
            case shape.Nested():
                return _described_elsewhere(self.nested(type_.shape()))
            case _:
                return _scalar(type_)

    def nested(self, its: Shape) -> Schema:
        if its is KEYCHAIN:
            return self.shared("keychain_entry_by_kind", self.keychain_entry)
        return self.reference(self.vocabulary.spec(its))

    def reference(self, its: Shape) -> Schema:
        namesakes = self.shapes.setdefault(its.title, [])
        if its not in namesakes:
            namesakes.append(its)
        number = namesakes.index(its) + 1
        name = its.title.replace(" ", "_") + (f"_{number}" if number > 1 else "")
        return self.shared(name, lambda: self.object(its))

    def shared(self, name: str, write: Callable[[], Schema]) -> Schema:
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = write()
        return {"$ref": f"#/definitions/{name}"}

    def tool(self) -> Schema:
        """One task, or a list of tasks and sugar."""
        return {
            "title": "tool",
            "type": ["object", "array"],
            "items": self.shared("tool_item", self.item),
            "if": {"type": "object"},
            "then": self.task_reference(),
        }

    def item(self) -> Schema:
        """Sugar, a labelled task or a task: told apart as the compiler does, so that errors fit what is meant."""
        plain = _described_elsewhere(self.task_reference()) | {
            "properties": {word: {"description": its.doc} for word, its in SUGAR.items()}
        }
        for word, its in SUGAR.items():
            is_meant = {"required": [word], "not": {"required": ["kind"]}}
            plain = {"if": is_meant, "then": self.reference(its), "else": plain}
        return {
            "type": "object",
            "if": _IS_LABELLED,
            "then": self.shared("labelled_task", self.labelled),
            "else": plain,
        }

    def labelled(self) -> Schema:
        doc = "An older form of a task: `- label: {kind: …}` for `- name: label` beside its `kind`."
        body = _described_elsewhere(self.task_reference()) | _deprecated(doc, "NOE606")
        return {"title": "labelled task", "description": doc, "propertyNames": _IS_NAME, "additionalProperties": body}

    def task_reference(self) -> Schema:
        return self.shared("task_by_kind", self.task)

    def task(self) -> Schema:
        return self.by_kind(self.vocabulary.tasks, self.vocabulary.any_task)

    def keychain_entry(self) -> Schema:
        return self.by_kind(self.vocabulary.keychain, KEYCHAIN)

    def by_kind(self, shapes: Mapping[str, Shape], otherwise: Shape) -> Schema:
        """Only the shape of the kind that is written speaks; without a known kind, what all kinds share."""
        cases = [
            {"if": {"properties": {"kind": {"const": name}}}, "then": self.reference(its)}
            for name, its in shapes.items()
        ]
        return {
            "title": otherwise.title,
            "type": "object",
            "if": {"properties": {"kind": {"enum": list(shapes)}}, "required": ["kind"]},
            "then": {"allOf": cases},
            "else": self.reference(otherwise),
        }


_IS_NAME: Schema = {
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "patternErrorMessage": "A name has letters, digits and _, and no digit first.",
}

_IS_LABELLED: Schema = {
    "minProperties": 1,
    "maxProperties": 1,
    "propertyNames": {"not": {"enum": sorted(TASK_WORDS)}},
    "additionalProperties": {"type": "object"},
}


def _is_accepted(field: Field) -> bool:
    return field.rule is None or field.rule.startswith(V10_RULES)


def _deprecated(doc: str, code: str) -> Schema:
    return {"deprecated": True, "deprecationMessage": f"{doc} ({code})"}


def _described_elsewhere(reference: Schema) -> Schema:
    """In draft-07 nothing beside a `$ref` counts, a description neither; inside an `allOf` it does no harm."""
    return {"allOf": [reference]}


def _rests(vocabulary: Vocabulary) -> dict[int, Schema]:
    """What holds for a shape beyond its keys."""
    found = {id(its): _else_or(*words) for its, words in _ALTERNATIVES}
    found[id(THEN)] = _JUMP_NEEDS_TARGET
    for name, kind in vocabulary.kinds.items():
        needs = [_given(kind, group) for group in _needed(kind)]
        if needs:
            found[id(vocabulary.tasks[name])] = {"allOf": needs}
    return found


_ALTERNATIVES = ((RULE, ("when", "then")), (ADMIT_RULE, ("when", "then")), (CHOICE_BRANCH, ("when", "tool")))

_JUMP_NEEDS_TARGET: Schema = {
    "if": {"required": ["do"], "properties": {"do": {"const": str(Directive.JUMP)}}},
    "then": {"required": ["to"]},
}


def _else_or(*words: str) -> Schema:
    return {"if": {"required": ["else"]}, "else": {"required": list(words)}}


def _needed(kind: Kind) -> list[tuple[str, ...]]:
    """Groups of fields of which one has to be there."""
    return [(field.name,) for field in kind.fields.values() if field.required] + list(kind.one_of)


def _given(kind: Kind, group: tuple[str, ...]) -> Schema:
    """On the task or, unless `input` is the callee's, under its `input`."""
    ways: list[Schema] = [{"required": [word]} for word in group]
    if not kind.is_callee:
        ways += [
            {"required": [place], "properties": {place: {"required": [word]}}}
            for place in ("input", "args")
            for word in group
        ]
    return {"anyOf": ways} if len(ways) > 1 else ways[0]


def _words(vocabulary: Vocabulary) -> dict[tuple[int, str], Schema]:
    """Keys whose words the grammar leaves to a rule or to the vocabulary."""
    found: dict[tuple[int, str], Schema] = {
        (id(PLAYBOOK), "apiVersion"): {
            "enum": [API_VERSION, API_VERSION_V10],
            "enumDescriptions": ["The language of today.", "The older words. Accepted with a warning."],
        }
    }
    kinds, entries = _kind_words(vocabulary.kinds.values()), _kind_words(vocabulary.keychain_kinds.values())
    found |= {(id(its), "kind"): kinds for its in (*vocabulary.tasks.values(), vocabulary.any_task)}
    return found | {(id(its), "kind"): entries for its in (*vocabulary.keychain.values(), KEYCHAIN)}


def _kind_words(kinds: Iterable[Kind | KeychainKind]) -> Schema:
    listed = list(kinds)
    return {"enum": [kind.name for kind in listed], "enumDescriptions": [kind.doc for kind in listed]}


def _scalar(type_: shape.Text | shape.Name | shape.Flag | shape.Number | shape.Choice | shape.Guard) -> Schema:
    match type_:
        case shape.Text(is_duration=True):
            return {"type": ["string", "number"], "exclusiveMinimum": 0} | _pattern(PATTERN, "Write a duration: 24h.")
        case shape.Text():
            return {"type": ["string", "number", "boolean"] if type_.lenient else "string"}
        case shape.Name():
            return {"type": "string"} | _IS_NAME
        case shape.Flag():
            return {"type": "boolean"}
        case shape.Number():
            return _number(type_)
        case shape.Choice():
            return {"enum": [str(option) for option in type_.options]}
        case shape.Guard():
            message = "A condition is true, false or exactly one {{ expression }}."
            return {"type": ["boolean", "string"]} | _pattern(_ONE_TEMPLATE, message)
        case _:
            assert_never(type_)


def _number(type_: shape.Number) -> Schema:
    word = "integer" if type_.integer else "number"
    bound: Schema = {"exclusiveMinimum" if type_.exclusive else "minimum": type_.minimum}
    if not type_.is_template:
        return {"type": word} | bound
    return {"type": [word, "string"]} | bound | _pattern(_TEMPLATE, "Write a number or {{ expression }}.")


def _pattern(pattern: str, message: str) -> Schema:
    return {"pattern": pattern, "patternErrorMessage": message}


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
