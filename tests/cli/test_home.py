"""Where a project keeps its state, and whose it must be."""

import os
import subprocess
from pathlib import Path

import pytest

from noetl.cli.console import Stopped
from noetl.cli.home import home_of
from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment
from tests.cli.invoke import SOUND

NOBODY = 65534
ME = os.geteuid()
STRANGER = ME + 1
"""To whom nothing here belongs."""


def refuse(text: str) -> None:
    raise AssertionError(text)


def test_state_is_kept_in_the_nearest_folder_upwards_that_has_some(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert home_of(inner, {}, refuse) == inner / ".noetl"
    (tmp_path / ".noetl").mkdir()
    assert home_of(inner, {}, refuse) == tmp_path / ".noetl"


@pytest.mark.parametrize(
    ("named", "home"),
    [
        ("~/state", str(Path("~").expanduser() / "state")),
        ("~no-such-user/state", "HERE/~no-such-user/state"),
        ("state", "HERE/state"),
        ("/var/state", "/var/state"),
        ("", "HERE/.noetl"),
    ],
)
def test_the_environment_names_another_place_in_which_a_tilde_is_the_home(
    tmp_path: Path, named: str, home: str
) -> None:
    assert home_of(tmp_path, {"NOETL_HOME": named}, refuse) == Path(home.replace("HERE", str(tmp_path)))


def test_what_belongs_to_another_user_above_is_passed_over_and_told(tmp_path: Path) -> None:
    inner = tmp_path / "a b" / "c"
    inner.mkdir(parents=True)
    theirs = tmp_path / "a b" / ".noetl"
    theirs.mkdir()
    said: list[str] = []
    assert home_of(inner, {}, said.append, STRANGER) == inner / ".noetl"
    assert said == [
        f"{theirs} is not used: it belongs to another user (uid {ME})\n  = to use it: NOETL_HOME='{theirs}' noetl …"
    ]
    assert home_of(inner, {}, refuse, ME) == theirs


def test_what_belongs_to_another_user_is_used_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / ".noetl").mkdir()
    named = {"NOETL_HOME": str(tmp_path / ".noetl")}
    assert home_of(tmp_path / "inner", named, refuse, STRANGER) == tmp_path / ".noetl"


def test_who_is_in_the_folder_of_another_user_uses_the_state_of_that_one(tmp_path: Path) -> None:
    (tmp_path / ".noetl").mkdir()
    assert home_of(tmp_path, {}, refuse, STRANGER) == tmp_path / ".noetl"


def folder_of_another(tmp_path: Path) -> tuple[Path, int]:
    """A folder that is not this user's, and whose it is."""
    if ME != 0:
        return Path("/"), 0
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, -1)
    return folder, NOBODY


def test_what_a_third_user_put_into_the_current_folder_is_refused(tmp_path: Path) -> None:
    theirs, user = folder_of_another(tmp_path)
    (tmp_path / ".noetl").symlink_to(theirs)
    with pytest.raises(Stopped, match=rf"is not used: it belongs to another user \(uid {user}\)\n  = name it") as told:
        home_of(tmp_path, {}, refuse)
    assert told.value.code == 2


def test_a_link_of_another_user_is_not_followed_though_it_leads_to_a_folder_of_this_one(tmp_path: Path) -> None:
    theirs, user = folder_of_another(tmp_path)
    (tmp_path / ".noetl").symlink_to(theirs)
    (tmp_path / "inner").mkdir()
    said: list[str] = []
    assert home_of(tmp_path / "inner", {}, said.append, user) == tmp_path / "inner" / ".noetl"
    assert f"belongs to another user (uid {ME})" in said[0]


@pytest.mark.parametrize(("verb", "named"), [("run", "demo.yaml"), ("status", "@latest")])
def test_a_name_that_is_not_utf_8_is_refused_in_words_and_nothing_is_made(
    tmp_path: Path, verb: str, named: str
) -> None:
    (tmp_path / "demo.yaml").write_text(SOUND, "utf-8")
    ran = subprocess.run(
        [PROGRAM, verb, named],
        cwd=tmp_path,
        env={**{os.fsencode(k): os.fsencode(v) for k, v in environment().items()}, b"NOETL_HOME": b"bad\xff"},
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    told = f"noetl: the state cannot be kept in {tmp_path}/bad\\xff: the name is not UTF-8\n"
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode("utf-8").startswith(told)
    assert [each.name for each in tmp_path.iterdir()] == ["demo.yaml"]
