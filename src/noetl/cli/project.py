"""Where a project keeps its state, and the playbooks that its playbooks call by path."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.files import ENDINGS, FOLDERS_SKIPPED
from noetl.playbook.compile import Compilation
from noetl.playbook.model import encode
from noetl.ports import Catalog, Registered

HOME_NAME = ".noetl"
FILES_MAX = 10_000
"""Files that are looked at to find a playbook by its path."""


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


class ProjectCatalog:
    """Playbooks by path: those in files of the project, which may have changed, and else those once registered."""

    def __init__(self, catalog: Catalog, folder: Path, compiler: Compiler) -> None:
        self._catalog = catalog
        self._compiler = compiler
        self.folder = folder

    async def register(self, playbook: Registered) -> None:
        await self._catalog.register(playbook)

    async def by_digest(self, digest: str) -> Registered | None:
        return await self._catalog.by_digest(digest)

    async def by_path(self, path: str, version: str | None) -> Registered | None:
        if version is None:
            found = self._find(path)
            if found is not None:
                await self._catalog.register(found)
                return found
        return await self._catalog.by_path(path, version)

    def _find(self, path: str) -> Registered | None:
        """The file that the path spells is tried before all others are."""
        likely = [self.folder / f"{path}{ending}" for ending in ENDINGS]
        for file in (*(each for each in likely if each.is_file()), *_files(self.folder)):
            try:
                data = file.read_bytes()
            except OSError:
                continue
            if path.encode() not in data:
                continue
            compilation = self._compiler.compiled(data, str(file))
            if compilation.playbook is not None and compilation.playbook.metadata.path == path:
                return registered(compilation, str(file))
        return None


def _files(folder: Path) -> Iterator[Path]:
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in FOLDERS_SKIPPED)
        for name in sorted(names):
            if name.endswith(ENDINGS):
                count += 1
                if count > FILES_MAX:
                    return
                yield Path(place) / name
