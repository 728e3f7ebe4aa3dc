"""Objects that nobody refers to are removed, once they have been there for a while."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from noetl.storage.results.folder import COMPRESSED, DAMAGED, NEW, Folder

DAMAGED_KEPT_S = 30 * 24 * 3600.0
"""How long damaged objects are kept for people to look at."""


class Collected(msgspec.Struct, frozen=True):
    objects: int = 0
    bytes: int = 0


def collect(folder: Folder, live: Mapping[str, float | None], now: float, grace_s: float) -> Collected:
    """Removes what is not `live` and older than the grace period; so nothing goes that is about to be referred to.

    `live` says until when an object is referred to: None for good, else a time at which it may go.
    """
    removed = [size for part in _parts(folder) for size in _remove(folder, part, live, now, grace_s)]
    for name, kept_s in ((NEW, grace_s), (DAMAGED, DAMAGED_KEPT_S)):
        removed += [_unlink(file) for file in _files(folder.root / name) if _is_older(file, now - kept_s)]
    return Collected(len(removed), sum(removed))


def _remove(folder: Folder, part: Path, live: Mapping[str, float | None], now: float, grace_s: float) -> Iterator[int]:
    with folder.lock(is_shared=False):
        for file in _files(part):
            until = live.get(file.name.removesuffix(COMPRESSED), now)
            if until is not None and until <= now and _is_older(file, now - grace_s):
                yield _unlink(file)


def _parts(folder: Folder) -> list[Path]:
    return sorted(each for each in folder.root.iterdir() if len(each.name) == 2 and each.is_dir())


def _files(part: Path) -> list[Path]:
    return [each for each in part.iterdir() if each.is_file()]


def _is_older(file: Path, time: float) -> bool:
    """Not what is gone by now: someone else was faster."""
    try:
        return file.stat().st_mtime < time
    except FileNotFoundError:
        return False


def _unlink(file: Path) -> int:
    size = file.stat().st_size
    file.unlink(missing_ok=True)
    return size
