"""How long the program takes to start, beside what Python itself takes for the imports of a program of its kind.

    python benchmarks/startup.py            many runs
    python benchmarks/startup.py --quick    a few; for every check

The bars: `noetl --help` takes at most 1.5 times `import argparse, json`, and `noetl validate` of a small file at most
twice `import yaml, jinja2`. Runs are interleaved, so that a busy machine slows down both sides. Both sides read
bytecode that was written before, as a user's installation does.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

RUNS, RUNS_QUICK, RUNS_WARM = 60, 15, 3
PROGRAM = str(Path(sys.executable).parent / "noetl")
NEEDED = ("noetl", "yaml", "jinja2")

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: small, path: small }
workload: { url: https://api.example.com/rows }
workflow:
  - step: fetch
    tool:
      - name: get
        kind: http
        input: { url: "{{ workload.url }}" }
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' and output.error.retryable }}"
                then: { do: retry, attempts: 3 }
              - when: "{{ output.status == 'error' }}"
                then: { do: fail }
              - else: { then: { do: continue } }
    set: { ctx.rows: "{{ output.data }}" }
    next:
      arcs:
        - { step: count, when: "{{ event.name == 'step.done' }}" }
        - { step: failed, when: "{{ event.name == 'step.failed' }}" }
  - step: count
    tool:
      - { name: count, kind: python, input: { rows: "{{ ctx.rows }}" }, code: result = len(rows) }
  - step: failed
    tool:
      - { name: say, kind: python, code: result = None }
"""


def main(words: list[str]) -> int:
    runs = RUNS_QUICK if words == ["--quick"] else RUNS
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"{sys.executable} has no {' and no '.join(missing)}; run: scripts/check quick", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.yaml"
        path.write_text(PLAYBOOK, encoding="utf-8")
        environment = with_bytecode(Path(folder) / "bytecode")
        return report(
            compare([PROGRAM, "--help"], "import argparse, json", environment, runs),
            compare([PROGRAM, "validate", str(path)], "import yaml, jinja2", environment, runs),
        )


def with_bytecode(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


def compare(command: list[str], imports: str, environment: dict[str, str], runs: int) -> tuple[float, float]:
    """The median milliseconds of the command, and of a Python that only imports."""
    python = [sys.executable, "-c", imports]

    def both() -> tuple[float, float]:
        return elapsed_ms(command, environment), elapsed_ms(python, environment)

    for _ in range(RUNS_WARM):
        both()
    pairs = [both() for _ in range(runs)]
    return median(ours for ours, _ in pairs), median(theirs for _, theirs in pairs)


def elapsed_ms(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def report(help_ms: tuple[float, float], validate_ms: tuple[float, float]) -> int:
    print(f"{'command':24} {'ms':>8}   {'beside':24} {'ms':>8} {'ratio':>7} {'bar':>5}")
    met = [
        row("noetl --help", "import argparse, json", help_ms, 1.5),
        row("noetl validate", "import yaml, jinja2", validate_ms, 2.0),
    ]
    return 0 if all(met) else 1


def row(command: str, beside: str, times_ms: tuple[float, float], bar: float) -> bool:
    ours, theirs = times_ms
    ratio = ours / theirs
    verdict = "" if ratio <= bar else "   too slow"
    print(f"{command:24} {ours:8.1f}   {beside:24} {theirs:8.1f} {ratio:7.2f} {bar:5.1f}{verdict}")
    return ratio <= bar


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
