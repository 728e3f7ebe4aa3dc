"""What can be wrong with what stores keep. Only what may pass by itself is worth another try."""

from noetl.ports import Unavailable


class StorageError(Exception):
    """The data cannot be used as it is. Trying again does not help."""


class ReadOnly(StorageError):
    pass


class NoAccess(StorageError):
    pass


class Gone(StorageError):
    pass


class Damaged(StorageError):
    pass


class NotOurs(StorageError):
    pass


class NewerSchema(StorageError):
    pass


class Locked(Unavailable):
    pass


class DiskFull(Unavailable):
    pass


class DiskFailed(Unavailable):
    pass


PASSING = (Locked, DiskFull, DiskFailed)
"""Trouble with a store as a whole that may pass."""
