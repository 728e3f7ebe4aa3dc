"""The workload that a person gives on the command line: a payload, and single values laid over it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from noetl.cli.console import Console, Stopped
from noetl.playbook.source.scalars import resolve_plain

PAYLOAD_BYTES_MAX = 64 * 1024 * 1024


def workload_of(payload: str, values: Sequence[str], console: Console) -> dict[str, object]:
    """`--set` wins over `--payload`."""
    found = _payload(payload, console) if payload else {}
    for value in values:
        _lay(found, value)
    return found


def _payload(given: str, console: Console) -> dict[str, object]:
    if given == "-":
        return _object(console.read_bytes(PAYLOAD_BYTES_MAX), "standard input")
    if given.startswith("@"):
        return _object(_read(given[1:]), given[1:])
    return _object(given.encode(), "--payload")


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Stopped(f"noetl run: --payload @{name} cannot be read: {error.strerror}") from error


def _object(data: bytes, name: str) -> dict[str, object]:
    try:
        found = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise Stopped(
            f'noetl run: the payload in {name} is not JSON: {error}\n  = write it as {{"key": "value"}}'
        ) from error
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise Stopped(f"noetl run: the payload in {name} must be an object with the keys of `workload`, and is {kind}")
    return found


def _lay(workload: dict[str, object], given: str) -> None:
    path, equals, text = given.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise Stopped(f'noetl run: --set takes KEY=VALUE or A.B=VALUE; found "{given}"')
    place = workload
    for key in keys[:-1]:
        inner = place.get(key)
        if not isinstance(inner, Mapping):
            inner = {}
        place[key] = dict(inner)
        place = place[key]  # type: ignore[assignment]
    place[keys[-1]] = _typed(text)


def _typed(text: str) -> object:
    """JSON where it is JSON, else what YAML makes of a plain word: `n=3`, `tags=["a"]`, `name=ann`."""
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return resolve_plain(text)
