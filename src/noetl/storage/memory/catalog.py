"""Playbooks in memory; of each path the version that was registered last is the newest."""

from noetl.ports import Registered


class MemoryCatalog:
    def __init__(self) -> None:
        self._by_digest: dict[str, Registered] = {}
        self._by_path: dict[str, dict[str, Registered]] = {}

    async def register(self, playbook: Registered) -> None:
        self._by_digest[playbook.digest] = playbook
        versions = self._by_path.setdefault(playbook.path, {})
        versions.pop(playbook.version, None)
        versions[playbook.version] = playbook

    async def by_digest(self, digest: str) -> Registered | None:
        return self._by_digest.get(digest)

    async def by_path(self, path: str, version: str | None) -> Registered | None:
        versions = self._by_path.get(path, {})
        return next(reversed(versions.values()), None) if version is None else versions.get(version)
