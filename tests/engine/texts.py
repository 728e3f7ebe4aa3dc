"""Playbooks for tests, written as little as it takes, and tools that answer as they are told."""

from collections.abc import Mapping, Sequence
from textwrap import dedent, indent

from noetl.engine.output import Output
from tests.engine.driver import Driver

HEAD = """\
apiVersion: noetl.io/{version}
kind: Playbook
metadata: {{ name: demo, path: demo }}
"""


def playbook(workflow: str, *, head: str = "", version: str = "v2") -> str:
    """`workflow` is the list of steps; `head` stands before it."""
    steps = indent(dedent(workflow).strip("\n"), "  ")
    return f"{HEAD.format(version=version)}{dedent(head).strip()}\nworkflow:\n{steps}\n"


def pipeline(tasks: str, *, step: str = "", head: str = "", version: str = "v2") -> str:
    """One step `s` with these tasks; `step` holds further keys of it."""
    keys = indent(dedent(step).strip("\n"), "  ")
    listed = indent(dedent(tasks).strip("\n"), "    ")
    return playbook(f"- step: s\n{keys}\n  tool:\n{listed}\n", head=head, version=version)


class Answers:
    """A tool that gives each task its outputs in turn, the last one for ever, and notes what it was asked."""

    def __init__(self, **outputs: Output | Sequence[Output] | object) -> None:
        self.outputs = outputs
        self.calls: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = []

    def __call__(self, name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        self.calls.append((name, fields, given))
        found = self.outputs.get(name)
        if isinstance(found, list) and all(isinstance(each, Output) for each in found):
            number = sum(called == name for called, _, _ in self.calls)
            found = found[min(number, len(found)) - 1]
        return found if isinstance(found, Output) else Output(data=found)

    def given(self, name: str) -> list[Mapping[str, object]]:
        return [given for called, _, given in self.calls if called == name]

    def fields(self, name: str) -> list[Mapping[str, object]]:
        return [fields for called, fields, _ in self.calls if called == name]


def run(text: str, **outputs: object) -> Driver:
    return Driver(text, Answers(**outputs)).run()
