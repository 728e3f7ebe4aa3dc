"""One playbook in three spellings: as it is written today, in v10 and before that.

`document` gives the keys and values of a model; here they are made older, each place by a choice, so that a text may
mix old and new words as real playbooks do.
"""

import re
from collections.abc import Callable
from enum import IntEnum

from noetl.playbook.model import Playbook
from tests.generators.choices import Choices, happens
from tests.generators.document import Data, document

_OUTPUT = re.compile(r"\boutput(?=\.)")
_STATUS = re.compile(r"(\boutput\.status\)*\s*[=!]=\s*)'ok'")


class Age(IntEnum):
    CANONICAL = 0
    V10 = 1
    OLDEST = 2


def canonical(playbook: Playbook, choices: Choices) -> Data:
    """What an author of today writes. `_prev` after http is left out: its spelling depends on the tasks before it."""
    found = document(playbook, choices)
    return _dict(_each_text(found, lambda text: text.replace("_prev | default(none)", "_attempt")))


def aged(found: Data, choices: Choices, age: Age) -> Data:
    """The same in older words."""
    return _Ager(choices, age).playbook(found) if age is not Age.CANONICAL else found


def _each_text(value: object, change: Callable[[str], str]) -> object:
    match value:
        case dict():
            return {key: _each_text(inner, change) for key, inner in value.items()}
        case list():
            return [_each_text(item, change) for item in value]
        case str():
            changed = change(value)
            return value if changed == value else changed
        case _:
            return value


class _Ager:
    def __init__(self, choices: Choices, age: Age) -> None:
        self.choices = choices
        self.age = age

    def playbook(self, found: Data) -> Data:
        older = dict(found)
        if happens(self.choices, 3):
            older["apiVersion"] = "noetl.io/v10"
        older["workflow"] = [self.step(step) for step in _list(found["workflow"])]
        if "workbook" in found:
            older["workbook"] = {name: self.owner(block) for name, block in _dict(found["workbook"]).items()}
        return older

    def owner(self, found: object) -> Data:
        older = dict(_dict(found))
        if "tool" in older:
            older["tool"] = self.tool(older["tool"])
        return older

    def step(self, found: object) -> Data:
        older = self.renamed(self.owner(found), "input", "args")
        if "args" in older:
            older["args"] = self.templates(older["args"])
        for word in ("set", "input"):
            if word in older:
                older[word] = self.templates(older[word])
        older = self._older_set(older)
        if isinstance(older.get("next"), dict):
            older["next"] = self.router(_dict(older["next"]))
        return self.oldest_step(older) if self.age is Age.OLDEST else older

    def _older_set(self, found: Data) -> Data:
        """`set_ctx`, `set_iter` or `set_vars` for some of what a step or a task writes."""
        words = {"ctx": "set_ctx", "iter": "set_iter"} | ({"step": "set_vars"} if self.age is Age.OLDEST else {})
        older = {key: value for key, value in found.items() if key != "set"}
        left: Data = {}
        for target, value in _flat(_dict(found.get("set", {}))).items():
            scope, _, path = target.partition(".")
            if scope in words and happens(self.choices, 3):
                older[words[scope]] = _dict(older.get(words[scope], {})) | {path: value}
            else:
                left[target] = value
        return older | ({"set": left} if left else {})

    def oldest_step(self, found: Data) -> Data:
        older = self._admission(found)
        router = older.get("next")
        if isinstance(router, dict) and happens(self.choices):
            mode = _dict(router.get("spec", {})).get("mode")
            older["next"] = router["arcs"]
            if mode is not None and happens(self.choices, 3):
                older["next_mode"] = mode
            elif mode is not None:
                older["spec"] = _dict(older.get("spec", {})) | {"next_mode": mode}
        elif isinstance(router, dict) and "spec" in router and happens(self.choices):
            older["next"] = {"arcs": router["arcs"], "mode": _dict(router["spec"])["mode"]}
        return self.renamed(older, "tool", "pipe", 6)

    def _admission(self, found: Data) -> Data:
        """`when` on the step, where admission is exactly that."""
        spec = _dict(found.get("spec", {}))
        policy = _dict(spec.get("policy", {}))
        admit = _dict(policy.get("admit", {}))
        rules = _list(admit.get("rules", []))
        otherwise = {"else": {"then": {"allow": False}}}
        if len(rules) != 2 or rules[1] != otherwise or set(admit) != {"rules"}:
            return dict(found)
        first = _dict(rules[0])
        if first.get("then") != {"allow": True} or not happens(self.choices):
            return dict(found)
        policy = {key: value for key, value in policy.items() if key != "admit"}
        return _with_policy(found, policy) | {"when": self.templates(first["when"])}

    def router(self, found: Data) -> Data:
        return found | {"arcs": [self.arc(_dict(arc)) for arc in _list(found["arcs"])]}

    def arc(self, found: Data) -> Data:
        return {key: self.templates(value) if key in ("when", "set") else value for key, value in found.items()}

    def tool(self, found: object) -> object:
        if isinstance(found, dict):
            return self.task(found)
        return [self.item(_dict(item)) for item in _list(found)]

    def item(self, found: Data) -> Data:
        for word in ("while", "until"):
            if word in found and "kind" not in found:
                return found | {word: self.owner(found[word])}
        if "choose" in found and "kind" not in found:
            return found | {"choose": [self._branch(_dict(branch)) for branch in _list(found["choose"])]}
        older = self.task(found)
        if "name" not in older or not happens(self.choices):
            return older
        return {str(older["name"]): {key: value for key, value in older.items() if key != "name"}}

    def _branch(self, found: Data) -> Data:
        return {"else": self.owner(found["else"])} if "else" in found else self.owner(found)

    def task(self, found: Data) -> Data:
        older = self.renamed(found, "input", "args")
        kind = str(found["kind"])
        if "set" in older:
            older = self._older_set(older | {"set": self.results(self.templates(older["set"]), kind)})
        spec = _dict(older.get("spec", {}))
        policy = spec.get("policy")
        if not isinstance(policy, dict):
            return older
        rules = [self.rule(_dict(rule), kind) for rule in _list(policy["rules"])]
        before = [self.rule(_dict(rule), None) for rule in _list(policy.get("before", []))]
        if self._is_eval(policy, rules) and happens(self.choices):
            return _with_policy(older, {}) | {"eval": [self.eval_entry(rule) for rule in rules]}
        older_policy = policy | {"rules": rules} | ({"before": before} if "before" in policy else {})
        return older | {"spec": spec | {"policy": older_policy}}

    def _is_eval(self, policy: Data, rules: list[Data]) -> bool:
        """Whether an `eval` says the same: it has rules alone, and an `else`, since its default is another."""
        return self.age is Age.OLDEST and set(policy) == {"rules"} and bool(rules) and "else" in rules[-1]

    def eval_entry(self, rule: Data) -> Data:
        if "else" in rule:
            return {"else": _dict(rule["else"])["then"]}
        return {"expr": rule["when"], **_dict(rule["then"])}

    def rule(self, found: Data, kind: str | None) -> Data:
        if "else" in found:
            return {"else": {"then": self.then(_dict(_dict(found["else"])["then"]), kind)}}
        when = self.results(self.templates(found["when"]), kind)
        return {"when": when, "then": self.then(_dict(found["then"]), kind)}

    def then(self, found: Data, kind: str | None) -> Data:
        older = {key: value for key, value in found.items() if key != "set"}
        left: Data = {}
        for target, value in _flat(_dict(found.get("set", {}))).items():
            scope, _, path = target.partition(".")
            aged_value = self.results(self.templates(value), kind)
            word = {"ctx": "set_ctx", "iter": "set_iter", "step": "set_vars"}[scope]
            if happens(self.choices) and (word != "set_vars" or self.age is Age.OLDEST):
                older[word] = _dict(older.get(word, {})) | {path: aged_value}
            else:
                left[target] = aged_value
        return older | ({"set": left} if left else {})

    def templates(self, value: object) -> object:
        """Templates with their words of then; data has no templates and stays as it is."""
        return _each_text(value, self._template)

    def _template(self, text: str) -> str:
        if "{{" not in text or not happens(self.choices):
            return text
        if self.age is Age.OLDEST:
            text = _STATUS.sub(r"\1'success'", text)
            text = text.replace("step.note", "vars.note")
        return _OUTPUT.sub("outcome", text).replace("input.", "args.")

    def results(self, value: object, kind: str | None) -> object:
        """`result` for the data of a task; before it runs there is none."""
        if kind is None:
            return value
        path = "outcome.result.data" if kind == "http" else "outcome.result"
        return _each_text(value, lambda text: text.replace("outcome.data", path))

    def renamed(self, found: Data, word: str, older: str, one_in: int = 2) -> Data:
        if word not in found or not happens(self.choices, one_in):
            return dict(found)
        return {older if key == word else key: value for key, value in found.items()}


def _with_policy(found: Data, policy: Data) -> Data:
    """The step or task with another policy, or none, and without a `spec` that is left empty."""
    spec = {key: value for key, value in _dict(found.get("spec", {})).items() if key != "policy"}
    spec |= {"policy": policy} if policy else {}
    rest = {key: value for key, value in found.items() if key != "spec"}
    return rest | ({"spec": spec} if spec else {})


def _flat(found: Data) -> Data:
    flat: Data = {}
    for key, value in found.items():
        if key in ("ctx", "step", "iter") and isinstance(value, dict):
            flat |= {f"{key}.{path}": inner for path, inner in value.items()}
        else:
            flat[key] = value
    return flat


def _dict(value: object) -> Data:
    assert isinstance(value, dict)
    return value


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
