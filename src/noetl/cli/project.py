"""Where a project keeps its state, and the playbooks that its playbooks call by path."""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.files import ENDINGS, FOLDERS_SKIPPED, looks_like_playbook
from noetl.playbook.compile import Compilation
from noetl.playbook.model import encode
from noetl.ports import Catalog, Registered

HOME_NAME = ".noetl"
FILES_MAX = 10_000
"""Files that are looked at to find a playbook by its path."""
GUESSES_MAX = 200
"""Files that are compiled to find a path that is like one that is not there."""


def home_of(folder: Path, environment: Mapping[str, str]) -> Path:
    """`NOETL_HOME`, or `.noetl` in the nearest folder upwards that has one, or else here."""
    named = environment.get("NOETL_HOME")
    if named:
        return Path(named)
    for place in (folder, *folder.parents):
        if (place / HOME_NAME).is_dir():
            return place / HOME_NAME
    return folder / HOME_NAME


def registered(compilation: Compilation, file: str) -> Registered:
    playbook = compilation.playbook
    assert playbook is not None
    version = playbook.metadata.version or playbook.digest[:12]
    places = msgspec.json.encode(dict(compilation.source_map()))
    return Registered(playbook.metadata.path, version, playbook.digest, encode(playbook), file, places)


class Project:
    """The files of a folder and of those below it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, path: str, compiler: Compiler) -> Compilation | None:
        """The playbook of a path; where all that claim to be it have errors, the first of those.

        The file that the path spells is tried before all others are.
        """
        likely = [self.folder / f"{path}{ending}" for ending in ENDINGS]
        broken = None
        for file in (*(each for each in likely if each.is_file()), *self._files()):
            data = _read(file)
            if path.encode() not in data:
                continue
            compilation = compiler.compiled(data, self._shown(file))
            if _path_of(compilation) == path:
                if compilation.playbook is not None:
                    return compilation
                broken = broken or compilation
        return broken

    def paths(self, compiler: Compiler) -> Iterator[str]:
        """Those of playbooks that can be read, for a guess at what was meant."""
        for file in islice(self._files(), GUESSES_MAX):
            data = _read(file)
            path = _path_of(compiler.compiled(data, file.name)) if looks_like_playbook(data) else None
            if path:
                yield path

    def _shown(self, file: Path) -> str:
        return str(file.relative_to(self.folder)) if file.is_relative_to(self.folder) else str(file)

    def _files(self) -> Iterator[Path]:
        count = 0
        for place, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in FOLDERS_SKIPPED)
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    count += 1
                    if count > FILES_MAX:
                        return
                    yield Path(place) / name


class ProjectCatalog:
    """Playbooks by path: those in files of the project, which may have changed, and else those once registered."""

    def __init__(self, catalog: Catalog, folder: Path, compiler: Compiler) -> None:
        self._catalog = catalog
        self._compiler = compiler
        self._project = Project(folder)
        self.folder = folder

    async def register(self, playbook: Registered) -> None:
        await self._catalog.register(playbook)

    async def by_digest(self, digest: str) -> Registered | None:
        return await self._catalog.by_digest(digest)

    async def by_path(self, path: str, version: str | None) -> Registered | None:
        found = self._project.find(path, self._compiler) if version is None else None
        if found is None or found.playbook is None:
            return await self._catalog.by_path(path, version)
        playbook = registered(found, str(self.folder / found.source.name))
        await self._catalog.register(playbook)
        return playbook


def _read(file: Path) -> bytes:
    """Nothing of a file that cannot be read: it is none of ours."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _path_of(compilation: Compilation) -> str | None:
    return compilation.document.playbook.metadata.path if compilation.document is not None else None
