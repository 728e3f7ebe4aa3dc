"""Whole playbooks, for property tests of the compiler and of everything behind it.

`playbooks()` is the Hypothesis strategy, `playbook(Seeded(n))` the same for campaigns. Sugar stands in the
models as an author writes it (see `authored.expand`); `writer.to_yaml` turns a model into a text.
"""

import msgspec
from hypothesis import strategies as st

from noetl.expressions.sites import Site
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
    Loop,
    LoopMode,
    Metadata,
    OnDeny,
    Placement,
    Playbook,
    Reducer,
    RouteMode,
    Router,
    Step,
)
from tests.generators.choices import Choices, Drawn, happens, maybe, pick, several, some_of
from tests.generators.fields import knobs
from tests.generators.pipelines import condition, pipeline
from tests.generators.settings import Features, Setting
from tests.generators.values import SECONDS, WORDS, WORKLOAD, Scene, assignments, bindings, data, key, templated, text

STEP_NAMES = ("start", "fetch", "load", "check", "report", "finish", "archive", "notify", "retire")
BLOCK_NAMES = ("clean", "keep")
CTX_TARGETS = ("ctx.total", "ctx.deep.value", "ctx.rows")
STEP_TARGETS = (*CTX_TARGETS, "step.note")
ITERATORS = ("item", "part", "piece")
IN_FLIGHT: tuple[int | str, ...] = (10, 1, 20, "{{ workload.limit }}")
LABELS = ("daily_load", "1.10", "team/daily load", "true", "0x10", "1e3")
STORED_KINDS = ("static", "postgres_credential", "bearer", "basic", "api_key", "secret_manager", "oauth2")


@st.composite
def playbooks(draw: st.DrawFn, features: Features | None = None) -> Playbook:
    return playbook(Drawn(draw), features)


def playbook(choices: Choices, features: Features | None = None) -> Playbook:
    features = features or Features()
    names = STEP_NAMES[: choices.number(1, features.steps_max)]
    blocks = BLOCK_NAMES[: choices.number(0, 2)] if "workbook" in features.kinds else ()
    keychain = {entry.name: entry for entry in several(choices, lambda: _keychain_entry(choices), 0, 2)}
    secrets = tuple(entry.name for entry in keychain.values() if entry.kind == "env")
    setting = Setting(features, Scene(steps=names, secrets=secrets), blocks=blocks)
    return Playbook(
        metadata=_metadata(choices),
        dialect=Dialect.CANONICAL,
        entry_step=pick(choices, names) if features.cycles else names[0],
        workflow=tuple(_step(choices, index, setting) for index in range(len(names))),
        keychain=tuple(keychain.values()),
        executor=_executor(choices),
        workload=WORKLOAD | {key(choices): data(choices) for _ in range(choices.number(0, 2))},
        workbook={
            name: _block(choices, name, _callable(setting, blocks[number:])) for number, name in enumerate(blocks, 1)
        },
    )


def _metadata(choices: Choices) -> Metadata:
    return Metadata(
        name=pick(choices, LABELS),
        path=pick(choices, LABELS),
        version=maybe(choices, lambda: pick(choices, LABELS)),
        description=maybe(choices, lambda: text(choices)),
        tags=tuple(several(choices, lambda: pick(choices, LABELS), 0, 2)),
        labels={pick(choices, WORDS): pick(choices, LABELS) for _ in range(choices.number(0, 2))},
    )


def _keychain_entry(choices: Choices) -> KeychainEntry:
    name, kind = pick(choices, WORDS), pick(choices, ("env", "file", *STORED_KINDS))
    if kind == "env":
        return KeychainEntry(name, kind, {"var": "API_TOKEN"})
    if kind == "file":
        return KeychainEntry(name, kind, {"path": pick(choices, ("/run/key", "/run/{{ workload.message }}"))})
    return KeychainEntry(name, kind, some_of(choices, {"credential": lambda: pick(choices, WORDS)}))


def _executor(choices: Choices) -> Executor:
    by_kind = {"http": lambda: {"timeout": pick(choices, SECONDS)}, "python": lambda: {"memory_bytes_max": 10**8}}
    return Executor(
        profile=maybe(choices, lambda: pick(choices, tuple(Placement))),
        version=maybe(choices, lambda: pick(choices, LABELS)),
        requires=maybe(choices, lambda: data(choices)),
        spec=knobs(choices) | some_of(choices, dict(by_kind)),
    )


def _step(choices: Choices, index: int, setting: Setting) -> Step:
    names, scene = setting.scene.steps, setting.scene
    loop = maybe(choices, lambda: _loops(choices, scene)) if setting.features.loops else None
    has_tool = loop is not None or not happens(choices, 6)
    return Step(
        name=names[index],
        desc=maybe(choices, lambda: text(choices), 3),
        join=pick(choices, tuple(Join)),
        admit=maybe(choices, lambda: _admit(choices, setting), 4),
        failure=pick(choices, tuple(FailureMode)),
        timeout_s=maybe(choices, lambda: float(pick(choices, SECONDS)), 4),
        deadline_s=maybe(choices, lambda: float(pick(choices, SECONDS)), 4),
        spec=knobs(choices),
        input=bindings(choices, Site.STEP_INPUT, scene),
        loop=loop,
        tool=pipeline(choices, names[index], _inside(setting, loop)) if has_tool else (),
        set=assignments(choices, Site.STEP_SET, scene, STEP_TARGETS),
        next=_router(choices, names if setting.features.cycles else names[index + 1 :], setting),
    )


def _inside(setting: Setting, loop: Loop | None) -> Setting:
    """The setting of the pipeline that a loop repeats."""
    if loop is None:
        return msgspec.structs.replace(setting, targets=STEP_TARGETS)
    levels = list(loop.levels())
    scene = msgspec.structs.replace(setting.scene, iterators=tuple(level.iterator for level in levels))
    is_parallel = any(level.mode is LoopMode.PARALLEL for level in levels)
    targets = tuple(f"ctx.{path}" for path in loop.reduce) if is_parallel else STEP_TARGETS
    return msgspec.structs.replace(setting, scene=scene, targets=(*targets, "iter.note"))


def _loops(choices: Choices, scene: Scene) -> Loop:
    paths = [target.removeprefix("ctx.") for target in CTX_TARGETS if happens(choices, 3)]
    reduce = {path: pick(choices, tuple(Reducer)) for path in paths}
    return _loop(choices, scene, reduce, choices.number(1, len(ITERATORS)))


def _loop(choices: Choices, scene: Scene, reduce: dict[str, Reducer], levels: int) -> Loop:
    iterator = ITERATORS[len(scene.iterators)]
    inner = msgspec.structs.replace(scene, iterators=(*scene.iterators, iterator))
    outer = [f"{{{{ iter.{name}.parts }}}}" for name in scene.iterators[-1:]]
    written = several(choices, lambda: templated(choices, Site.LOOP_IN, scene), 0, 2)
    return Loop(
        in_=pick(choices, ("{{ workload.rows }}", *outer, written)),
        iterator=iterator,
        mode=pick(choices, tuple(LoopMode)),
        max_in_flight=pick(choices, IN_FLIGHT),
        placement=maybe(choices, lambda: pick(choices, tuple(Placement))),
        reduce=reduce,
        spec=knobs(choices),
        loop=_loop(choices, inner, reduce, levels - 1) if levels > 1 else None,
    )


def _admit(choices: Choices, setting: Setting) -> Admit:
    conditions = several(choices, lambda: condition(choices, Site.ADMIT_WHEN, setting), 0, 2)
    rules = [AdmitRule(when, happens(choices)) for when in conditions]
    if happens(choices):
        rules.append(AdmitRule(None, happens(choices), is_else=True))
    return Admit(tuple(rules), pick(choices, tuple(OnDeny)))


def _router(choices: Choices, targets: tuple[str, ...], setting: Setting) -> Router:
    arcs = several(choices, lambda: _arc(choices, targets, setting), 0, 3) if targets else []
    return Router(pick(choices, tuple(RouteMode)), tuple(arcs))


def _arc(choices: Choices, targets: tuple[str, ...], setting: Setting) -> Arc:
    return Arc(
        step=pick(choices, targets),
        when=maybe(choices, lambda: condition(choices, Site.ARC_WHEN, setting)),
        set=assignments(choices, Site.ARC_SET, setting.scene, CTX_TARGETS),
    )


def _callable(setting: Setting, blocks: tuple[str, ...]) -> Setting:
    """A block sees none of its callers' tasks and steps, and calls only blocks behind it: never itself."""
    return msgspec.structs.replace(setting, scene=Scene(secrets=setting.scene.secrets), blocks=blocks)


def _block(choices: Choices, name: str, setting: Setting) -> Block:
    loop = maybe(choices, lambda: _loops(choices, setting.scene), 3) if setting.features.loops else None
    return Block(
        name=name,
        desc=maybe(choices, lambda: text(choices), 3),
        input=bindings(choices, Site.WORKBOOK_INPUT, setting.scene),
        loop=loop,
        tool=pipeline(choices, name, _inside(setting, loop)),
    )
