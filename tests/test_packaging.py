"""What users install is complete, and the lock file covers what pyproject.toml asks for."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/noetl"
LOCK = (ROOT / "requirements-dev.txt").read_text("utf-8")
PINS = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", LOCK, re.MULTILINE))


def wanted() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["dev"]]


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in ZipFile(wheel).namelist() if name.startswith("noetl/")}
    assert packed == {f"noetl/{path.relative_to(PACKAGE).as_posix()}" for path in package_files()}
    assert "noetl/py.typed" in packed


def package_files() -> list[Path]:
    return [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def test_every_dependency_is_locked_at_a_version_it_allows() -> None:
    unmet = [str(need) for need in wanted() if not need.specifier.contains(PINS[canonicalize_name(need.name)])]
    assert unmet == []


def test_the_lock_file_pins_by_hash_and_names_no_index() -> None:
    lines = [line.strip() for line in LOCK.splitlines()]
    settings = [line for line in lines if line.startswith("--") and not line.startswith("--hash=sha256:")]
    assert settings == []
    assert "://" not in LOCK
    assert PINS
