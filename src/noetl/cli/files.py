"""Which files the words of a command mean, and their bytes.

A folder means the playbooks below it, in a stable order; a file named outright is always taken. Links found in
folders come last, so that a file is known by its own name. What cannot be read is told and does not keep the others
from being read.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from noetl.cli.console import Console, Stopped
from noetl.errors import closest
from noetl.playbook.source.encoding import FILE_BYTES_MAX

STDIN = "-"
STDIN_NAME = "<stdin>"
ENDINGS = (".yaml", ".yml")
FOLDERS_SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})
NAMES_SHOWN_MAX = 3
NEAR_MAX = 1_000
"""Files of a folder that are looked at to guess which was meant."""

_BLOCK_HEAD = re.compile(
    rb"""(?:\A(?:\xef\xbb\xbf)?|[\r\n])["']?(?:kind["']?\s*:\s*["']?playbook\b|apiVersion["']?\s*:\s*["']?noetl\.io\b)""",
    re.IGNORECASE,
)
_FLOW_HEAD = re.compile(rb"""\A(?:\xef\xbb\xbf)?\s*\{(?s:.)*?\bkind["']?\s*:\s*["']?playbook\b""", re.IGNORECASE)


class Input(msgspec.Struct, frozen=True):
    """A file as it was read. `name` is what people see, `path` where it stands (None: standard input)."""

    name: str
    data: bytes
    path: str | None


class Inputs:
    """The files that a command's words mean, read one at a time. `failed`: something could not be read.

    `skips_links`: a link found in a folder is not read, for a verb that may write what it reads.
    """

    def __init__(
        self, words: Sequence[str], console: Console, *, quiet: bool = False, skips_links: bool = False
    ) -> None:
        self.failed = False
        self._words = words
        self._console = console
        self._quiet = quiet
        self._skips_links = skips_links
        self._seen: set[str] = set()
        self._links: list[str] = []

    def __iter__(self) -> Iterator[Input]:
        for word in self._words:
            if word == STDIN:
                yield _standard_input(self._console)
            elif os.path.isdir(word):
                yield from self._folder(word)
            else:
                yield from self._file(word)
        for link in self._links:
            yield from self._link(link)

    def _file(self, path: str) -> Iterator[Input]:
        data = self._read(path) if self._is_new(path) else None
        if data is not None:
            yield _input(path, data)

    def _link(self, path: str) -> Iterator[Input]:
        if not self._skips_links:
            yield from self._file(path)
        elif self._is_new(path) and not self._quiet:
            self._console.say(f"skipped, a link: {path}; name {os.path.realpath(path)} instead")

    def _folder(self, folder: str) -> Iterator[Input]:
        others: list[str] = []
        found = 0
        for path in walk(folder, self._refuse):
            data = self._read(path)
            if data is None:
                continue
            if not looks_like_playbook(data):
                others.append(path)
                continue
            found += 1
            if os.path.islink(path):
                self._links.append(path)
            elif self._is_new(path):
                yield _input(path, data)
        self._tell_skipped(others)
        if not found and not self.failed:
            self._fail(f"no playbook in {folder}: expected {' or '.join(ENDINGS)} files with `kind: Playbook`")

    def _is_new(self, path: str) -> bool:
        """Whether this is the first time: a folder and a file in it may both be named."""
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def _read(self, path: str) -> bytes | None:
        try:
            return _contents(path)
        except OSError as error:
            self._refuse(error)
            return None

    def _refuse(self, error: OSError) -> None:
        self._fail(unreadable(error))

    def _fail(self, message: str) -> None:
        self.failed = True
        self._console.say(f"noetl: {message}")

    def _tell_skipped(self, paths: Sequence[str]) -> None:
        if not paths or self._quiet:
            return
        more = len(paths) - NAMES_SHOWN_MAX
        names = ", ".join(paths[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
        self._console.say(f"skipped, not a playbook: {names}")


def read_one(word: str, console: Console) -> Input:
    """The one file that a word names."""
    if word == STDIN:
        return _standard_input(console)
    try:
        return _input(word, _contents(word))
    except OSError as error:
        inside = _playbooks_in(word) if isinstance(error, IsADirectoryError) else ""
        raise Stopped(f"noetl: {unreadable(error)}{inside}") from None


def _playbooks_in(folder: str) -> str:
    names = list(islice(walk(folder, lambda _error: None), NAMES_SHOWN_MAX + 1))
    more = ", …" if len(names) > NAMES_SHOWN_MAX else ""
    return f"; name one playbook, such as {', '.join(names[:NAMES_SHOWN_MAX])}{more}" if names else ""


def unreadable(error: OSError) -> str:
    near = _near(os.fsdecode(error.filename)) if isinstance(error, FileNotFoundError) else None
    meant = f"; did you mean {near}?" if near is not None else ""
    return f"cannot read {error.filename}: {reason(error)}{meant}"


def _near(path: str) -> str | None:
    """A file beside the one that is not there: with the other ending, or with a name like it."""
    folder, name = os.path.split(path)
    try:
        names = [each for each in islice(os.listdir(folder or "."), NEAR_MAX) if each.lower().endswith(ENDINGS)]
    except OSError:
        return None
    stem = os.path.splitext(name)[0]
    same = next((each for each in sorted(names) if os.path.splitext(each)[0] == stem), None)
    near = same or closest(name, sorted(names))
    return os.path.join(folder, near) if near is not None else None


def reason(error: OSError) -> str:
    """What the operating system says, as part of a sentence."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def looks_like_playbook(data: bytes) -> bool:
    """By the words at its root alone, so that a playbook with broken YAML is found too."""
    return _BLOCK_HEAD.search(data) is not None or _FLOW_HEAD.search(data) is not None


def walk(folder: str, on_error: Callable[[OSError], None]) -> Iterator[str]:
    """The YAML files below a folder, sorted by name; a folder's own come before those of its folders."""
    for parent, folders, names in os.walk(folder, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in FOLDERS_SKIPPED)
        for name in sorted(names):
            path = os.path.join(parent, name).removeprefix(f".{os.sep}")
            if name.lower().endswith(ENDINGS) and not name.startswith(".") and not _is_device(path):
                yield path


def _input(path: str, data: bytes) -> Input:
    """The name is the path, with a sign in place of bytes that are no text in any encoding we know."""
    return Input(os.fsencode(path).decode("utf-8", "replace"), data, path)


def _standard_input(console: Console) -> Input:
    return Input(STDIN_NAME, console.read_bytes(FILE_BYTES_MAX + 1), None)


def _contents(path: str) -> bytes:
    """At most a byte more than a playbook may have, so that a huge file costs nothing."""
    with open(path, "rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def _is_device(path: str) -> bool:
    """A pipe or a socket would keep us waiting; a link that leads nowhere is told as a file that is not there."""
    return os.path.exists(path) and not os.path.isfile(path)
