"""The files of a project, and the playbooks that its playbooks call by path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.files import ENDINGS, FOLDERS_SKIPPED, STDIN, looks_like_playbook
from noetl.cli.home import marked
from noetl.playbook.compile import Compilation
from noetl.playbook.model import encode
from noetl.ports import Catalog, Registered

FILES_MAX = 10_000
"""Files that are looked at to find a playbook by its path."""
FOLDERS_MAX = 10_000
"""Folders that are looked at; a project may turn out to be somebody's home."""
GUESSES_MAX = 200
"""Files that are compiled to find a path that is like one that is not there."""


def project_of(file: str, folder: Path, user: int | None = None) -> Project:
    """Where a playbook looks for those that it calls; `folder` is the current one, and where standard input stands.

    It ends with the folder that has a `.noetl` of this user's, or with the current one, whichever is further up; where
    neither is above the file, with the file's own.
    """
    here = Path(os.path.realpath(folder))
    near = here if file in ("", STDIN) else Path(os.path.realpath(folder / file)).parent
    tops = [place for place in (marked(near, user), here) if place is not None and near.is_relative_to(place)]
    return Project(min(tops, key=lambda place: len(place.parts), default=near), near, here)


def registered(compilation: Compilation, file: str) -> Registered:
    playbook = compilation.playbook
    assert playbook is not None
    version = playbook.metadata.version or playbook.digest[:12]
    places = msgspec.json.encode(dict(compilation.source_map()))
    return Registered(playbook.metadata.path, version, playbook.digest, encode(playbook), file, places)


class Project:
    """The files from the folder of a playbook up to the `folder` of its project. What is nearer goes before.

    Files are shown as they are found from `here`.
    """

    def __init__(self, folder: Path, near: Path, here: Path) -> None:
        self.folder = folder
        self._near = near
        self.here = here

    def find(self, path: str, compiler: Compiler) -> Compilation | None:
        """The playbook of a path; where all that claim to be it have errors, the first of those.

        The files that the path spells are tried before all others are.
        """
        broken = None
        for file in chain(self._spelled(path), self._files()):
            claim = self._claim(file, path, compiler)
            if claim is not None and claim.playbook is not None:
                return claim
            broken = broken or claim
        return broken

    def rivals(self, found: Compilation, path: str, compiler: Compiler) -> Sequence[str]:
        """The other files that claim the path of a playbook that was found, and are as near."""
        file = Path(self.absolute(found))
        place = next(place for place, _ in self._places() if file.is_relative_to(place))
        others = (each for each in islice(_yaml_below(place, None), FILES_MAX) if each != file)
        return [claim.source.name for each in others if (claim := self._claim(each, path, compiler)) is not None]

    def paths(self, compiler: Compiler) -> Iterator[str]:
        """Those of playbooks that can be read, for a guess at what was meant."""
        for file in islice(self._files(), GUESSES_MAX):
            data = _read(file)
            path = _path_of(compiler.compiled(data, file.name)) if looks_like_playbook(data) else None
            if path:
                yield path

    def locate(self, name: str) -> Path:
        """A file that a playbook names: beside it, or else in the nearest folder above it that has one."""
        places = (place / name for place, _ in self._places())
        return next((place for place in places if os.path.exists(place)), self._near / name)

    @property
    def searched(self) -> str:
        return f"in {self._near} and below{self._upwards}"

    @property
    def climbed(self) -> str:
        return f"in {self._near}{self._upwards}"

    @property
    def _upwards(self) -> str:
        return "" if self._near == self.folder else f", then in each folder above it up to {self.folder}"

    def absolute(self, compilation: Compilation) -> str:
        return str(self.here / compilation.source.name)

    def _spelled(self, path: str) -> Iterator[Path]:
        files = (place / f"{path}{ending}" for place, _ in self._places() for ending in ENDINGS)
        return (file for file in files if file.is_file())

    def _files(self) -> Iterator[Path]:
        files = (file for place, without in self._places() for file in _yaml_below(place, without))
        return islice(files, FILES_MAX)

    def _claim(self, file: Path, path: str, compiler: Compiler) -> Compilation | None:
        data = _read(file)
        if path.encode() not in data:
            return None
        compilation = compiler.compiled(data, self._shown(file))
        return compilation if _path_of(compilation) == path else None

    def _places(self) -> Iterator[tuple[Path, Path | None]]:
        """The folders to look in and below, and which folder of each is known by then."""
        known = None
        for place in (self._near, *self._near.parents):
            yield place, known
            if place == self.folder:
                return
            known = place

    def _shown(self, file: Path) -> str:
        return str(file.relative_to(self.here)) if file.is_relative_to(self.here) else str(file)


def _yaml_below(folder: Path, without: Path | None) -> Iterator[Path]:
    for place, folders, names in islice(os.walk(folder), FOLDERS_MAX):
        kept = (name for name in folders if not name.startswith(".") and name not in FOLDERS_SKIPPED)
        folders[:] = sorted(name for name in kept if Path(place, name) != without)
        yield from (Path(place, name) for name in sorted(names) if name.lower().endswith(ENDINGS))


class ProjectCatalog:
    """Playbooks by path: those in files of the project, which may have changed, and else those once registered.

    `folder` is the current one. Files are kept by their whole path, so that a run can go on in another folder, and
    are shown as they are found from the current one.
    """

    def __init__(self, catalog: Catalog, folder: Path, compiler: Compiler) -> None:
        self._catalog = catalog
        self._compiler = compiler
        self._project = project_of("", folder)
        self.folder = folder

    def stand_at(self, file: str) -> None:
        """From now on playbooks and secrets are looked for from this file."""
        if (self.folder / file).is_file():
            self._project = project_of(file, self.folder)

    def locate(self, name: str) -> Path:
        return self._project.locate(name)

    async def register(self, playbook: Registered) -> None:
        file = playbook.file
        if file not in ("", STDIN):
            playbook = msgspec.structs.replace(playbook, file=os.path.abspath(self.folder / file))
        await self._catalog.register(playbook)

    async def by_digest(self, digest: str) -> Registered | None:
        return self._shown(await self._catalog.by_digest(digest))

    async def by_path(self, path: str, version: str | None) -> Registered | None:
        found = self._project.find(path, self._compiler) if version is None else None
        if found is None or found.playbook is None:
            return self._shown(await self._catalog.by_path(path, version))
        playbook = registered(found, self._project.absolute(found))
        await self._catalog.register(playbook)
        return self._shown(playbook)

    def _shown(self, playbook: Registered | None) -> Registered | None:
        if playbook is None or not Path(playbook.file).is_relative_to(self.folder):
            return playbook
        return msgspec.structs.replace(playbook, file=str(Path(playbook.file).relative_to(self.folder)))


def _read(file: Path) -> bytes:
    """Nothing of a file that cannot be read: it is none of ours."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _path_of(compilation: Compilation) -> str | None:
    return compilation.document.playbook.metadata.path if compilation.document is not None else None
