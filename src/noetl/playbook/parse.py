"""Builds the canonical model from a document's nodes.

It never complains: what the structure check has noted as wrong is left out or takes its default, so that
the rest of the file can still be checked.
"""

from noetl.expressions.sites import Site
from noetl.playbook.document import Document, Frame, Notes, Place
from noetl.playbook.grammar.knobs import LIMITS
from noetl.playbook.grammar.root import API_VERSION_V10
from noetl.playbook.model import (
    Admit,
    AdmitRule,
    Arc,
    Block,
    Dialect,
    Executor,
    FailureMode,
    Join,
    KeychainEntry,
    Metadata,
    OnDeny,
    Placement,
    Playbook,
    RouteMode,
    Router,
    Step,
)
from noetl.playbook.pipelines import PipelineReader, as_tried, in_order
from noetl.playbook.reading import Reader, child, choice, entries, items, mapping, mappings, number, option, text
from noetl.playbook.source.nodes import Mapping, Scalar, Source
from noetl.playbook.structure import Finding, OldWord, check_structure
from noetl.playbook.vocabulary import Vocabulary

V10_RULES = "NOE6"
"""Codes of the rules that speak of v10 words begin like this."""

V10_NAMES = frozenset({"outcome", "args"})


def parse_document(source: Source, root: Mapping, vocabulary: Vocabulary) -> Document:
    findings = check_structure(root, vocabulary)
    builder = _Builder(vocabulary)
    playbook = builder.playbook(root, findings)
    return Document(source, root, vocabulary, findings, playbook, builder.reader.notes)


class _Builder:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.reader = Reader()
        self.pipelines = PipelineReader(self.reader, dict(vocabulary.kinds))

    def playbook(self, root: Mapping, findings: list[Finding]) -> Playbook:
        head = Place(Frame("the playbook"), "")
        steps = [self._step(node) for node in mappings(root, "workflow")]
        workflow = tuple(step for step in steps if step.name)
        blocks = {name: self._block(name, node) for name, node in _named(root, "workbook")}
        executor = mapping(root, "executor")
        first = workflow[0].name if workflow else ""
        keychain = self._keychain(root, head.at("keychain"))
        return Playbook(
            metadata=_metadata(mapping(root, "metadata")),
            entry_step=text(mapping(executor, "spec"), "entry_step") or first,
            workflow=workflow,
            keychain=keychain,
            executor=self._executor(executor, head.at("executor")),
            workload=self.reader.values(root.get("workload"), None, head.at("workload")),
            workbook=blocks,
            dialect=_dialect(root, findings, self.reader.notes),
        )

    def _keychain(self, root: Mapping, place: Place) -> tuple[KeychainEntry, ...]:
        found = []
        for node in mappings(root, "keychain"):
            name = text(node, "name") or ""
            fields = self.reader.values(node, Site.KEYCHAIN_FIELD, place.at(name))
            own = {key: value for key, value in fields.items() if key not in ("name", "kind")}
            found.append(self.reader.made_from(node, KeychainEntry(name, text(node, "kind") or "", own)))
        return tuple(entry for entry in found if entry.name)

    def _executor(self, node: Mapping | None, place: Place) -> Executor:
        spec = mapping(node, "spec")
        knobs = self.pipelines.knobs(spec, place.at("spec"))
        limits = mapping(mapping(spec, "policy"), "limits")
        bytes_max = number(limits, "max_payload_bytes")
        if bytes_max is not None:
            knobs["result"] = {"inline_max_bytes": int(bytes_max)} | _as_dict(knobs.get("result"))
        bounds = {name: int(found) for name in LIMITS.fields if (found := number(limits, name)) is not None}
        if bounds:
            knobs["limits"] = bounds | _as_dict(knobs.get("limits"))
        return Executor(
            profile=option(node, "profile", Placement) or option(node, "kind", Placement),
            version=text(node, "version"),
            requires=self._requires(node, place),
            spec=knobs,
        )

    def _requires(self, node: Mapping | None, place: Place) -> object:
        found = child(node, "requires")
        return self.reader.value(found, None, place.at("requires")) if found is not None else None

    def _step(self, node: Mapping) -> Step:
        name = text(node, "step") or ""
        title = f'step "{name}"' if name else "the step without a name"
        place = Place(Frame(title), f"workflow/{name}")
        spec = mapping(node, "spec")
        policy = mapping(spec, "policy")
        lifecycle = mapping(policy, "lifecycle")
        given: dict[str, object] = {}
        for word in ("args", "input"):
            given |= self.reader.values(node.get(word), Site.STEP_INPUT, place.at("input"))
        loop, inside = self.pipelines.loop(node.get("loop"), place)
        step = Step(
            name=name,
            desc=text(node, "desc"),
            join=choice(spec, "join", Join, Join.EACH),
            admit=self._admit(mapping(policy, "admit"), place.at("admit")),
            failure=choice(mapping(policy, "failure"), "mode", FailureMode, FailureMode.FAIL_FAST),
            timeout_s=number(lifecycle, "timeout_s"),
            deadline_s=number(lifecycle, "deadline_s"),
            spec=self.pipelines.knobs(spec, _beside(inside, place, "spec")),
            input=given,
            loop=loop,
            tool=self.pipelines.pipeline(node.get("tool"), name, _beside(inside, place, "tool")),
            set=self.pipelines.assigned(node, Site.STEP_SET, place.at("set")),
            next=self._router(mapping(node, "next"), place.at("next")),
        )
        return self.reader.made_from(node, step)

    def _admit(self, node: Mapping | None, place: Place) -> Admit | None:
        if node is None:
            return None
        rules = [
            self._admit_rule(item, place.at(index)) for index, item in enumerate(as_tried(mappings(node, "rules")))
        ]
        return Admit(
            rules=in_order([rule for rule in rules if rule is not None]),
            on_deny=choice(node, "on_deny", OnDeny, OnDeny.SKIP),
        )

    def _admit_rule(self, item: Mapping, place: Place) -> AdmitRule | None:
        is_else = item.get("else") is not None
        then = mapping(mapping(item, "else") if is_else else item, "then")
        allow = then.get("allow") if then is not None else None
        when = self.reader.guard(item.get("when"), Site.ADMIT_WHEN, place.at("when"))
        if not isinstance(allow, Scalar) or not isinstance(allow.value, bool):
            return None
        return self.reader.made_from(item, AdmitRule(when, allow.value, is_else))

    def _router(self, node: Mapping | None, place: Place) -> Router:
        arcs = [self._arc(item, place.at(index)) for index, item in enumerate(mappings(node, "arcs"))]
        return Router(
            mode=choice(mapping(node, "spec"), "mode", RouteMode, RouteMode.EXCLUSIVE),
            arcs=tuple(arc for arc in arcs if arc is not None),
        )

    def _arc(self, item: Mapping, place: Place) -> Arc | None:
        target = text(item, "step")
        arc = Arc(
            step=target or "",
            when=self.reader.guard(item.get("when"), Site.ARC_WHEN, place.at("when")),
            set=self.reader.assignments(item.get("set"), Site.ARC_SET, place.at("set")),
            args=self.reader.values(item.get("args"), Site.ARC_ARGS, place.at("args")),
        )
        return self.reader.made_from(item, arc) if target is not None else None

    def _block(self, name: str, node: Mapping) -> Block:
        place = Place(Frame(f'workbook block "{name}"'), f"workbook/{name}")
        given = self.reader.values(node.get("input"), Site.WORKBOOK_INPUT, place.at("input"))
        loop, inside = self.pipelines.loop(node.get("loop"), place)
        block = Block(
            name=name,
            desc=text(node, "desc"),
            input=given,
            loop=loop,
            tool=self.pipelines.pipeline(node.get("tool"), name, _beside(inside, place, "tool")),
        )
        return self.reader.made_from(node, block)


def _beside(inside: Place, outside: Place, key: str) -> Place:
    """The pipeline and its `spec` are read inside the loop, but their paths do not lead through it."""
    return Place(outside.frame, f"{outside.path}/{key}", inside.iterators)


def _named(root: Mapping, key: str) -> list[tuple[str, Mapping]]:
    return [(entry.key.text, entry.value) for entry in entries(root, key) if isinstance(entry.value, Mapping)]


def _metadata(node: Mapping | None) -> Metadata:
    labels = {entry.key.text: entry.value.text for entry in entries(node, "labels") if isinstance(entry.value, Scalar)}
    return Metadata(
        name=text(node, "name") or "",
        path=text(node, "path") or "",
        version=text(node, "version"),
        description=text(node, "description"),
        tags=tuple(item.text for item in items(node, "tags") if isinstance(item, Scalar)),
        labels=labels,
    )


def _as_dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _dialect(root: Mapping, findings: list[Finding], notes: Notes) -> Dialect:
    """A document that uses any v10 word is a v10 document."""
    if text(root, "apiVersion") == API_VERSION_V10:
        return Dialect.V10
    if any(isinstance(finding, OldWord) and finding.code.startswith(V10_RULES) for finding in findings):
        return Dialect.V10
    if any(use.root in V10_NAMES for template in notes.templates for use in template.template.names):
        return Dialect.V10
    return Dialect.CANONICAL
