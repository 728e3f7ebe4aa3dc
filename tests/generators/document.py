"""A model as the keys and values an author would write, in any of the equivalent ways the language has.

Only what the model says is written: which words are left out, where a field stands and which alias is
used are choices. How the values look as YAML is the business of `yaml_text`.
"""

from collections.abc import Mapping, Sequence

from noetl.playbook.grammar.root import API_VERSION
from noetl.playbook.kinds import KINDS
from noetl.playbook.model import (
    Admit,
    AdmitRule,
    Arc,
    Backoff,
    Block,
    Directive,
    Executor,
    FailureMode,
    Join,
    KeychainEntry,
    Loop,
    LoopMode,
    Metadata,
    OnDeny,
    OnUnmatched,
    Playbook,
    Policy,
    RouteMode,
    Router,
    Rule,
    Step,
    Task,
    Then,
)
from noetl.playbook.reading import SCOPES
from tests.generators.authored import Branch, Choose, Repeat
from tests.generators.choices import Choices, happens, pick

Data = dict[str, object]

_KINDS = {kind.name: kind for kind in KINDS}


class Lenient(str):
    """Text that may stand unquoted even where YAML takes it for a number."""

    __slots__ = ()


def document(playbook: Playbook, choices: Choices) -> Data:
    return _Author(choices).playbook(playbook)


class _Author:
    def __init__(self, choices: Choices) -> None:
        self.choices = choices

    def playbook(self, its: Playbook) -> Data:
        return self._object(
            apiVersion=API_VERSION,
            kind="Playbook",
            metadata=self._metadata(its.metadata),
            keychain=self._unless_empty([self._keychain_entry(entry) for entry in its.keychain]),
            executor=self._executor(its.executor, its.entry_step, its.workflow[0].name),
            workload=self._unless_empty(dict(its.workload)),
            workflow=[self._step(step) for step in its.workflow],
            workbook=self._unless_empty({name: self._block(block) for name, block in its.workbook.items()}),
            **self._extension(),
        )

    def _object(self, **values: object) -> Data:
        """Keys whose value is None are not written. A trailing underscore frees a word of Python."""
        return {name.rstrip("_"): value for name, value in values.items() if value is not None}

    def _extension(self) -> Data:
        return {"x-note": {"any": ["thing"]}} if happens(self.choices, 8) else {}

    def _unless_empty(self, values: object) -> object:
        return values if values or happens(self.choices, 8) else None

    def _unless_default(self, value: object, default: object) -> object:
        return value if value != default or happens(self.choices, 4) else None

    def _metadata(self, its: Metadata) -> Data:
        return self._object(
            name=Lenient(its.name),
            path=Lenient(its.path),
            version=_lenient(its.version),
            description=_lenient(its.description),
            tags=self._unless_empty([Lenient(tag) for tag in its.tags]),
            labels=self._unless_empty({name: Lenient(value) for name, value in its.labels.items()}),
        )

    def _keychain_entry(self, its: KeychainEntry) -> Data:
        return {"name": its.name, "kind": its.kind, **its.fields}

    def _executor(self, its: Executor, entry: str, first: str) -> object:
        spec = dict(its.spec)
        policy = self._payload_limit(spec)
        if entry != first or happens(self.choices, 4):
            spec["entry_step"] = entry
        profile = str(its.profile) if its.profile is not None else None
        word = pick(self.choices, ("profile", "kind"))
        written = self._object(
            **{word: profile},
            version=_lenient(its.version),
            requires=its.requires,
            spec=self._unless_empty(spec | policy),
        )
        return self._unless_empty(written)

    def _payload_limit(self, spec: Data) -> Data:
        """`result.inline_max_bytes` may stand under the policy's limits."""
        result = spec.get("result")
        if not isinstance(result, dict) or set(result) != {"inline_max_bytes"} or not happens(self.choices):
            return {}
        del spec["result"]
        return {"policy": {"limits": {"max_payload_bytes": result["inline_max_bytes"]}}}

    def _step(self, its: Step) -> Data:
        spec = dict(its.spec) | self._object(
            join=self._unless_default(str(its.join), Join.EACH),
            policy=self._unless_empty(self._step_policy(its)),
        )
        return self._object(
            step=its.name,
            desc=_lenient(its.desc),
            spec=self._unless_empty(spec),
            input=self._unless_empty(dict(its.input)),
            loop=self._loop(its.loop),
            tool=self._tool(its.tool, its.name) if its.tool else None,
            set=self._set(its.set),
            next=self._next(its.next),
            **self._extension(),
        )

    def _step_policy(self, its: Step) -> Data:
        lifecycle = self._object(timeout_s=its.timeout_s, deadline_s=its.deadline_s)
        failure = self._unless_default(str(its.failure), FailureMode.FAIL_FAST)
        return self._object(
            admit=self._admit(its.admit) if its.admit is not None else None,
            failure={"mode": failure} if failure is not None else None,
            lifecycle=self._unless_empty(lifecycle),
        )

    def _admit(self, its: Admit) -> Data:
        rules = [self._admit_rule(rule) for rule in its.rules]
        return self._object(rules=rules, on_deny=self._unless_default(str(its.on_deny), OnDeny.SKIP))

    def _admit_rule(self, its: AdmitRule) -> Data:
        return _alternative(its.when, {"then": {"allow": its.allow}}, is_else=its.is_else)

    def _next(self, its: Router) -> object:
        mode = self._unless_default(str(its.mode), RouteMode.EXCLUSIVE)
        if not its.arcs and mode is None:
            return None
        arcs = [self._arc(arc) for arc in its.arcs]
        return self._object(spec={"mode": mode} if mode is not None else None, arcs=arcs)

    def _arc(self, its: Arc) -> Data:
        return self._object(step=its.step, when=its.when, set=self._set(its.set), **self._extension())

    def _block(self, its: Block) -> Data:
        return self._object(
            desc=_lenient(its.desc),
            input=self._unless_empty(dict(its.input)),
            loop=self._loop(its.loop),
            tool=self._tool(its.tool, its.name),
        )

    def _loop(self, its: Loop | None) -> object:
        if its is None:
            return None
        mode = self._unless_default(str(its.mode), LoopMode.SEQUENTIAL)
        in_flight = self._unless_default(its.max_in_flight, 10)
        knobs = self._object(mode=mode, max_in_flight=in_flight)
        policy = self._object(
            exec=str(its.placement) if its.placement is not None else None,
            reduce=self._unless_empty({key: str(reducer) for key, reducer in its.reduce.items()}),
        )
        if happens(self.choices, 4):
            policy, knobs = policy | knobs, {}
        spec = dict(its.spec) | knobs | self._object(policy=self._unless_empty(policy))
        return self._object(
            in_=its.in_, iterator=its.iterator, spec=self._unless_empty(spec), loop=self._loop(its.loop)
        )

    def _tool(self, tasks: Sequence[Task], owner: str, prefix: str = "task") -> object:
        """One task as a mapping or in a list; names that the compiler would give may be left out."""
        if len(tasks) == 1 and type(tasks[0]) is Task and happens(self.choices):
            return self._task(tasks[0], f"{owner}_task")
        return [self._item(task, f"{prefix}_{position}") for position, task in enumerate(tasks)]

    def _item(self, its: Task, default: str) -> Data:
        match its:
            case Choose():
                return {"name": its.name, "choose": self._branches(its)}
            case Repeat():
                tool = self._tool(its.tool, its.name, its.name)
                return {"name": its.name, its.word: self._object(when=its.when, tool=tool, max=its.rounds_max)}
            case _:
                return self._task(its, default)

    def _branches(self, its: Choose) -> list[Data]:
        branches = [self._branch(branch, f"{its.name}_{number}") for number, branch in enumerate(its.branches, 1)]
        if its.otherwise:
            prefix = f"{its.name}_else"
            branches.append({"else": {"tool": self._tool(its.otherwise, prefix, prefix)}})
        return branches

    def _branch(self, its: Branch, prefix: str) -> Data:
        return {"when": its.when, "tool": self._tool(its.tool, prefix, prefix)}

    def _task(self, its: Task, default: str) -> Data:
        on_task, under_input = self._placed(its)
        spec = dict(its.spec) | self._object(policy=self._policy(its.policy))
        return (
            self._object(
                name=self._unless_default(its.name, default) if its.name == default else its.name,
                kind=its.kind,
                desc=_lenient(its.desc),
                auth=its.auth,
                input=self._unless_empty(dict(its.input) | under_input),
                spec=self._unless_empty(spec),
                set=self._set(its.set),
                **self._extension(),
            )
            | on_task
        )

    def _placed(self, its: Task) -> tuple[Data, Data]:
        """The kind's fields on the task, and those under `input`, some of them by an alias."""
        kind = _KINDS[its.kind]
        names = {name: alias for alias, name in kind.aliases.items()}
        fields = {
            names[key] if key in names and happens(self.choices, 3) else key: its.fields[key] for key in its.fields
        }
        if kind.is_callee:
            return fields, {}
        below = {key for key in fields if key == "name" or happens(self.choices)}
        return (
            {key: value for key, value in fields.items() if key not in below},
            {key: value for key, value in fields.items() if key in below},
        )

    def _policy(self, its: Policy | None) -> object:
        if its is None:
            return None
        return self._object(
            rules=[self._rule(rule) for rule in its.rules],
            before=self._unless_empty([self._rule(rule) for rule in its.before]),
            on_unmatched=self._unless_default(str(its.on_unmatched), OnUnmatched.CONTINUE),
        )

    def _rule(self, its: Rule) -> Data:
        return _alternative(its.when, {"then": self._then(its.then)}, is_else=its.is_else)

    def _then(self, its: Then) -> Data:
        return self._object(do=str(its.do), to=its.to, set=self._set(its.set), **self._retry(its))

    def _retry(self, its: Then) -> Data:
        """Options of a retry. Beside another directive they are stray: kept where they are, never added."""
        options = {
            "attempts": (its.attempts, 3),
            "backoff": (str(its.backoff), Backoff.NONE),
            "delay": (its.delay, 1.0),
        }
        written = {
            word: value
            for word, (value, default) in options.items()
            if value != default or (its.do is Directive.RETRY and happens(self.choices, 4))
        }
        return written | self._object(max_delay=its.max_delay, jitter=its.jitter)

    def _set(self, its: Mapping[str, object]) -> object:
        """Flat paths, or the scope as a mapping of its own."""
        if not happens(self.choices, 3):
            return self._unless_empty(dict(its))
        nested: dict[str, dict[str, object]] = {}
        for target, value in its.items():
            scope, _, path = target.partition(".")
            nested.setdefault(scope, {})[path] = value
        return self._unless_empty({scope: nested[scope] for scope in SCOPES if scope in nested})


def _alternative(when: object, body: Data, *, is_else: bool) -> Data:
    return {"else": body} if is_else else {"when": when, **body}


def _lenient(text: str | None) -> Lenient | None:
    return Lenient(text) if text is not None else None
