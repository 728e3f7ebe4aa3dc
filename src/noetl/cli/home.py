"""Where a project keeps its state. What another user put above the current folder is not taken for it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from noetl.cli.console import Stopped

HOME_NAME = ".noetl"
VARIABLE = "NOETL_HOME"


def home_of(folder: Path, environment: Mapping[str, str], say: Callable[[str], None], user: int | None = None) -> Path:
    """`NOETL_HOME`, or `.noetl` in the nearest folder upwards that has one of this user's, or else here.

    Whoever keeps the state can have playbooks run by those who use it. So one of another user must be named.
    """
    named = environment.get(VARIABLE)
    return _spelled(folder / os.path.expanduser(named) if named else _nearest(folder, say, user))


def marked(folder: Path, user: int | None = None) -> Path | None:
    """The nearest folder upwards that has a `.noetl` of this user's."""
    return next((place for place, owner in _homes(folder, user) if owner is None), None)


def _nearest(folder: Path, say: Callable[[str], None], user: int | None) -> Path:
    for place, owner in _homes(folder, user):
        home = place / HOME_NAME
        if owner is None:
            return home
        told = f"{home} is not used: it belongs to another user (uid {owner})"
        if place == folder:
            raise Stopped(f"noetl: {told}\n  = name it, or another folder: {VARIABLE}=FOLDER noetl …")
        say(f"{told}\n  = to use it: {VARIABLE}={shlex.quote(str(home))} noetl …")
    return folder / HOME_NAME


def _homes(folder: Path, user: int | None) -> Iterator[tuple[Path, int | None]]:
    """The folders upwards that have a `.noetl`, each with the stranger to whom that belongs, if any.

    Who is in somebody's folder runs that one's playbooks anyway, so the state there may be that one's too.
    """
    mine = os.geteuid() if user is None else user
    for place in (folder, *folder.parents):
        owners = _owners(place / HOME_NAME)
        trusted = {mine, folder.stat().st_uid} if place == folder and owners else {mine}
        if owners:
            yield place, next(iter(owners - trusted), None)


def _owners(home: Path) -> set[int]:
    """Of the folder, and of a link that leads to it. None where there is no such folder, or nobody may look."""
    try:
        return {home.stat().st_uid, home.lstat().st_uid} if home.is_dir() else set()
    except OSError:
        return set()


def _spelled(home: Path) -> Path:
    """SQLite takes names in UTF-8 alone."""
    try:
        str(home).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(home).decode("utf-8", "backslashreplace")
        told = f"noetl: the state cannot be kept in {shown}: the name is not UTF-8"
        raise Stopped(f"{told}\n  = name another folder: {VARIABLE}=FOLDER noetl …") from error
    return home
