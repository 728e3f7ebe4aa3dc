"""A name in a template that means nothing there."""

from collections.abc import Iterator, Mapping

from noetl.errors import closest
from noetl.expressions.sites import OLD_WORDS
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.closed_values import impossible_values, quoting
from noetl.playbook.rules.names import Reading, Sense, iterator_path, known_names, read_names, rename
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import COMPARISONS_MAX, is_safe
from noetl.playbook.rules.wording import listed
from noetl.playbook.rules.written import owners, title

FAMILIAR = {
    "context": "ctx",
    "current": "iter",
    "data": "output.data",
    "element": "iter",
    "error": "output.error",
    "execution": "execution_id",
    "index": "iter.index",
    "item": "iter",
    "loop": "iter",
    "parameters": "input",
    "params": "input",
    "prev": "_prev",
    "response": "output.data",
    "result": "output.data",
    "secret": "keychain",
    "secrets": "keychain",
    "status": "output.status",
    "var": "workload",
    "variables": "ctx",
}
"""What names of other tools are called here, wherever that can be read."""

STEPS = frozenset({"jobs", "needs", "outputs", "steps", "tasks"})
"""Under which names other tools keep what steps and tasks returned."""

ELEMENTS = frozenset({"current", "element", "item"})
"""What other tools call the element of a loop."""

PARAMETERS = frozenset({"inputs", "parameters", "params"})
"""What other tools call the parameters of a run, or what a step is given."""

OUTSIDE = {"env": "templates do not read the environment: declare a keychain entry, or pass a workload key"}

OLDER = frozenset(OLD_WORDS)

NOTHING = "null"
"""What other languages, in any case, call `none`."""

OLDEST = "vars"
"""A word that a rule of its own speaks of."""


def check(document: Document) -> Iterator[Diagnostic]:
    undefined = [reading for reading in document.once(read_names)[Sense.UNDEFINED] if reading.root != OLDEST]
    if undefined:
        candidates = _Candidates(document)
        bare = {(id(each.use), each.start): each for each in document.once(impossible_values) if each.is_bare}
        for reading in undefined:
            text = bare.get((id(reading.use), reading.names[0].start))
            if text is not None:
                message = f'"{reading.root}" is not defined in {reading.use.site.title}; put the text in quotes'
                yield RULE.in_template(document, reading.use, text.part, message, fix=quoting(document, text))
            else:
                yield _report(document, reading, candidates)


def _report(document: Document, reading: Reading, candidates: "_Candidates") -> Diagnostic:
    root, first = reading.root, reading.names[0]
    message = f'"{root}" is not defined in {reading.use.site.title}'
    if root.lower() == NOTHING:
        fix = rename(document, reading, "none")
        return RULE.in_template(document, reading.use, first, f"{message}; write `none`", fix=fix)
    here = _visible(reading)
    task = _step_or_task(document, reading)
    if task is not None:
        hint = f"an output is read by the name of its step or task: `{task}.data`"
        return RULE.in_template(document, reading.use, first, f"{message}; did you mean `{task}`?", hint)
    near = candidates.nearest(reading)
    if near is not None:
        message = f"{message}; did you mean `{near}`?"
        is_sure = _is_safe(reading, near) and (near != "input" or candidates.has_input(reading))
        fix = rename(document, reading, near) if is_sure else []
        return RULE.in_template(document, reading.use, first, message, here, fix)
    hint = "\n".join((*_advice(reading), here))
    familiar = _familiar(reading)
    if familiar is not None:
        message = f"{message}; did you mean `{familiar}`?"
    return RULE.in_template(document, reading.use, first, message, hint)


def _step_or_task(document: Document, reading: Reading) -> str | None:
    """`get_rate` of `steps.get_rate.output`, where that can be read."""
    segments = reading.names[0].segments
    if reading.root not in STEPS or not segments:
        return None
    site, name = reading.use.site, segments[0].name
    is_task = site.sees_tasks and name in reading.place.frame.tasks
    return name if is_task or (site.sees_steps and name in document.once(known_names).steps) else None


def _is_safe(reading: Reading, near: str) -> bool:
    is_alone = not all(use.segments for use in reading.names)
    return is_safe(reading.root, near.rpartition(".")[2], is_alone=is_alone)


def _familiar(reading: Reading) -> str | None:
    path = FAMILIAR.get(reading.root, "")
    if path.partition(".")[0] not in reading.visible:
        return None
    if reading.root in ELEMENTS:
        return iterator_path(reading.place.iterators, reading.place.iterators[-1])
    return path


def _advice(reading: Reading) -> list[str]:
    root = reading.root
    if root in OUTSIDE:
        return [OUTSIDE[root]]
    parts = [] if reading.names[0].segments else [f"text stands in quotes, '{root}'"]
    if _familiar(reading) is None:
        parts.append(f"a parameter is read as `workload.{root}`")
    return ["; ".join(parts)] if parts else []


def _visible(reading: Reading) -> str:
    tasks = list(dict.fromkeys(reading.place.frame.tasks)) if reading.use.site.sees_tasks else []
    words = sorted(reading.visible - OLDER, key=lambda word: (word.startswith("_"), word))
    shown = f"visible here: {', '.join(words)}"
    return f"{shown}, and the {'task' if len(tasks) == 1 else 'tasks'} {listed(tasks)}" if tasks else shown


class _Candidates:
    """What an undefined name may have meant: by each name, how it is read."""

    def __init__(self, document: Document) -> None:
        self._left = COMPARISONS_MAX
        self._anywhere = _anywhere(document)
        self._workload = frozenset(document.playbook.workload)
        self._steps = {step.name: step.name for step in document.playbook.workflow}
        self._keychain = {entry.name: f"keychain.{entry.name}" for entry in document.playbook.keychain}
        self._inputs = {title(owner): {key: f"input.{key}" for key in owner.input} for owner in owners(document)}

    def nearest(self, reading: Reading) -> str | None:
        tables = self._tables(reading)
        for table in tables:
            if reading.root in table:
                return table[reading.root]
        if reading.root in PARAMETERS and self._is_parameter(reading):
            return "workload"
        if reading.root in FAMILIAR:
            return None
        self._left -= sum(map(len, tables))
        if self._left < 0:
            return None
        near = closest(reading.root, [name for table in tables for name in table])
        return next((table[near] for table in tables if near in table), None) if near is not None else None

    def has_input(self, reading: Reading) -> bool:
        """Whether the step or the block is given anything, so that its `input` is likely meant."""
        return bool(self._inputs.get(reading.place.frame.title))

    def _is_parameter(self, reading: Reading) -> bool:
        """Whether what is read is a key of the workload, and none of the step's input."""
        names = {use.segments[0].name for use in reading.names if use.segments}
        own = self._inputs.get(reading.place.frame.title, {})
        return bool(names) and names <= self._workload and not names & own.keys()

    def _tables(self, reading: Reading) -> list[Mapping[str, str]]:
        """Those of the place first, those of the playbook last."""
        site, place = reading.use.site, reading.place
        tasks = place.frame.tasks if site.sees_tasks else ()
        tables: list[Mapping[str, str]] = [
            {name: name for name in (*(reading.visible - OLDER), *tasks)},
            self._inputs.get(place.frame.title, {}),
        ]
        if site.sees_steps:
            tables += (self._anywhere, self._steps)
        if site.allows_keychain:
            tables.append(self._keychain)
        return tables


def _anywhere(document: Document) -> Mapping[str, str]:
    """Workload keys and what is set in ctx, by the last name of the path."""
    found = {key: f"workload.{key}" for key in document.playbook.workload}
    for use in document.notes.sets:
        if use.target.startswith("ctx."):
            found.setdefault(use.target.rpartition(".")[2], use.target)
    return found


RULE = Rule("NOE502", "undefined-name", Severity.ERROR, check)
