"""Templates over what the model knows. `UNSURE` stands for a value that depends on the order of things.

Every name a template reads is noted, so that the model can tell afterwards which branches could have met.
"""

import re
from collections.abc import Callable, Mapping

from noetl.engine.reference import Reference
from noetl.errors import TemplateError
from noetl.expressions.template import NameUse, Readable, is_template, parse
from noetl.playbook.model import Guard

Scope = Mapping[str, object]
Place = tuple[str, ...]
"""What a template read or a `set` wrote: `("ctx", "a", "b")`, `("out", "fetch")` or `("event", "fetch", "name")`."""

PLAIN = re.compile(r"\{\{ [\w.]+ \}\}")
"""A template that only hands a value on, whatever it is."""


class Unsure:
    """The one value nobody can foretell."""

    def __repr__(self) -> str:
        return "UNSURE"


UNSURE = Unsure()


class Lost(Exception):
    """The model cannot say how it goes on from here."""


class Broken(Exception):
    """A template failed, or a `set` may not write what it should."""

    def __init__(self, kind: str = "template") -> None:
        super().__init__(kind)
        self.kind = kind

    def __repr__(self) -> str:
        return f"Broken {self.kind}"


class FromLog(Readable):
    """What a loop gave, some of it stored elsewhere: workers read it back from the log, servers only hand it on."""

    def __init__(self, items: list[object]) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"FromLog({self.items!r})"

    def read(self, name: str) -> object:  # noqa: ARG002
        raise TemplateError("on a server", kind="data_by_reference")

    def text(self) -> str:
        raise TemplateError("on a server", kind="data_by_reference")


def as_worker_sees(value: object) -> object:
    """A value with all data put back."""
    if isinstance(value, FromLog):
        return value.items
    if isinstance(value, Mapping):
        return {key: as_worker_sees(item) for key, item in value.items()}
    return [as_worker_sees(item) for item in value] if isinstance(value, list | tuple) else value


def scope_of_worker(values: Mapping[str, object]) -> dict[str, object]:
    return {key: as_worker_sees(value) for key, value in values.items()}


Raced = Mapping[Place, tuple[object, ...]]
"""What branches beside each other write or read, and every value it may have besides the one it has here."""


class _Absent:
    """No value at all."""


ABSENT = _Absent()
VARIANTS_MAX = 64


class Reader:
    """Evaluates templates for one run of `step`. `steps` are the names of steps; `raced` is what others may change.

    `is_leaving`: the run has ended, so that the event is its own and its name means its own output.
    """

    def __init__(self, steps: frozenset[str], raced: Raced, step: str) -> None:
        self.steps = steps
        self.raced = raced
        self.step = step
        self.is_leaving = False
        self.reads: set[Place] = set()

    def evaluate(self, value: object, scope: Scope) -> object:
        if isinstance(value, str) and is_template(value):
            return self._template(value, scope)
        if isinstance(value, dict):
            return {key: self.evaluate(item, scope) for key, item in value.items()}
        return [self.evaluate(item, scope) for item in value] if isinstance(value, list) else value

    def test(self, when: Guard, scope: Scope) -> bool:
        if not isinstance(when, str):
            return when is not False
        found = self._results(when, scope, parse(when).test)
        if len(found) > 1:
            raise Lost(f"{when} depends on what another branch does")
        return bool(_sure(found[0]))

    def _template(self, text: str, scope: Scope) -> object:
        names = parse(text).names
        if PLAIN.fullmatch(text) and len(names) == 1 and _read(names[0], scope) is UNSURE:
            return UNSURE
        found = self._results(text, scope, parse(text).evaluate)
        if len(found) == 1:
            return _sure(found[0])
        if any(isinstance(each, Broken) or "Reference" in repr(each) for each in found):
            raise Lost(f"{text} may fail by what another branch does")
        return UNSURE

    def _results(self, text: str, scope: Scope, evaluate: Callable[[Scope], object]) -> list[object]:
        """What the template gives, or how it breaks, for every value that other branches may have written."""
        found: dict[str, object] = {}
        for variant in self._variants(text, scope):
            try:
                result = evaluate(variant)
            except TemplateError as error:
                result = Broken(error.kind)
            found[repr(result)] = result
        return list(found.values())

    def _variants(self, text: str, scope: Scope) -> list[Scope]:
        places = []
        for use in parse(text).names:
            place = self._place(use)
            if place is not None:
                self.reads.add(place)
                places.extend(self._met(place))
            if is_unsure(_read(use, scope)):
                raise Lost(f"{text} reads something unsure")
        variants = [scope]
        for place in dict.fromkeys(places):
            values = self.raced[place]
            if is_unsure(values) or len(variants) * (len(values) + 2) > VARIANTS_MAX:
                raise Lost(f"{'.'.join(place)} may change meanwhile")
            variants += [_varied(each, place, value) for each in variants for value in (*values, ABSENT)]
        return variants

    def touch(self, place: Place) -> None:
        """Something reads the place that is no template, and cannot be asked what else it would come to."""
        self.reads.add(place)
        if any(overlap(place, other) for other in self.raced):
            raise Lost(f"{'.'.join(place)} may change meanwhile")

    def _met(self, place: Place) -> list[Place]:
        """The place itself where it is raced; of one around it or inside it nobody knows what it may be."""
        if place in self.raced and place[0] != "event":
            return [place]
        if any(overlap(place, other) for other in self.raced):
            raise Lost(f"{'.'.join(place)} may change meanwhile")
        return []

    def _place(self, use: NameUse) -> Place | None:
        segments = tuple(segment.name for segment in use.segments)
        if use.root == "ctx":
            return ("ctx", *segments)
        if self.is_leaving and use.root in ("event", self.step):
            return None
        if use.root == "event":
            return ("event", self.step, *segments)
        return ("out", use.root) if use.root in self.steps else None


def _sure(result: object) -> object:
    if isinstance(result, Broken):
        raise result
    return result


def _varied(scope: Scope, place: Place, value: object) -> Scope:
    """The scope as it would be, had another branch written this value, or had nobody written any."""
    keys = place if place[0] == "ctx" else place[1:]
    return _replaced(scope, keys, value)


def _replaced(scope: Scope, keys: Place, value: object) -> Scope:
    key, *rest = keys
    if rest:
        inside = scope.get(key)
        return {**scope, key: _replaced(inside if isinstance(inside, Mapping) else {}, tuple(rest), value)}
    return {name: each for name, each in {**scope, key: value}.items() if each is not ABSENT}


def overlap(one: Place, other: Place) -> bool:
    return all(left == right for left, right in zip(one, other, strict=False))


def _read(use: NameUse, scope: Scope) -> object:
    """As far as the keys lead; what is not there is nothing."""
    found = scope.get(use.root)
    for segment in use.segments:
        if not isinstance(found, Mapping):
            return found if found is UNSURE else None
        found = found.get(segment.name)
    return found


def is_unsure(value: object) -> bool:
    """Whether a value is unsure, or holds something that is."""
    if isinstance(value, Mapping):
        return any(map(is_unsure, value.values()))
    if isinstance(value, FromLog):
        return is_unsure(value.items)
    return any(map(is_unsure, value)) if isinstance(value, list | tuple) else value is UNSURE


Patch = dict[str, object]
"""What was written, by paths inside one scope, in order."""


def assignments(reader: Reader, written: Mapping[str, object], scope: Scope) -> dict[str, Patch]:
    """What one `set` writes, by scope. All its expressions see the state before it."""
    found: dict[str, Patch] = {"ctx": {}, "step": {}, "iter": {}}
    for target, value in written.items():
        name, _, path = target.partition(".")
        result = reader.evaluate(value, scope)
        if result is UNSURE and target.endswith("_ref") is not str(value).endswith(".ref }}"):
            raise Lost(f"{target} may receive a reference")
        is_reference = isinstance(result, Reference)
        if result is not None and result is not UNSURE and is_reference != target.endswith("_ref"):
            raise Broken
        _check_way(scope.get(name), path.split(".")[:-1])
        found[name][path] = result
    return found


def _check_way(value: object, keys: list[str]) -> None:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
        if value is UNSURE:
            raise Lost("a path leads through something unsure")
        if value is not None and not isinstance(value, Mapping):
            raise Broken


def patched(scope: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    result = dict(scope)
    for path, value in patch.items():
        *around, last = path.split(".")
        target = result
        for key in around:
            below = target.get(key)
            target[key] = dict(below) if isinstance(below, Mapping) else {}
            target = target[key]  # type: ignore[assignment]
        target[last] = value
    return result


def both(first: Patch, second: Patch) -> Patch:
    """One patch that does what the first and then the second would do."""
    kept = {path: value for path, value in first.items() if not any(_covers(newer, path) for newer in second)}
    return kept | second


def _covers(outer: str, path: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")
