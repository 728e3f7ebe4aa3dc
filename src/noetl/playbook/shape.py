"""The types in which the language's structure is written down as data.

`grammar` and `kinds` are made of these; `structure` checks a document against them and `schema` prints
them as JSON Schema, so that what is checked and what is documented cannot drift apart.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

NUMBER_MAX = 2**53 - 1
"""The largest number of a setting: all that read JSON hold it to the last digit."""


class Text(msgspec.Struct, frozen=True):
    """Text. `lenient` also takes an unquoted number or boolean as it was written (`version: 1.10`).

    `is_duration`: it says how long, such as `24h`.
    """

    lenient: bool = False
    is_template: bool = False
    is_duration: bool = False


class Name(msgspec.Struct, frozen=True):
    """A step, task, iterator or block name."""


class Flag(msgspec.Struct, frozen=True):
    """true or false."""


class Number(msgspec.Struct, frozen=True):
    """A number of at least `minimum` (more than it, where `exclusive`). `is_template` also takes one `{{ … }}`."""

    minimum: float = 0
    exclusive: bool = False
    integer: bool = False
    is_template: bool = False


class Choice(msgspec.Struct, frozen=True):
    """One of a few words."""

    options: tuple[str, ...]


class Guard(msgspec.Struct, frozen=True):
    """A `when`: a boolean or exactly one `{{ … }}`."""


class Value(msgspec.Struct, frozen=True):
    """Any value; strings in it may be templates where `is_template`."""

    is_template: bool = True


class Values(msgspec.Struct, frozen=True):
    """A mapping with keys of the author's choice."""

    is_template: bool = True


class Assignments(msgspec.Struct, frozen=True):
    """A `set`: scoped paths to values."""


class Listing(msgspec.Struct, frozen=True):
    of: "Type"
    items_min: int = 0


class Table(msgspec.Struct, frozen=True):
    """A mapping from keys of the author's choice to one type of thing. `is_named`: the keys are names like a task's."""

    of: "Type"
    is_named: bool = False


class Either(msgspec.Struct, frozen=True):
    """Told apart by the YAML node: a scalar takes the first option that fits a scalar, and so on."""

    options: tuple["Type", ...]


class Pipeline(msgspec.Struct, frozen=True):
    """A `tool`: one task or a list of tasks and sugar; its shape depends on each task's `kind`."""


class Nested(msgspec.Struct, frozen=True):
    """An object. The shape is fetched when needed, since shapes refer to each other.

    `list_rule` names the rule that speaks when a list stands here.
    """

    shape: Callable[[], "Shape"]
    list_rule: str | None = None


Type = (
    Text | Name | Flag | Number | Choice | Guard | Value | Values | Assignments
    | Listing | Table | Either | Pipeline | Nested
)  # fmt: skip


class Field(msgspec.Struct, frozen=True):
    """A key. `rule` names the rule that speaks when it is used: an older word, or a word in the wrong place.

    `inert` keys are accepted and do nothing yet; with `elsewhere` they do nothing here, and that is where they do.
    """

    name: str
    type: Type
    doc: str
    required: bool = False
    rule: str | None = None
    inert: bool = False
    elsewhere: str = ""


class Shape(msgspec.Struct, frozen=True):
    """An object of the language: its keys, and what people call it in messages."""

    title: str
    doc: str
    fields: Mapping[str, Field]
    is_open: bool = False

    @property
    def words(self) -> list[str]:
        """The keys an author should use here."""
        return [name for name, field in self.fields.items() if field.rule is None and not field.inert]


def shape(title: str, doc: str, fields: Iterable[Field], *, is_open: bool = False) -> Shape:
    return Shape(title, doc, {field.name: field for field in fields}, is_open)
