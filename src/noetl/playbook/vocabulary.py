"""The part of the grammar that depends on which tool kinds there are: task shapes, kind blocks, keychain entries."""

from collections.abc import Iterable, Mapping

from noetl.playbook.grammar.knobs import TASK_KNOBS
from noetl.playbook.grammar.root import EXECUTOR_SPEC, KEYCHAIN_FIELDS
from noetl.playbook.grammar.tasks import TASK_FIELDS, TASK_SPEC_FIELDS
from noetl.playbook.grammar.workflow import LOOP_SPEC, STEP_SPEC
from noetl.playbook.kinds import KEYCHAIN_KINDS, KINDS, KeychainKind, Kind
from noetl.playbook.shape import Field, Nested, Shape, Values, shape


class Vocabulary:
    """Shapes for one set of kinds. Built once; every check and the schema read it.

    `unusable` are kinds that are there and cannot be used, with the reason.
    """

    def __init__(
        self,
        kinds: Iterable[Kind] = KINDS,
        keychain_kinds: Iterable[KeychainKind] = KEYCHAIN_KINDS,
        unusable: Mapping[str, str] | None = None,
    ) -> None:
        self.kinds: Mapping[str, Kind] = {kind.name: kind for kind in kinds}
        self.unusable = unusable or {}
        self.blocks = {name: words for kind in self.kinds.values() for name, words in kind.blocks.items()}
        self.keychain_kinds: Mapping[str, KeychainKind] = {kind.name: kind for kind in keychain_kinds}
        self.task_specs = {name: _task_spec(kind) for name, kind in self.kinds.items()}
        self.task_inputs = {name: _task_input(kind) for name, kind in self.kinds.items()}
        self.tasks = {name: self._task(kind) for name, kind in self.kinds.items()}
        self.any_task = self._any_task()
        self.task_words = frozenset(word for task in (*self.tasks.values(), self.any_task) for word in task.fields)
        self.keychain = {name: _keychain_entry(kind) for name, kind in self.keychain_kinds.items()}
        self._specs = {
            base.title: _with_kind_blocks(base, self.kinds.values(), self.unusable)
            for base in (EXECUTOR_SPEC, STEP_SPEC, LOOP_SPEC)
        }

    def spec(self, base: Shape) -> Shape:
        """A spec with the blocks that are named after kinds; any other shape as it is."""
        return self._specs.get(base.title, base)

    def _task(self, kind: Kind) -> Shape:
        own = [field for field in kind.fields.values() if field.name != "name"]
        common = [field for field in TASK_FIELDS if field.name not in kind.fields or field.name == "name"]
        own_optional = [_optional(field) for field in own]
        placed = _placed(self.task_specs[kind.name], self.task_inputs[kind.name])
        return shape(f"{kind.name} task", kind.doc, [*common, *own_optional, *placed])

    def _any_task(self) -> Shape:
        spec = shape("task spec", "Knobs and the policy.", TASK_SPEC_FIELDS, is_open=True)
        fields = [*TASK_FIELDS, *_placed(spec, None)]
        return shape("task", "A tool call.", fields, is_open=True)


def _placed(spec: Shape, fields: Shape | None) -> list[Field]:
    """`spec` and `input` of a task. Without `fields`, `input` is free."""
    return [
        Field("input", Nested(lambda: fields) if fields is not None else Values(), "What the tool receives."),
        Field("spec", Nested(lambda: spec), "Knobs and the policy."),
    ]


def _optional(field: Field) -> Field:
    """Whether a required field is there is asked of the task and its `input` together, not of each."""
    return Field(field.name, field.type, field.doc, rule=field.rule, inert=field.inert)


def _task_spec(kind: Kind) -> Shape:
    by_name = {field.name: field for field in TASK_SPEC_FIELDS} | dict(kind.knobs)
    return shape(f"{kind.name} task spec", "Knobs and the policy.", by_name.values())


def _task_input(kind: Kind) -> Shape | None:
    if kind.is_callee:
        return None
    return shape(f"{kind.name} input", kind.doc, [_optional(field) for field in kind.fields.values()])


def _with_kind_blocks(base: Shape, kinds: Iterable[Kind], unusable: Iterable[str]) -> Shape:
    """What a kind that cannot be used takes is not known, so its block is free."""
    blocks = [_kind_block(kind) for kind in kinds if kind.name not in base.fields]
    known = {*base.fields, *(block.name for block in blocks)}
    free = [Field(name, Values(), f"Knobs of every {name} task.") for name in unusable if name not in known]
    return shape(base.title, base.doc, [*base.fields.values(), *blocks, *free])


def _kind_block(kind: Kind) -> Field:
    knobs = {field.name: field for field in TASK_KNOBS} | dict(kind.knobs)
    block = shape(f"{kind.name} knobs", f"Knobs of every {kind.name} task.", knobs.values())
    return Field(kind.name, Nested(lambda: block), f"Knobs of every {kind.name} task.")


def _keychain_entry(kind: KeychainKind) -> Shape:
    return shape(f"{kind.name} keychain entry", kind.doc, [*KEYCHAIN_FIELDS, *kind.fields.values()])
