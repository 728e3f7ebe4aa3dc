"""Names, texts, data and templates: the leaves of a generated playbook."""

from collections.abc import Sequence

import msgspec

from noetl.expressions.sites import Site, visible
from tests.generators.choices import Choices, happens, pick, several

WORKLOAD: dict[str, object] = {
    "limit": 3,
    "message": "hello",
    "flag": True,
    "rows": [{"id": 1, "parts": [1, 2]}, {"id": 2, "parts": []}],
}
"""Every generated playbook declares these, so that templates have something to read."""

WORDS = ("alpha", "beta", "gamma", "delta_4", "Epsilon", "_zeta")
SECONDS: tuple[float, ...] = (1, 0.5, 30, 2.5, 600)
TEXTS = (
    "plain text", "", " ", "true", "no", "null", "~", "1.10", "007", "0x1F", "12:30:45", "-", "- a", "a: b", "a #b",
    "#", "'", '"', "it's", 'say "x"', "back\\slash", "tab\there", "two\nlines", "end\n", "end\n\n", "\nstart", " led",
    "trailed ", "{a}", "[b]", "*c", "&d", "!e", "%f", "@g", "`h`", "?", "|", ">", "<<", "=", "a, b", "---", "...", "}}",
    "é ☃ 😀", "nel\x85ls\u2028", "bell\x07", "SELECT 1;\nSELECT 2;\n", "a  b", "x: |\n  y", "# none",
    "word " * 30,
)  # fmt: skip
LETTERS = "ab01_-.,:;'\"\\/ \n\t#&*!|>%@`?~[]}=éß中\u00a0\u2028😀"
NUMBERS: tuple[int | float, ...] = (
    0, 1, 42, -7, 2**63, 2**64 - 1, -(2**63), 0.5, -0.0, 1.0, 1e300, 5e-324, 3.141592653589793, 1e16, 12345678.9,
)  # fmt: skip


class Scene(msgspec.Struct, frozen=True):
    """What templates at one place may name besides the scope words."""

    steps: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    iterators: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


def text(choices: Choices) -> str:
    if happens(choices, 3):
        return "".join(several(choices, lambda: pick(choices, LETTERS), 0, 12))
    return pick(choices, TEXTS)


def scalar(choices: Choices) -> object:
    kind = choices.number(0, 5)
    return (None, True, False, pick(choices, NUMBERS))[kind] if kind < 4 else text(choices)


def data(choices: Choices, depth: int = 2) -> object:
    """JSON-like data of modest size."""
    kind = choices.number(0, 4) if depth else 0
    if kind == 3:
        return several(choices, lambda: data(choices, depth - 1), 0, 3)
    if kind == 4:
        return {key(choices): data(choices, depth - 1) for _ in range(choices.number(0, 3))}
    return scalar(choices)


def key(choices: Choices) -> str:
    return text(choices) if happens(choices, 4) else pick(choices, WORDS)


def template(choices: Choices, site: Site, scene: Scene) -> str:
    """A text with a template that gives a value at this site, whatever happened before."""
    single = f"{{{{ {expression(choices, site, scene)} }}}}"
    if not happens(choices, 3):
        return single
    return pick(choices, ("", "id-", "a: ", "'")) + single + pick(choices, ("", " #x", "\n", '"'))


def guard(choices: Choices, site: Site, scene: Scene) -> str:
    condition = comparison(choices, site, scene)
    if happens(choices, 3):
        condition = f"({condition}) {pick(choices, ('and', 'or'))} not ({comparison(choices, site, scene)})"
    return f"{{{{ {condition} }}}}"


def comparison(choices: Choices, site: Site, scene: Scene) -> str:
    left = expression(choices, site, scene)
    return f"({left}) {pick(choices, ('==', '!='))} {pick(choices, ('1', 'none', chr(39) + 'ok' + chr(39)))}"


def expression(choices: Choices, site: Site, scene: Scene) -> str:
    atoms = _atoms(site, scene)
    form = pick(
        choices, ("{}", "({}) | string | length", "[{}, {}]", "{} if workload.flag else {}", "{{'a': {{'b': {}}}}}")
    )
    return form.format(pick(choices, atoms), pick(choices, atoms) if form.count("{}") > 1 else "")


def _atoms(site: Site, scene: Scene) -> Sequence[str]:
    in_loop = bool(scene.iterators)
    atoms = [atom for word in sorted(visible(site, in_loop=in_loop)) for atom in _ATOMS.get(word, ())]
    if in_loop and site.sees_iterators:
        atoms += [f"iter.{scene.iterators[-1]}", "iter.index"]
        atoms += [f"iter.parent.{name}" for name in scene.iterators[-2:-1]]
    if site.sees_steps:
        atoms += [f"{name}.status | default('none')" for name in scene.steps]
    if site.sees_tasks:
        atoms += [f"{name}.data | default(none)" for name in scene.tasks]
    if site.allows_keychain:
        atoms += [f"keychain.{name}" for name in scene.secrets]
    return atoms


_ATOMS = {
    "workload": ("workload.limit", "workload.message", "workload.rows | length", "workload.rows[0].id"),
    "ctx": ("ctx.total | default(0)", "ctx.deep.value | default(none)"),
    "execution_id": ("execution_id",),
    "input": ("input.page | default(1)",),
    "step": ("step.note | default('')",),
    "output": ("output.status", "output.data | default(none)", "output.error.kind | default('none')"),
    "event": ("event.name",),
    "_prev": ("_prev | default(none)",),
    "_attempt": ("_attempt",),
}


def templated(choices: Choices, site: Site, scene: Scene) -> object:
    """A value as it stands where templates are allowed."""
    if happens(choices):
        return template(choices, site, scene)
    if happens(choices, 4):
        return {pick(choices, WORDS): template(choices, site, scene), "list": [template(choices, site, scene)]}
    return data(choices)


def bindings(choices: Choices, site: Site, scene: Scene) -> dict[str, object]:
    """An `input`: names and values."""
    names = several(choices, lambda: pick(choices, (*WORDS, "page")), 0, 2)
    return {name: templated(choices, site, scene) for name in names}


def assignments(choices: Choices, site: Site, scene: Scene, targets: Sequence[str]) -> dict[str, object]:
    """A `set` for some of the targets."""
    chosen = several(choices, lambda: pick(choices, targets), 0, 2) if targets else []
    return {target: templated(choices, site, scene) for target in chosen}
