"""Another step's output, read by the step's name."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.names import Reading, Sense, read_names
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for reading in document.once(read_names)[Sense.STEP]:
        yield _report(document, reading)


def _report(document: Document, reading: Reading) -> Diagnostic:
    step = reading.root
    if reading.place.frame.title == f'step "{step}"' and "output" in reading.visible:
        message = f'step "{step}" reads its own output by its name'
        return RULE.in_template(document, reading.use, reading.names[0], message, "`output` is shorter here")
    target, path = _published(reading)
    message = f'the output of step "{step}" is read by its name, which ties the two steps together'
    hint = f'let step "{step}" publish it and read `{target}` here:\n  set:\n    {target}: "{{{{ {path} }}}}"'
    return RULE.in_template(document, reading.use, reading.names[0], message, hint)


def _published(reading: Reading) -> tuple[str, str]:
    """A target and the expression it should receive."""
    keys = [segment.name for segment in reading.names[0].segments]
    path = ".".join(("output", *keys))
    if path == "output.ref":
        return f"ctx.{reading.root}_ref", path
    return f"ctx.{keys[-1] if len(keys) > 1 else reading.root}", path


RULE = Rule("NOE508", "prefer-set", Severity.INFO, check)
