"""What the checks look at: the source, what the structure check noted, the model, and every template with its place."""

from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

from noetl.expressions.sites import Site
from noetl.expressions.template import Template
from noetl.playbook.model import Playbook
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Source
from noetl.playbook.structure import Finding
from noetl.playbook.vocabulary import Vocabulary

Answer = TypeVar("Answer")


class Frame(msgspec.Struct):
    """One pipeline and what stands around it: a step, a workbook block, or the playbook's head.

    `title` is how messages call it: `step "fetch"`. `tasks` are the names in its pipeline.
    """

    title: str
    tasks: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where in the model something stands. `iterators` run from the outermost loop to the innermost."""

    frame: Frame
    path: str
    iterators: tuple[str, ...] = ()
    task: str | None = None

    @property
    def in_loop(self) -> bool:
        return bool(self.iterators)

    def at(self, key: object) -> "Place":
        return Place(self.frame, f"{self.path}/{key}", self.iterators, self.task)

    def of_task(self, name: str) -> "Place":
        return Place(self.frame, f"{self.path}/{name}", self.iterators, name)

    def in_iteration(self, iterator: str) -> "Place":
        return Place(self.frame, self.path, (*self.iterators, iterator), self.task)


class TemplateUse(msgspec.Struct, frozen=True, gc=False):
    template: Template
    node: Scalar
    site: Site
    place: Place


class SetUse(msgspec.Struct, frozen=True, gc=False):
    """One `set` target. `key` is where it was written; `value` is what it receives."""

    target: str
    key: Scalar
    value: Node
    site: Site
    place: Place


class Notes(msgspec.Struct):
    """What building the model came across.

    `origins` maps the identity of a model part to the part, which it so keeps alive, and its node.
    `plain` are texts that look like templates where none is ever evaluated.
    """

    templates: list[TemplateUse] = []
    sets: list[SetUse] = []
    numbers: list[Scalar] = []
    origins: dict[int, tuple[object, Mapping]] = {}
    plain: list[Scalar] = []


class Document(msgspec.Struct):
    source: Source
    root: Mapping
    vocabulary: Vocabulary
    findings: list[Finding]
    playbook: Playbook
    notes: Notes
    answers: dict[Callable[..., object], object] = {}

    def node(self, part: object) -> Mapping:
        """The mapping from which a part of the model was made."""
        return self.notes.origins[id(part)][1]

    def once(self, question: "Callable[[Document], Answer]") -> Answer:
        """The answer to a question that several rules ask, worked out for the first of them."""
        if question not in self.answers:
            self.answers[question] = question(self)
        return cast(Answer, self.answers[question])
