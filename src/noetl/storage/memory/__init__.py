"""A store in memory with the semantics of a database: the twin that tests, the simulator and small runs use."""

from noetl.storage.memory.catalog import MemoryCatalog
from noetl.storage.memory.results import MemoryResults
from noetl.storage.memory.store import MemoryStore

__all__ = ["MemoryCatalog", "MemoryResults", "MemoryStore"]
