"""Folders whose names outlast a loss of power."""

import os
from contextlib import suppress
from pathlib import Path


def make(folder: Path) -> None:
    """For its owner alone, with those above it that are not there."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in missing:
        with suppress(PermissionError):  # who may write into a folder may not always read it
            sync(each.parent)


def sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
