"""The drawings of the samples as files. `python -m tests.playbook.drawing.golden` writes them anew."""

from collections.abc import Callable, Mapping
from pathlib import Path

from noetl.playbook.drawing import dot, mermaid, svg
from noetl.playbook.model import Playbook
from tests.playbook.drawing.samples import SAMPLES

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "graph"
DRAWINGS: Mapping[str, Callable[[Playbook], str]] = {"svg": svg, "mmd": mermaid, "dot": dot}


def path_of(sample: str, suffix: str) -> Path:
    return FOLDER / f"{sample}.{suffix}"


def write_all() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for sample, playbook in SAMPLES.items():
        for suffix, draw in DRAWINGS.items():
            path_of(sample, suffix).write_text(draw(playbook), encoding="utf-8")


if __name__ == "__main__":
    write_all()
