"""Packages that add kinds, put where Python looks for them the way pip does it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/plugin"
TIMEOUT_S = 60

ECHO = """
from noetl.engine.output import Output
from noetl.playbook.kinds import Kind
from noetl.playbook.shape import Field, Text
from noetl.tools.plugin import Plugin

KIND = Kind(
    "echo",
    "What it was called with.",
    fields={"say": Field("say", Text(is_template=True), "Bound."), "raw": Field("raw", Text(), "As it is.")},
    knobs={"loud": Field("loud", Text(), "A knob.")},
    texts=("raw",),
    blocks={"echo": ("length",)},
)

class Echo:
    async def run(self, call, console):
        data = {"fields": dict(call.fields), "spec": dict(call.spec), "key": call.key}
        return Output(data=data, blocks={"echo": {"length": len(call.fields)}})

    async def close(self):
        pass

PLUGIN = Plugin(KIND, lambda parts: Echo())
"""


def install_example(site: Path) -> None:
    """As its page says, into a folder of its own."""
    words = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *words, "--target", str(site), str(EXAMPLE)]
    subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT_S)


def install(site: Path, package: str, entry_point: str, text: str = "") -> None:
    """What an installer writes for a package of one module; `entry_point` is `kind = module:name`."""
    about = site / f"{package.replace('-', '_')}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", "utf-8")
    (about / "entry_points.txt").write_text(f"[noetl.tools]\n{entry_point}\n", "utf-8")
    (site / f"{package.replace('-', '_')}.py").write_text(text, "utf-8")


class Project:
    """A folder with playbooks, and the program with the packages of `site`."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self.site = site

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def noetl(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "NOETL_HOME": str(self.folder / "home")}
        return subprocess.run(
            [sys.executable, "-m", "noetl", *words], cwd=self.folder, env=environment, input=stdin,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
