"""Objects that nobody refers to are removed, once they have been there for a while."""

from collections.abc import Collection, Iterator
from pathlib import Path

from noetl.ports import Collected
from noetl.storage.results.folder import COMPRESSED, DAMAGED, NEW, Folder

DAMAGED_KEPT_S = 30 * 24 * 3600.0
"""How much longer damaged objects are kept, for people to look at."""


def collect(folder: Folder, prefix: str, held: Collection[str], put_before: float) -> Collected:
    """Removes what begins so, is not held and is older; so nothing goes that is about to be referred to.

    With it goes what was never finished.
    """
    removed = [size for part in _parts(folder, prefix) for size in _remove(folder, part, prefix, held, put_before)]
    for name, before in ((NEW, put_before), (DAMAGED, put_before - DAMAGED_KEPT_S)):
        removed += [_unlink(file) for file in _files(folder.root / name) if _is_older(file, before)]
    return Collected(len(removed), sum(removed))


def _remove(folder: Folder, part: Path, prefix: str, held: Collection[str], put_before: float) -> Iterator[int]:
    with folder.lock(is_shared=False):
        for file in _files(part):
            is_held = file.name.removesuffix(COMPRESSED) in held or not file.name.startswith(prefix)
            if not is_held and _is_older(file, put_before):
                yield _unlink(file)


def _parts(folder: Folder, prefix: str) -> list[Path]:
    return sorted(
        each for each in folder.root.iterdir() if len(each.name) == 2 and each.name[: len(prefix)] == prefix[:2]
    )


def _files(part: Path) -> list[Path]:
    return [each for each in part.iterdir() if each.is_file()]


def _is_older(file: Path, time: float) -> bool:
    """Not what is gone by now: someone else was faster."""
    try:
        return file.stat().st_mtime < time
    except FileNotFoundError:
        return False


def _unlink(file: Path) -> int:
    """Damaged ones may be collected by two at once."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return 0
    file.unlink(missing_ok=True)
    return size
