"""The tree of a playbook's text: every key and value with its place. Only data; `source` builds it."""

from collections.abc import KeysView
from enum import StrEnum

import msgspec

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.source.lines import Lines


class Style(StrEnum):
    PLAIN = "plain"
    SINGLE = "single"
    DOUBLE = "double"
    LITERAL = "literal"
    FOLDED = "folded"


class Placed(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A node's place: character offsets into the text, the end exclusive, and what follows from them."""

    start: int
    end: int
    lines: Lines

    @property
    def span(self) -> Span:
        return self.lines.span(self.start, self.end)

    @property
    def line(self) -> int:
        return self.lines.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.lines.position(self.start)[1]

    @property
    def end_line(self) -> int:
        return self.lines.position(self.end)[0]

    @property
    def end_column(self) -> int:
        return self.lines.position(self.end)[1]


class Scalar(Placed, frozen=True, eq=False, gc=False):
    """`value` is typed as in YAML 1.2's core schema, `text` is what was written after decoding."""

    value: bool | int | float | str | None
    text: str
    style: Style


def is_merge(key: Scalar) -> bool:
    """Whether a key is the merge key of YAML 1.1; between quotes it is a key like any other."""
    return key.text == "<<" and key.style is Style.PLAIN


class Entry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """`end` is where the entry ends in the file, also when its value is an alias and so stands elsewhere."""

    key: Scalar
    value: "Node"
    end: int


class Sequence(Placed, frozen=True, eq=False, gc=False):
    items: "tuple[Node, ...]"
    flow: bool


class Mapping(Placed, frozen=True, eq=False, gc=False):
    """Entries in the order of the file; of duplicate keys only the first is here."""

    entries: tuple[Entry, ...]
    flow: bool
    index: dict[str, Entry]

    def get(self, key: str) -> "Node | None":
        entry = self.index.get(key)
        return entry.value if entry is not None else None

    def key(self, key: str) -> Scalar | None:
        """The node of the key itself."""
        entry = self.index.get(key)
        return entry.key if entry is not None else None

    def entry(self, key: str) -> Entry | None:
        return self.index.get(key)

    def keys(self) -> KeysView[str]:
        return self.index.keys()


Node = Scalar | Sequence | Mapping


class Source(msgspec.Struct, frozen=True, eq=False):
    """A file's text and tree. Unless `complete`, reading stopped early and `root` holds what came before.

    With `lost` parts it holds all but these: their texts are no YAML.
    """

    text: str
    name: str
    root: Mapping | None
    complete: bool
    lines: Lines
    lost: tuple[str, ...] = ()


class SourceProblem(msgspec.Struct, frozen=True):
    """A reason to refuse a text.

    Kinds: encoding, size, syntax, documents, empty, depth, alias, tag, key_type, duplicate_key.
    """

    kind: str
    message: str
    span: Span
    hint: str | None = None
    fix: tuple[Edit, ...] = ()


class Refused(Exception):
    """Ends the reading of a text with the problem that forbids to go on."""

    def __init__(self, problem: SourceProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem
