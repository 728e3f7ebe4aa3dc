"""A store in one SQLite file, which several processes may share: the log, the work, the incidents and the playbooks."""

from noetl.storage.sqlite.catalog import SqliteCatalog
from noetl.storage.sqlite.database import Database
from noetl.storage.sqlite.store import SqliteStore

__all__ = ["Database", "SqliteCatalog", "SqliteStore"]
