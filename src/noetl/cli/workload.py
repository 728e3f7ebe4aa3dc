"""The workload that a person gives on the command line: a payload, and single values laid over it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from noetl.cli.console import Console, Stopped
from noetl.cli.files import reason
from noetl.playbook.source.scalars import resolve_plain

PAYLOAD_BYTES_MAX = 64 * 1024 * 1024
SAMPLE = '{"key": "value"}'
JSON_STARTS = ("[", "{", '"')
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SHOWN_CHARS_MAX = 200
"""Of a list that is to be given whole, as a sample."""


def workload_of(
    payload: str | None, values: Sequence[str], console: Console, *, verb: str = "run"
) -> dict[str, object]:
    """`--set` wins over `--payload`."""
    try:
        found = {} if payload is None else _payload(payload, console)
        for value in values:
            _lay(found, value)
    except _Refused as refused:
        raise Stopped(f"noetl {verb}: {refused}") from refused
    return found


class _Refused(Exception):
    """What was given is no workload."""


def _payload(given: str, console: Console) -> dict[str, object]:
    if not given.strip():
        raise _Refused(
            f"--payload is empty; expected JSON such as {SAMPLE}, @file, or -\n  = leave it out to give none"
        )
    if given == "-":
        return _object(console.read_bytes(PAYLOAD_BYTES_MAX), "the payload in standard input")
    if given == "@":
        raise _Refused("--payload @ needs the name of a file behind the sign: --payload @workload.json")
    if given.startswith("@"):
        return _object(_read(given[1:]), f"the payload in {given[1:]}")
    if not given.lstrip().startswith("{") and Path(given).is_file():
        raise _Refused(f"the value of --payload is not JSON, but the name of a file; write --payload @{given}")
    return _object(given.encode(), "the value of --payload")


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise _Refused(f"--payload @{name} cannot be read: {reason(error)}") from error


def _object(given: bytes, name: str) -> dict[str, object]:
    data = given.removeprefix(BYTE_ORDER_MARK)
    if not data.strip():
        raise _Refused(f"{name} is empty; expected JSON such as {SAMPLE}")
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Refused(f"{name} is not JSON: {error}\n  = write it as {SAMPLE}") from error
    if not isinstance(found, dict):
        raise _Refused(f"{name} must be an object with the keys of `workload`, and is {_word_for(found)}")
    return found


def _word_for(value: object) -> str:
    if value is None:
        return "null"
    words = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list"}
    return words[type(value)]


def _lay(workload: dict[str, object], given: str) -> None:
    path, equals, text = given.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise _Refused(f'--set takes KEY=VALUE or A.B=VALUE; found "{given}"')
    place = workload
    for count, key in enumerate(keys[:-1]):
        inner = place.get(key)
        if isinstance(inner, list):
            raise _Refused(_reaches_into_list(keys[: count + 1], inner))
        if not isinstance(inner, Mapping):
            inner = {}
        place[key] = dict(inner)
        place = place[key]  # type: ignore[assignment]
    place[keys[-1]] = _typed(path, text)


def refuse_elements(given: Mapping[str, object], declared: Mapping[str, object], *, verb: str = "run") -> None:
    """`list.0=9` over a declared list would make a mapping of it."""
    found = next(_elements(given, declared, ()), None)
    if found is not None:
        raise Stopped(f"noetl {verb}: {found}")


def _elements(given: Mapping[str, object], declared: Mapping[str, object], above: tuple[str, ...]) -> Iterator[str]:
    for key, value in given.items():
        there = declared.get(key)
        if not isinstance(value, Mapping):
            continue
        if isinstance(there, Mapping):
            yield from _elements(value, there, (*above, key))
        elif isinstance(there, list | tuple) and value and all(inner.isdecimal() for inner in value):
            yield _reaches_into_list((*above, key), there)


def _reaches_into_list(keys: Sequence[str], there: Sequence[object]) -> str:
    path, now = ".".join(keys), msgspec.json.encode(there).decode()
    sample = now if len(now) <= SHOWN_CHARS_MAX and "'" not in now else "[…]"
    return f"`{path}` is a list, and --set reaches into mappings alone\n  = give it whole: --set '{path}={sample}'"


def _typed(path: str, text: str) -> object:
    """JSON where it begins like JSON, else what YAML makes of a plain word; nothing at all is the empty text."""
    try:
        found = msgspec.json.decode(text.encode()) if text.lstrip()[:1] in JSON_STARTS else _plain(text)
    except msgspec.ValidationError as error:
        raise _out_of_range(path, text) from error
    except msgspec.DecodeError:
        return text
    if isinstance(found, float) and not math.isfinite(found):
        raise _out_of_range(path, text)
    return found


def _plain(text: str) -> object:
    """What has spaces around it is text, unless it is a number or a word such as `true` or `null`."""
    bare = text.strip()
    if not bare:
        return text
    found = resolve_plain(bare)
    if not isinstance(found, str):
        return found
    # A whole number that YAML finds too long is one in JSON.
    return msgspec.json.decode(bare.encode()) if bare.removeprefix("-").isdecimal() else text


def _out_of_range(path: str, text: str) -> _Refused:
    hint = "" if '"' in text else f"\n  = as text it is: --set '{path}=\"{text}\"'"
    return _Refused(f"--set {path}={text} has a number that is out of range{hint}")


def undeclared(
    given: Mapping[str, object], declared: Mapping[str, object], reads: Iterable[Sequence[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Keys that a workload does not declare and no template reads, with those that stand where they were looked for."""
    read = [tuple(path) for path in reads]
    if () not in read:
        yield from _undeclared(given, declared, read, ())


def _undeclared(
    given: Mapping[str, object], declared: Mapping[str, object], read: Sequence[tuple[str, ...]], above: tuple[str, ...]
) -> Iterator[tuple[str, list[str]]]:
    for key, value in given.items():
        path = (*above, key)
        if key in declared:
            inner = declared[key]
            if isinstance(value, Mapping) and isinstance(inner, Mapping) and inner:
                yield from _undeclared(value, inner, read, path)
        elif not any(each[: len(path)] == path or each == path[: len(each)] for each in read):
            known = [*declared, *(each[len(above)] for each in read if each[: len(above)] == above != each)]
            yield ".".join(path), [".".join((*above, name)) for name in dict.fromkeys(known)]
