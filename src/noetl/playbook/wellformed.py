"""Whether the spec of a kind can be what the grammar is made of. A package may offer anything."""

from collections.abc import Iterator, Mapping

from noetl.playbook.grammar.root import EXECUTOR_SPEC
from noetl.playbook.grammar.tasks import SUGAR, TASK_FIELDS
from noetl.playbook.grammar.workflow import LOOP_SPEC, STEP_SPEC
from noetl.playbook.kinds import Kind
from noetl.playbook.rules.near_miss import OUTPUT
from noetl.playbook.shape import Field, Type
from noetl.playbook.structure import is_name

SPEC_WORDS = EXECUTOR_SPEC.fields.keys() | STEP_SPEC.fields.keys() | LOOP_SPEC.fields.keys() | SUGAR.keys()
TASK_WORDS = {field.name for field in TASK_FIELDS} - {"name"} | {"input", "spec"}
KNOB_WORDS = frozenset({"policy", "set"})


def faults(kind: Kind) -> Iterator[str]:
    """What is wrong with a kind, gravest first."""
    yield from _of_words(kind.name, kind.doc)
    broken = [*_of_table("fields", kind.fields, TASK_WORDS), *_of_table("knobs", kind.knobs, KNOB_WORDS)]
    yield from broken or _of_names(kind)
    yield from list(_of_blocks(kind.blocks)) or _of_blanks(kind.blanks, kind.blocks)


def _of_words(name: object, doc: object) -> Iterator[str]:
    if not isinstance(name, str) or not is_name(name) or name in SPEC_WORDS:
        yield f"`name` must be a name that is no word of the language; found {name!r}"
    if not isinstance(doc, str) or not doc:
        yield "`doc` must say what the kind does"


def _of_table(what: str, table: object, taken: frozenset[str] | set[str]) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"`{what}` must be a mapping of names to Field; found {type(table).__name__}"
        return
    for name, field in table.items():
        if not isinstance(field, Field) or not isinstance(field.type, Type):
            yield f"`{what}` must hold a Field with a type of noetl.playbook.shape under {name!r}"
        elif field.name != name:
            yield f"`{what}` has the field {field.name!r} under {name!r}; give both the same name"
        elif name in taken:
            yield f"`{what}` has {name!r}, which every task has already"


def _of_names(kind: Kind) -> Iterator[str]:
    groups = [("texts", kind.texts), ("sql", kind.sql), *_groups("one_of", kind.one_of)]
    for what, names in [*groups, *_groups("aliases", kind.aliases)]:
        if not isinstance(names, tuple) or not set(names) <= kind.fields.keys() | {"auth"}:
            yield f"`{what}` must hold names of `fields`; found {names!r}"


def _groups(what: str, given: object) -> list[tuple[str, object]]:
    """The groups of names in a tuple or a mapping; anything else is one that is none."""
    if isinstance(given, Mapping):
        return [(what, pair) for pair in given.items()]
    return [(what, group) for group in given] if isinstance(given, tuple) else [(what, given)]


def _of_blocks(blocks: object) -> Iterator[str]:
    if not isinstance(blocks, Mapping) or not all(isinstance(words, tuple) for words in blocks.values()):
        yield "`blocks` must be a mapping of names to tuples of words"
    elif taken := blocks.keys() & set(OUTPUT):
        yield f"`blocks` has {min(taken)!r}, which every output has already"


def _of_blanks(blanks: object, blocks: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    words = {word for block in blocks.values() for word in block}
    if not isinstance(blanks, Mapping) or not blanks.keys() <= words:
        yield f"`blanks` must be a mapping of words of `blocks`; found {blanks!r}"
