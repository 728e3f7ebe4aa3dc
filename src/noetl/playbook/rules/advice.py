"""What an unknown key was meant to be: another word, or the same word at another place.

Other rules ask it too, so that what is only misspelt is not reported as missing.
"""

from collections.abc import Iterator

import msgspec

from noetl.errors import closest
from noetl.playbook import shape
from noetl.playbook.document import Document
from noetl.playbook.grammar.root import KEYCHAIN, PLAYBOOK
from noetl.playbook.grammar.tasks import SUGAR
from noetl.playbook.grammar.workflow import STEP
from noetl.playbook.rules.forms import tight_colon
from noetl.playbook.shape import Shape, Type
from noetl.playbook.source.nodes import Mapping
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import UnknownKey
from noetl.playbook.vocabulary import Vocabulary

ADVICE_MAX = 500
"""Unknown keys beyond this many get no advice: it would cost time and nobody reads it."""

DEPTH_MAX = 4
CLIMB_MAX = 2
SHORT = 3

SYNONYMS = {
    "id": ("step", "name"),
    "name": ("step",),
    "title": ("desc", "description"),
    "description": ("desc",),
    "desc": ("description",),
    "comment": ("desc", "description"),
    "steps": ("workflow",),
    "jobs": ("workflow",),
    "stages": ("workflow",),
    "meta": ("metadata",),
    "step": ("to",),
    "tasks": ("tool", "workflow"),
    "task": ("tool", "to"),
    "run": ("script", "code", "tool"),
    "commands": ("script",),
    "tools": ("tool",),
    "type": ("kind",),
    "uses": ("kind",),
    "tool": ("kind",),
    "operator": ("kind",),
    "plugin": ("kind",),
    "module": ("kind",),
    "if": ("when", "choose"),
    "switch": ("choose",),
    "match": ("choose",),
    "repeat": ("while",),
    "condition": ("when",),
    "elif": ("when",),
    "elseif": ("when",),
    "otherwise": ("else",),
    "default": ("else",),
    "parameters": ("workload", "params", "input"),
    "variables": ("workload", "input"),
    "inputs": ("input", "workload"),
    "with": ("input",),
    "env": ("input",),
    "secrets": ("keychain",),
    "credentials": ("keychain", "auth"),
    "credential": ("auth",),
    "target": ("step", "to"),
    "goto": ("to", "step"),
    "to": ("step",),
    "for_each": ("loop",),
    "foreach": ("loop",),
    "with_items": ("loop",),
    "matrix": ("loop",),
    "items": ("in",),
    "over": ("in",),
    "as": ("iterator",),
    "item": ("iterator",),
    "concurrency": ("max_in_flight",),
    "parallelism": ("max_in_flight",),
    "max_concurrency": ("max_in_flight",),
    "max_parallel": ("max_in_flight",),
    "max_workers": ("max_in_flight",),
    "workers": ("max_in_flight",),
    "retries": ("attempts",),
    "max_retries": ("attempts",),
    "max_attempts": ("attempts",),
    "wait": ("delay",),
    "sleep": ("delay",),
    "interval": ("delay",),
    "action": ("do",),
    "uri": ("url",),
    "endpoint": ("url",),
    "verb": ("method",),
    "payload": ("json",),
    "sql": ("command",),
    "statement": ("command",),
    "source": ("code", "script"),
    "cmd": ("script",),
    "script": ("code",),
    "code": ("script",),
    "do": ("tool",),
    "connection": ("dsn",),
    "playbook": ("path",),
    "block": ("task",),
    "max_rounds": ("max",),
}
"""What people call things elsewhere, and what they may mean here."""

_RETRY = """to run a task again write a rule under its `spec.policy.rules`:
- when: "{{ output.status == 'error' }}"
  then: { do: retry, attempts: 3 }"""
_ORDER = """a step does not name those before it; each of them has an arc to it:
next:
  arcs:
    - step: …
with `spec: { join: all }` it waits for all of them"""
_SECRET = "declare the credential under `keychain`, and name that entry by `auth`"
_NO_SECRET = (
    "no secret stands in a playbook: the credential store keeps it under this entry's name, or that in `credential`"
)
_FAILURE = """after a failure an arc leads on, if it asks for one:
next:
  arcs:
    - step: …
      when: "{{ event.name == 'step.failed' }}\""""
_CARRY_ON = """what a failure of a task means is said by its `spec.policy.rules`:
- when: "{{ output.status == 'error' }}"
  then: { do: continue }
in a loop `spec: { policy: { failure: { mode: best_effort } } }` of the step lets the other iterations run"""
_TIME = "a playbook does not say when it runs: whoever starts it does"

HINTS = {
    "retry": _RETRY,
    "retries": _RETRY,
    "max_retries": _RETRY,
    "needs": _ORDER,
    "depends_on": _ORDER,
    "dependencies": _ORDER,
    "user": _SECRET,
    "username": _SECRET,
    "password": _SECRET,
    "token": _SECRET,
    "secret": _SECRET,
    "on_failure": _FAILURE,
    "on_error": _FAILURE,
    "onFailure": _FAILURE,
    "onError": _FAILURE,
    "catch": _FAILURE,
    "rescue": _FAILURE,
    "continue_on_error": _CARRY_ON,
    "continue-on-error": _CARRY_ON,
    "ignore_errors": _CARRY_ON,
    "allow_failure": _CARRY_ON,
    "schedule": _TIME,
    "triggers": _TIME,
    "cron": _TIME,
    "on": _TIME,
}
"""What to do instead, where no other word of the place is meant."""


SUGAR_HINT = "`{0}` takes the place of a task and has no `kind`; its tasks stand below it:\n- name: …\n  {0}:\n{1}"

_REPEAT = '    when: "{{ … }}"\n    tool: { kind: … }'
SUGAR_SAMPLES = {
    "choose": '    - when: "{{ … }}"\n      tool: { kind: … }\n    - else: { tool: { kind: … } }',
    "while": _REPEAT,
    "until": _REPEAT,
}


class Advice(msgspec.Struct, frozen=True):
    """`word` may replace the key; `place` says where the key belongs; `under` is the key beside it that would hold it.

    `is_near`: the word is a matter of spelling, so the key can be replaced without asking. `is_tight`: the key and its
    value are one text for want of a space. `hint` says more than the keys that are possible.
    """

    word: str | None = None
    place: str | None = None
    under: str | None = None
    is_near: bool = False
    is_tight: bool = False
    hint: str | None = None


NONE = Advice()


def advice(document: Document) -> dict[int, Advice]:
    """By the identity of the key's node."""
    unknown = [finding for finding in document.findings if isinstance(finding, UnknownKey)][:ADVICE_MAX]
    if not unknown:
        return {}
    places = _Places(document.vocabulary)
    return {id(finding.key): _advise(finding, places) for finding in unknown}


def meant(document: Document) -> frozenset[tuple[int, str]]:
    """Pairs of a mapping's identity and a key that it lacks only because another word stands for it."""
    return frozenset(document.once(stand_ins))


def stand_ins(document: Document) -> dict[tuple[int, str], UnknownKey]:
    """The unknown keys by what they stand for: a mapping's identity and the key that it lacks."""
    known = document.once(advice)
    found: dict[tuple[int, str], UnknownKey] = {}
    for finding in document.findings:
        its = known.get(id(finding.key)) if isinstance(finding, UnknownKey) else None
        if its is not None and isinstance(finding, UnknownKey):
            found |= {(id(finding.parent), word): finding for word in (its.word, its.under) if word is not None}
    return found


def _advise(finding: UnknownKey, places: "_Places") -> Advice:
    key, parent = finding.key.text, finding.parent
    if _is_labelled_step(finding):
        return Advice(under="step", hint=f"write `- step: {shorten(key)}` and the step's keys below it")
    if key in SUGAR and parent.get("kind") is not None:
        return Advice(hint=SUGAR_HINT.format(key, SUGAR_SAMPLES[key]))
    if key in SUGAR and finding.shape is places.any_task:
        return Advice(under="kind", hint=f"`{key}` stands in a list of tasks: put `- ` before its first key")
    words = finding.shape.words
    spaced = tight_colon(key, words)
    if spaced is not None:
        return Advice(under=spaced.partition(":")[0], hint=f"put a space after the colon: `{spaced}`", is_tight=True)
    if finding.shape is places.any_task:
        words = [*words, *SUGAR]
    free = [word for word in words if parent.get(word) is None]
    synonym = next((word for word in SYNONYMS.get(key.lower(), ()) if word in free), None)
    if synonym is not None:
        return Advice(word=synonym)
    if key in HINTS:
        return Advice(hint=_hint_of(key, finding.shape))
    moved = (
        places.below(key, finding.shape, parent)
        or places.beside(key, finding.shape)
        or places.above(key, finding.shape)
    )
    if moved is not None:
        return moved
    near = closest(key, free) or _doubled(key, free)
    if near is not None:
        return Advice(word=near, is_near=True)
    return Advice(word=begun) if (begun := _begun(key, free)) is not None else NONE


def _hint_of(key: str, at: Shape) -> str:
    hint = HINTS[key]
    return _NO_SECRET if hint is _SECRET and at.title.endswith(KEYCHAIN.title) else hint


def _begun(key: str, words: list[str]) -> str | None:
    """`return_step` for `return`, if no other word begins so."""
    longer = [word for word in words if word.startswith(f"{key}_")]
    return longer[0] if len(longer) == 1 else None


def _doubled(key: str, words: list[str]) -> str | None:
    """A short word with a letter too many, `too`: nothing else that is possible here comes as near."""
    cuts = {key[:at] + key[at + 1 :] for at in range(len(key))} if len(key) == SHORT else set()
    return next((word for word in words if word in cuts), None)


def _is_labelled_step(finding: UnknownKey) -> bool:
    """`- load:` with all keys of the step below it."""
    value = finding.parent.get(finding.key.text)
    return finding.shape is STEP and len(finding.parent.entries) == 1 and isinstance(value, Mapping)


class _Places:
    """The grammar seen from any shape: what stands below it and what stands around it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._children: dict[int, list[tuple[str, Shape]]] = {}
        self._parents: dict[int, Shape] = {}
        self._vocabulary = vocabulary
        self.any_task = vocabulary.any_task
        self._visit()

    def _visit(self) -> None:
        waiting = [PLAYBOOK]
        while waiting:
            at = waiting.pop()
            if id(at) in self._children:
                continue
            below = [(name, child) for name, field in _usable(at) for child in self._inside(field.type)]
            self._children[id(at)] = below
            for _, child in below:
                self._parents.setdefault(id(child), at)
            waiting += [child for _, child in below]

    def _inside(self, type_: Type) -> Iterator[Shape]:
        match type_:
            case shape.Nested():
                yield self._vocabulary.spec(type_.shape())
            case shape.Listing():
                yield from self._inside(type_.of)
            case shape.Either():
                for option in type_.options:
                    yield from self._inside(option)
            case shape.Pipeline():
                yield from (*self._vocabulary.tasks.values(), self._vocabulary.any_task, *SUGAR.values())
            case _:
                pass

    def below(self, key: str, at: Shape, parent: Mapping | None = None) -> Advice | None:
        """The nearest place inside `at` that has the key; of several those whose way has been begun."""
        level: list[tuple[str, Shape]] = [("", at)]
        seen = {id(at)}
        for _ in range(DEPTH_MAX):
            level = [(f"{path}.{name}", child) for path, above in level for name, child in self._fresh(above, seen)]
            paths = list(dict.fromkeys(path[1:] for path, child in level if key in child.words))
            if paths:
                begun = [path for path in paths if parent is not None and parent.get(path.split(".")[0]) is not None]
                chosen = begun or paths
                shown = " or ".join(f"`{path}`" for path in chosen)
                return Advice(place=f"under {shown}", under=chosen[0].split(".")[0])
        return None

    def beside(self, key: str, at: Shape) -> Advice | None:
        """Which other kinds of task have the key, where `at` is a task or a part of one that has not."""
        around = (at, self._parents.get(id(at)))
        task = next((task for task in self._vocabulary.tasks.values() if any(task is place for place in around)), None)
        if task is None or key in task.words:
            return None
        kinds = [kind.name for kind in self._vocabulary.kinds.values() if key in kind.fields]
        return Advice(place=f"to tasks of kind {' or '.join(kinds)}") if kinds else None

    def above(self, key: str, at: Shape) -> Advice | None:
        """The nearest place around `at`, the whole playbook excepted, that has the key."""
        around = self._parents.get(id(at))
        for steps in range(1, CLIMB_MAX + 1):
            if around is None or around is PLAYBOOK:
                return None
            if key in around.words:
                return Advice(place=f"in the {around.title}, {'one level' if steps == 1 else 'two levels'} up")
            beside = self.below(key, around)
            if beside is not None:
                return Advice(place=f"{beside.place} of the {around.title}")
            around = self._parents.get(id(around))
        return None

    def _fresh(self, at: Shape, seen: set[int]) -> Iterator[tuple[str, Shape]]:
        for name, child in self._children.get(id(at), []):
            if id(child) not in seen:
                seen.add(id(child))
                yield name, child


def _usable(at: Shape) -> Iterator[tuple[str, shape.Field]]:
    return ((name, field) for name, field in at.fields.items() if field.rule is None and not field.inert)
