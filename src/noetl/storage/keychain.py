"""The keychain of this machine: entries of the kinds `env` and `file`. Nothing is kept; each read is fresh."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from noetl.engine.events import Values
from noetl.errors import TemplateError
from noetl.expressions.template import parse
from noetl.playbook.model import KeychainEntry
from noetl.ports import Unavailable

FILE_BYTES_MAX = 1024 * 1024
OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class LocalKeychain:
    """`environment` is what entries of kind `env` read. `locate` says where a file of a name is; `~` is the home."""

    def __init__(self, environment: Mapping[str, str], locate: Callable[[str], Path] = Path) -> None:
        self._environment = environment
        self._locate = locate

    async def missing(self, entries: Sequence[KeychainEntry], workload: Values) -> Sequence[str]:
        return [entry.name for entry in entries if not await self._is_there(entry, workload)]

    async def value(self, entry: KeychainEntry, workload: Values) -> object:
        if entry.kind == "env":
            return self._variable(entry)
        if entry.kind == "file":
            return await asyncio.to_thread(self._file, entry, workload)
        raise Unavailable(
            f"keychain entry {entry.name!r} is of kind `{entry.kind}`, which needs a credential store, "
            "and this runtime has none; use `env` or `file`"
        )

    def exposed(self, entry: KeychainEntry, workload: Values) -> Path | None:
        """The file of an entry, where others may read it and its owner, who asks, could forbid that.

        Secrets that containers mount are readable by all as a rule: they belong to others, or cannot be changed.
        """
        if entry.kind != "file":
            return None
        try:
            path = self._path(entry, workload)
            found, around = path.stat(), os.statvfs(path)
        except (OSError, Unavailable):
            return None
        is_ours = found.st_uid == os.getuid() and not around.f_flag & os.ST_RDONLY
        return path if is_ours and found.st_mode & OF_OTHERS else None

    async def _is_there(self, entry: KeychainEntry, workload: Values) -> bool:
        try:
            await self.value(entry, workload)
        except Unavailable:
            return False
        return True

    def _variable(self, entry: KeychainEntry) -> str:
        name = str(entry.fields.get("var"))
        found = self._environment.get(name)
        if not found:
            raise Unavailable(f"keychain entry {entry.name!r} needs the environment variable {name}, which is not set")
        if not _is_text(found):
            raise Unavailable(f"keychain entry {entry.name!r}: the variable {name} is not text in UTF-8")
        return _one_value(found)

    def _file(self, entry: KeychainEntry, workload: Values) -> object:
        path = self._path(entry, workload)
        try:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
        except OSError as error:
            raise Unavailable(f"keychain entry {entry.name!r} needs the file {path}: {error.strerror}") from error
        return _content(entry, path, data)

    def _path(self, entry: KeychainEntry, workload: Values) -> Path:
        text = str(entry.fields.get("path"))
        try:
            found = str(parse(text).evaluate({"workload": workload}))
        except TemplateError as error:
            raise Unavailable(f"the path of keychain entry {entry.name!r} cannot be made: {error.message}") from error
        if found.startswith("~/"):
            found = f"{self._environment.get('HOME', '~')}{found[1:]}"
        return self._locate(found)


def _content(entry: KeychainEntry, path: Path, data: bytes) -> object:
    """A file that ends in `.json` and holds an object has fields; any other is one value, without its last line end."""
    if len(data) > FILE_BYTES_MAX:
        raise Unavailable(f"keychain entry {entry.name!r}: {path} is larger than {FILE_BYTES_MAX} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unavailable(f"keychain entry {entry.name!r}: {path} is not text in UTF-8") from error
    if path.suffix == ".json":
        return _fields(entry, path, text)
    if not text.strip():
        raise Unavailable(f"keychain entry {entry.name!r}: {path} is empty")
    return _one_value(text)


def _one_value(text: str) -> str:
    """Without the line end that editors and `echo` leave after it."""
    return text.removesuffix("\n").removesuffix("\r")


def _is_text(found: str) -> bool:
    """Bytes of a variable that are no UTF-8 are kept as half characters, which nothing could send or record."""
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fields(entry: KeychainEntry, path: Path, text: str) -> Mapping[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError as error:
        message = f"keychain entry {entry.name!r}: {path} must hold one JSON object: {error}"
        raise Unavailable(message) from error
