import asyncio
import os
from pathlib import Path

import pytest

from noetl.playbook.model import KeychainEntry
from noetl.ports import Unavailable
from noetl.storage.keychain import FILE_BYTES_MAX, LocalKeychain

TOKEN = KeychainEntry("token", "env", {"var": "API_TOKEN"})


def file_entry(path: str) -> KeychainEntry:
    return KeychainEntry("pass", "file", {"path": path})


def value(keychain: LocalKeychain, entry: KeychainEntry, **workload: object) -> object:
    return asyncio.run(keychain.value(entry, workload))


def test_an_entry_of_kind_env_is_the_variable() -> None:
    assert value(LocalKeychain({"API_TOKEN": "t0ken"}), TOKEN) == "t0ken"


def test_a_variable_is_one_value_without_its_last_line_end() -> None:
    assert value(LocalKeychain({"API_TOKEN": "t0ken\n"}), TOKEN) == "t0ken"


def test_a_variable_that_is_no_text_is_refused() -> None:
    with pytest.raises(Unavailable, match="the variable API_TOKEN is not text in UTF-8"):
        value(LocalKeychain({"API_TOKEN": b"\xffx".decode("utf-8", "surrogateescape")}), TOKEN)


@pytest.mark.parametrize(("name", "expected"), [("login.json", {"token": "t"}), ("pass", '{"token": "t"}')])
def test_the_mark_that_some_editors_put_before_a_text_is_no_part_of_it(
    tmp_path: Path, name: str, expected: object
) -> None:
    (tmp_path / name).write_bytes(b'\xef\xbb\xbf{"token": "t"}')
    assert value(LocalKeychain({}, tmp_path.joinpath), file_entry(name)) == expected


@pytest.mark.parametrize("environment", [{}, {"API_TOKEN": ""}])
def test_a_variable_that_is_not_set_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(Unavailable, match="'token' needs the environment variable API_TOKEN, which is not set"):
        value(LocalKeychain(environment), TOKEN)


def test_a_file_is_one_value_without_its_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "pass").write_bytes(b"one\ntwo\r\n")
    assert value(LocalKeychain({}, tmp_path.joinpath), file_entry("pass")) == "one\ntwo"


def test_a_json_file_has_fields(tmp_path: Path) -> None:
    (tmp_path / "login.json").write_text('{"username": "joe", "password": "s3cret"}')
    assert value(LocalKeychain({}, tmp_path.joinpath), file_entry("login.json")) == {
        "username": "joe",
        "password": "s3cret",
    }


def test_a_path_may_be_a_template_and_start_at_home(tmp_path: Path) -> None:
    (tmp_path / "prod").write_text("x")
    assert value(LocalKeychain({"HOME": str(tmp_path)}), file_entry("~/{{ workload.env }}"), env="prod") == "x"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone", None, "needs the file .*gone: No such file"),
        ("{{ workload.nothing }}", None, "the path of keychain entry 'pass' cannot be made"),
        ("big", b"x" * (FILE_BYTES_MAX + 1), "is larger than 1048576 bytes"),
        ("binary", b"\xff", "is not text in UTF-8"),
        ("empty", b"\n", "empty is empty"),
        ("list.json", b"[1]", "must hold one JSON object"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(Unavailable, match=message):
        value(LocalKeychain({}, tmp_path.joinpath), file_entry(name))


def test_a_stored_credential_needs_a_store() -> None:
    with pytest.raises(Unavailable, match="needs a credential store, and this runtime has none; use `env` or `file`"):
        value(LocalKeychain({}), KeychainEntry("db", "postgres_credential"))


def test_all_missing_entries_are_named(tmp_path: Path) -> None:
    entries = [TOKEN, file_entry("gone"), KeychainEntry("db", "static"), KeychainEntry("set", "env", {"var": "SET"})]
    keychain = LocalKeychain({"SET": "yes"}, tmp_path.joinpath)
    assert asyncio.run(keychain.missing(entries, {})) == ["token", "pass", "db"]


@pytest.mark.parametrize(("mode", "is_exposed"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_file_of_ours_that_others_can_read_is_exposed(tmp_path: Path, mode: int, is_exposed: bool) -> None:
    entry = KeychainEntry("db", "file", {"path": "{{ workload.name }}"})
    (tmp_path / "db").write_text("s3cret")
    (tmp_path / "db").chmod(mode)
    found = LocalKeychain({}, tmp_path.joinpath).exposed(entry, {"name": "db"})
    assert found == (tmp_path / "db" if is_exposed else None)


@pytest.mark.parametrize(
    "entry",
    [
        KeychainEntry("db", "env", {"var": "DB"}),
        KeychainEntry("db", "file", {"path": "no-such"}),
        KeychainEntry("db", "file", {"path": "{{ workload.no.such }}"}),
    ],
)
def test_what_is_no_file_is_not_exposed(tmp_path: Path, entry: KeychainEntry) -> None:
    assert LocalKeychain({}, tmp_path.joinpath).exposed(entry, {}) is None


def test_a_file_of_others_is_not_ours_to_change(tmp_path: Path) -> None:
    path = Path("/etc/passwd")
    if os.getuid() == 0:  # who may give files away
        path = tmp_path / "db"
        path.touch(0o644)
        os.chown(path, 12345, -1)
    assert path.stat().st_mode & 0o044
    assert LocalKeychain({}, tmp_path.joinpath).exposed(file_entry(str(path)), {}) is None
