"""Builds tasks, their policies and loops from nodes: every accepted form becomes the list with names."""

from collections.abc import Sequence as Items
from typing import TypeVar

from noetl.expressions.sites import Site
from noetl.playbook import sugar
from noetl.playbook.document import Place
from noetl.playbook.kinds import Kind
from noetl.playbook.model import (
    ATTEMPTS_DEFAULT,
    DELAY_DEFAULT_S,
    MAX_IN_FLIGHT_DEFAULT,
    AdmitRule,
    Backoff,
    Directive,
    Guard,
    Loop,
    LoopMode,
    OnUnmatched,
    Placement,
    Policy,
    Reducer,
    Rule,
    Task,
    Then,
)
from noetl.playbook.reading import Reader, child, choice, entries, mapping, mappings, number, option, text
from noetl.playbook.shape import Text
from noetl.playbook.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from noetl.playbook.structure import labelled, sugar_word

SPEC_PARTS = frozenset({"policy", "set", "next_mode", "join", "mode", "max_in_flight", "entry_step"})
"""Keys of a `spec` that the model holds in fields of their own."""

_CALLS = frozenset({"playbook", "workbook"})
"""Kinds whose input is recorded with the call, so that no secret may be in it."""


class PipelineReader:
    """Reads `tool` and `loop`. `kinds` tells which keys of a task are its kind's own fields."""

    def __init__(self, reader: Reader, kinds: dict[str, Kind]) -> None:
        self.reader = reader
        self.kinds = kinds

    def pipeline(self, node: Node | None, owner: str, place: Place) -> tuple[Task, ...]:
        """The tasks of a `tool`; `owner` names a single task that has no name."""
        if isinstance(node, Mapping):
            tasks = [self._task(node, text(node, "name") or f"{owner}_task", place)]
        else:
            tasks = self._list(node, "task_", place)
        place.frame.tasks = tuple(task.name for task in tasks)
        return tuple(tasks)

    def _list(self, node: Node | None, prefix: str, place: Place) -> list[Task]:
        found: list[Task] = []
        for position, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            if isinstance(item, Mapping):
                found.extend(self._item(item, f"{prefix}{position}", place))
        return found

    def _item(self, item: Mapping, default_name: str, place: Place) -> list[Task]:
        word = sugar_word(item)
        if word is not None:
            return self._sugar(item, word, text(item, "name") or default_name, place)
        named = labelled(item)
        if named is not None:
            return [self._task(named[1], named[0].text, place)]
        return [self._task(item, text(item, "name") or default_name, place)]

    def _sugar(self, item: Mapping, word: str, name: str, place: Place) -> list[Task]:
        if word == "choose":
            tasks = self._choose(item, name, place)
        else:
            tasks = self._repeat(item, word, name, place)
        for task in tasks:
            self.reader.notes.origins.setdefault(id(task), (task, item))
        return tasks

    def _choose(self, item: Mapping, name: str, place: Place) -> list[Task]:
        branches: list[tuple[Guard, Items[Task]]] = []
        otherwise: Items[Task] = ()
        for position, branch in enumerate(mappings(item, "choose"), 1):
            if branch.get("else") is not None:
                otherwise = self._body(child(branch.get("else"), "tool"), f"{name}_else", place)
                continue
            rule = place.of_task(f"{name}_choose").at("before").at(len(branches))
            when = self.reader.guard(branch.get("when"), Site.BEFORE_WHEN, rule.at("when"))
            tasks = self._body(branch.get("tool"), f"{name}_{position}", place)
            branches.append((False if when is None else when, tasks))
        return sugar.choose(name, branches, otherwise)

    def _repeat(self, item: Mapping, word: str, name: str, place: Place) -> list[Task]:
        body = item.get(word)
        rule = place.of_task(f"{name}_test").at("before").at(0)
        when = self.reader.guard(child(body, "when"), Site.BEFORE_WHEN, rule.at("when"))
        rounds = number(body, "max")
        tasks = self._body(child(body, "tool"), name, place)
        expand = sugar.repeat_while if word == "while" else sugar.repeat_until
        return expand(name, when, tasks, int(rounds) if rounds is not None else None)

    def _body(self, node: Node | None, prefix: str, place: Place) -> list[Task]:
        if isinstance(node, Mapping):
            return [self._task(node, text(node, "name") or f"{prefix}_task", place)]
        return self._list(node, f"{prefix}_", place)

    def _task(self, node: Mapping, name: str, place: Place) -> Task:
        place = place.of_task(name)
        kind = self.kinds.get(text(node, "kind") or "")
        fields, given = self._inputs(node, kind, place)
        spec = mapping(node, "spec")
        task = Task(
            name=name,
            kind=text(node, "kind") or "",
            desc=text(node, "desc"),
            fields=fields,
            input=given,
            auth=self._auth(node, place),
            spec=self.knobs(spec, place.at("spec")),
            policy=self._policy(mapping(spec, "policy"), place),
            set=self.assigned(node, Site.TASK_SET, place.at("set")),
        )
        return self.reader.made_from(node, task)

    def _auth(self, node: Mapping, place: Place) -> str | None:
        found = node.get("auth")
        value = self.reader.value(found, Site.TASK_INPUT, place.at("auth")) if isinstance(found, Scalar) else None
        return value if isinstance(value, str) else None

    def _inputs(self, node: Mapping, kind: Kind | None, place: Place) -> tuple[dict[str, object], dict[str, object]]:
        """The kind's fields, from the task and its `input`; and what is left of `input` for the callee.

        A field has one path, whichever way it was written.
        """
        own = kind.fields if kind is not None else {}
        lifted = own if kind is not None and not kind.is_callee else {}
        site = Site.CALL_INPUT if kind is not None and kind.name in _CALLS else Site.TASK_INPUT
        found = [entry for entry in node.entries if entry.key.text in own and entry.key.text != "name"]
        given: dict[str, object] = {}
        for word in ("args", "input"):
            for entry in entries(node, word):
                if entry.key.text in lifted:
                    found.append(entry)
                else:
                    at = place.at("input").at(entry.key.text)
                    given[entry.key.text] = self.reader.value(entry.value, site, at)
        return dict(self._field(entry, kind, place) for entry in found if kind is not None), given

    def _field(self, entry: Entry, kind: Kind, place: Place) -> tuple[str, object]:
        """A field under its first name. Text that was written like a number stays as written: `version: 1.10`."""
        key = entry.key.text
        name = kind.aliases.get(key, key)
        value = self.reader.value(entry.value, None if key in kind.texts else Site.TASK_INPUT, place.at(name))
        type_ = kind.fields[key].type
        if isinstance(type_, Text) and type_.lenient and isinstance(entry.value, Scalar) and value is not None:
            return name, entry.value.text
        return name, value

    def knobs(self, spec: Mapping | None, place: Place) -> dict[str, object]:
        """The layered part of a `spec`. Only `result.select` holds templates."""
        found: dict[str, object] = {}
        for entry in spec.entries if spec is not None else ():
            key = entry.key.text
            if key == "result" and isinstance(entry.value, Mapping):
                found[key] = self._result(entry.value, place.at(key))
            elif key in self.kinds and isinstance(entry.value, Mapping):
                found[key] = self.knobs(entry.value, place.at(key))
            elif key not in SPEC_PARTS and not key.startswith("x-"):
                found[key] = self.reader.value(entry.value, None, place.at(key))
        return found

    def _result(self, node: Mapping, place: Place) -> dict[str, object]:
        return {
            entry.key.text: self.reader.value(
                entry.value, Site.SELECT if entry.key.text == "select" else None, place.at(entry.key.text)
            )
            for entry in node.entries
        }

    def _policy(self, node: Mapping | None, place: Place) -> Policy | None:
        if node is None:
            return None
        return Policy(
            rules=self._rules(node, "rules", Site.RULE_WHEN, Site.RULE_SET, place),
            before=self._rules(node, "before", Site.BEFORE_WHEN, Site.BEFORE_SET, place),
            on_unmatched=choice(node, "on_unmatched", OnUnmatched, OnUnmatched.CONTINUE),
        )

    def _rules(self, node: Mapping, key: str, when_site: Site, set_site: Site, place: Place) -> tuple[Rule, ...]:
        found = []
        for position, item in enumerate(as_tried(mappings(node, key))):
            rule = self._rule(item, when_site, set_site, place.at(key).at(position))
            if rule is not None:
                found.append(self.reader.made_from(item, rule))
        return in_order(found)

    def _rule(self, item: Mapping, when_site: Site, set_site: Site, place: Place) -> Rule | None:
        is_else = item.get("else") is not None
        then = self._then(mapping(item.get("else") if is_else else item, "then"), set_site, place)
        when = self.reader.guard(item.get("when"), when_site, place.at("when"))
        return Rule(when, then, is_else) if then is not None else None

    def _then(self, node: Mapping | None, set_site: Site, place: Place) -> Then | None:
        if node is None:
            return None
        directive = choice(node, "do", Directive, Directive.CONTINUE)
        delay = self.reader.templated_number(node, "delay", Site.DELAY, place)
        attempts = number(node, "attempts")
        then = Then(
            do=directive,
            attempts=int(attempts) if attempts is not None else ATTEMPTS_DEFAULT,
            backoff=choice(node, "backoff", Backoff, Backoff.NONE),
            delay=DELAY_DEFAULT_S if delay is None else delay,
            max_delay=number(node, "max_delay"),
            jitter=number(node, "jitter"),
            to=text(node, "to"),
            set=self.assigned(node, set_site, place.at("set")),
        )
        return self.reader.made_from(node, then) if text(node, "do") == directive else None

    def assigned(self, node: Mapping, site: Site, place: Place) -> dict[str, object]:
        """What a rule, a task or a step writes with `set`, and with v10's words for it."""
        return (
            self.reader.assignments(node.get("set_iter"), site, place, scope="iter")
            | self.reader.assignments(node.get("set_ctx"), site, place, scope="ctx")
            | self.reader.assignments(node.get("set"), site, place)
        )

    def loop(self, node: Node | None, place: Place) -> tuple[Loop | None, Place]:
        """The loop, and the place inside its innermost iteration; a broken loop is a loop all the same."""
        if not isinstance(node, Mapping):
            return None, place if node is None else place.in_iteration("")
        iterator = text(node, "iterator") or ""
        given = node.get("in")
        place = place.at("loop")
        spec = mapping(node, "spec")
        policy = mapping(spec, "policy")
        mode = choice(spec, "mode", LoopMode, choice(policy, "mode", LoopMode, LoopMode.SEQUENTIAL))
        collection = self.reader.value(given, Site.LOOP_IN, place.at("in")) if given is not None else None
        in_flight = self._max_in_flight(spec, policy, place)
        inside = place.in_iteration(iterator)
        inner, innermost = self.loop(node.get("loop"), inside)
        loop = Loop(
            in_=collection,
            iterator=iterator,
            mode=mode,
            max_in_flight=in_flight,
            placement=option(policy, "exec", Placement),
            reduce=_reducers(policy),
            spec=self.knobs(spec, inside.at("spec")),
            loop=inner,
        )
        return self.reader.made_from(node, loop), innermost

    def _max_in_flight(self, spec: Mapping | None, policy: Mapping | None, place: Place) -> int | str:
        for node in (spec, policy):
            found = self.reader.templated_number(node, "max_in_flight", Site.MAX_IN_FLIGHT, place)
            if found is not None:
                return found if isinstance(found, str) else int(found)
        return MAX_IN_FLIGHT_DEFAULT


def as_tried(rules: Items[Mapping]) -> list[Mapping]:
    """Rules as they are tried: an `else` last, wherever it stands."""
    return sorted(rules, key=lambda rule: rule.get("else") is not None)


Conditional = TypeVar("Conditional", Rule, AdmitRule)


def in_order(rules: Items[Conditional]) -> tuple[Conditional, ...]:
    """Rules as they are tried: those with a condition as written, then the `else`, wherever it stood.

    What is neither, or a second `else`, was noted as wrong and is left out.
    """
    conditional = [rule for rule in rules if not rule.is_else and rule.when is not None]
    return tuple(conditional + [rule for rule in rules if rule.is_else][:1])


def _reducers(policy: Mapping | None) -> dict[str, Reducer]:
    known = set(Reducer)
    return {
        entry.key.text: Reducer(entry.value.text)
        for entry in entries(policy, "reduce")
        if isinstance(entry.value, Scalar) and entry.value.text in known
    }
