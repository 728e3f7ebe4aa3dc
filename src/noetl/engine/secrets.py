"""Which secrets a task reads, and how they are kept out of everything that is recorded."""

from collections.abc import Iterator, Mapping

from noetl.engine.reference import each_value
from noetl.expressions.template import is_template, parse
from noetl.playbook.model import Task

MASK = "***"
SECRET_CHARS_MIN = 4
"""A shorter secret cannot be told from ordinary text, so that masking it would only garble what is recorded."""


def entries_read(task: Task) -> frozenset[str]:
    """The keychain entries that the templates of a task's fields and input name, or all of `auth` where it is text."""
    names = {name for part in (task.fields, task.input) for text in _texts(part) for name in _names(text)}
    return frozenset(names)


def texts_of(value: object) -> Iterator[str]:
    """Every text in what a keychain entry holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)


def masked(value: object, secrets: frozenset[str]) -> object:
    """A value or a record in which no secret is left. The longest go first, since one may be part of another."""
    hidden = sorted((text for text in secrets if len(text) >= SECRET_CHARS_MIN), key=lambda text: (-len(text), text))
    return _masked(value, tuple(hidden)) if hidden else value


def _masked(value: object, hidden: tuple[str, ...]) -> object:
    if type(value) is str:  # a word of an enumeration is text too, and none of ours is a secret
        return _hidden(value, hidden)
    return each_value(value, lambda item: _masked(item, hidden))


def _hidden(text: str, hidden: tuple[str, ...]) -> str:
    for secret in hidden:
        text = text.replace(secret, MASK)
    return text


def _names(text: str) -> Iterator[str]:
    for use in parse(text).names:
        if use.root == "keychain" and use.segments:
            yield use.segments[0].name


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, str):
        if is_template(part):
            yield part
    elif isinstance(part, Mapping):
        for item in part.values():
            yield from _texts(item)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _texts(item)
