"""Results as files under their sha256."""

from noetl.storage.results.files import FileResults

__all__ = ["FileResults"]
