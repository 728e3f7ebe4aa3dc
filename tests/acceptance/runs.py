"""Runs of `noetl run` that are killed again and again, and resumed until their end.

python -m tests.acceptance.runs --count 100 [--iterations 300] [--seed N]
"""

import argparse
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

NOETL = Path(sys.executable).parent / "noetl"
PATIENCE_S = 120.0
RESUMES_MAX = 400
LIFE_S = 1.0
"""About half as long as a run takes that nobody kills."""

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {{ name: killed, path: killed }}
workflow:
  - step: work
    loop:
      in: "{{{{ range({count}) | list }}}}"
      iterator: i
      spec: {{ mode: parallel, max_in_flight: 8 }}
    tool:
      - name: note
        kind: script
        script: |
          echo "$i" >> ledger.txt
        input: {{ i: "{{{{ iter.i }}}}" }}
"""


class Recorded(msgspec.Struct, frozen=True):
    """What is looked at of an event."""

    seq: int
    name: str
    iteration_id: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    kills: int
    calls: int
    wrong: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    kills = 0
    for number in range(options.count):
        with TemporaryDirectory() as folder:
            verdict = killed_run(Path(folder), options.iterations, chance)
        kills += verdict.kills
        if verdict.wrong:
            print(f"run {number}:", *verdict.wrong, sep="\n")
            return 1
    print(
        f"{options.count} runs, {kills} kills: no iteration lost, none recorded twice, no recorded completion run again"
    )
    return 0


def killed_run(folder: Path, iterations: int, chance: random.Random, life_s: float = LIFE_S) -> Verdict:
    """One run, killed at random moments and resumed until it ends. It lives a little longer each time."""
    (folder / "killed.yaml").write_text(PLAYBOOK.format(count=iterations), "utf-8")
    words = ["run", "killed.yaml", "-q"]
    kills = 0
    while not _ended(folder, words, life_s * (chance.random() + kills / 10)):
        kills += 1
        assert kills < RESUMES_MAX, "the run does not come to its end"
        if _events(folder):
            words = ["run", "--resume", "@latest", "-q"]
    return Verdict(kills, len(_called(folder)), tuple(_wrong(folder, iterations)))


def _ended(folder: Path, words: list[str], life_s: float) -> bool:
    """Whether the program came to its end before it was killed."""
    before = _recorded(folder)
    calls_before = len(_called(folder))
    process = subprocess.Popen(
        [NOETL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    timer = threading.Timer(life_s, process.kill)
    timer.start()
    _, errors = process.communicate(timeout=PATIENCE_S + life_s)
    timer.cancel()
    again = before.intersection(_called(folder)[calls_before:])
    assert not again, f"recorded completions were run again: {sorted(again)[:3]}"
    assert process.returncode in (0, -9), errors
    return process.returncode == 0


def _called(folder: Path) -> list[int]:
    """The iterations whose tool was called, as the outside world saw it."""
    ledger = folder / "ledger.txt"
    return [int(line) for line in ledger.read_text("utf-8").split()] if ledger.exists() else []


def _recorded(folder: Path) -> set[int]:
    """The iterations whose task has its end in the log."""
    return {_index(event) for event in _events(folder) if event.name == "task.done"}


def _index(event: Recorded) -> int:
    found = re.search(r"\[(\d+)\]", event.iteration_id or "")
    assert found is not None, event
    return int(found.group(1))


def _events(folder: Path) -> list[Recorded]:
    if not (folder / ".noetl/noetl.db").exists():
        return []
    ran = subprocess.run(
        [NOETL, "events", "@latest", "-o", "jsonl"], cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False
    )
    return [msgspec.json.decode(line, type=Recorded) for line in ran.stdout.splitlines()]


def _wrong(folder: Path, iterations: int) -> list[str]:
    events = _events(folder)
    done = Counter(event.iteration_id for event in events if event.name == "loop.iteration.done")
    numbers = [event.seq for event in events]
    called = set(_called(folder))
    wrong = [f"{name} is recorded {count} times" for name, count in done.items() if count != 1]
    if len(done) != iterations:
        wrong.append(f"{len(done)} iterations are recorded, expected {iterations}")
    if called != set(range(iterations)):
        wrong.append(f"{iterations - len(called)} iterations were never called")
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append("the log has gaps")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
