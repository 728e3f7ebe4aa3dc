"""Playbooks in the file; of each path the version that was registered last is the newest."""

from noetl.ports import Registered
from noetl.storage.sqlite.database import Database
from noetl.storage.sqlite.records import PlaybookRow
from noetl.storage.sqlite.session import Session


class SqliteCatalog:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, playbook: Registered) -> None:
        known = (playbook.path, playbook.version, playbook.digest, playbook.model, playbook.file, playbook.places)
        await self._database.write(lambda unit: unit.session.run("register", *known))

    async def by_digest(self, digest: str) -> Registered | None:
        return await self._database.read(lambda session: _found(session, "by_digest", digest))

    async def by_path(self, path: str, version: str | None) -> Registered | None:
        if version is None:
            return await self._database.read(lambda session: _found(session, "newest", path))
        return await self._database.read(lambda session: _found(session, "by_path", path, version))


def _found(session: Session, query: str, *names: str) -> Registered | None:
    found = session.first(query, PlaybookRow, *names)
    return found.registered if found is not None else None
