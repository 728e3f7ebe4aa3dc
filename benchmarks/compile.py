"""How long compiling takes: against PyYAML's C loader on the same text, and how it grows with the playbook.

    python benchmarks/compile.py            1,000 steps against the loader; 1,000 against 10,000 steps
    python benchmarks/compile.py --quick    the same with smaller playbooks
    python benchmarks/compile.py --profile  where the time goes

Both ratios are taken in one run from the best of several interleaved rounds. Exit code 1 when one is over its bar.
"""

import argparse
import cProfile
import gc
import pstats
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count

import yaml

from noetl.playbook.compile import Compilation, compile_playbook

LOADER_RATIO_MAX = 10.0
GROWTH_MAX = 12.0
"""For ten times the steps."""

HEAD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: benchmark
  path: benchmarks/compile
workload:
  api: http://api.test
  limit: 100
  regions: [eu, us, ap]
workflow:
"""

STEP = """\
- step: fetch_{this}
  desc: Fetch page {number} and keep what matters
  input:
    page: "{{{{ ctx.page_{this} | default({number}) }}}}"
    region: "{{{{ workload.regions[{number} % 3] }}}}"
  tool:
  - name: get_page
    kind: http
    input:
      url: "{{{{ workload.api }}}}/pages/{{{{ input.page }}}}"
      params:
        limit: "{{{{ workload.limit }}}}"
        region: "{{{{ input.region }}}}"
    spec:
      timeout: 30
      policy:
        rules:
        - when: "{{{{ output.status == 'error' and output.http.status in [429, 503] }}}}"
          then: {{do: retry, attempts: 5, backoff: exponential, delay: 2}}
        - when: "{{{{ output.status == 'error' }}}}"
          then: {{do: fail}}
        - else:
            then: {{do: continue, set: {{ctx.rows_{this}: "{{{{ output.data.rows | length }}}}"}}}}
  set:
    ctx.page_{this}: "{{{{ input.page + 1 }}}}"
  next:
    arcs:
    - step: fetch_{next}
      when: "{{{{ event.name == 'step.done' and ctx.rows_{this} > 0 }}}}"
    - step: failed
      when: "{{{{ event.name == 'step.failed' }}}}"
"""

TAIL = """\
- step: fetch_{last}
  tool: {{kind: noop}}
- step: failed
  tool: {{kind: noop}}
"""


def main() -> int:
    options = _options()
    small, large, rounds = (1_000, 4_000, 4) if options.quick else (1_000, 10_000, 5)
    if options.profile:
        _profile(playbook(small))
        return 0
    loader = _loader_ratio(small, rounds)
    growth = _growth(small, large, rounds)
    growth_max = GROWTH_MAX / 10 * large / small
    _say(f"compiling {small:,} steps, in units of the C loader's time", loader, LOADER_RATIO_MAX)
    _say(f"compiling {large:,} steps, in units of {small:,} steps", growth, growth_max)
    return 0 if loader <= LOADER_RATIO_MAX and growth <= growth_max else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller playbooks and fewer rounds")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    return parser.parse_args()


def playbook(steps: int, series: int = 0) -> str:
    """A text of that many steps, each of about 30 lines and no two alike; nor are the steps of two series."""
    names = [f"{series}_{number}" for number in range(steps + 1)]
    written = (STEP.format(number=number, this=names[number], next=names[number + 1]) for number in range(steps))
    return HEAD + "".join(written) + TAIL.format(last=names[-1])


def _loader_ratio(steps: int, rounds: int) -> float:
    load_s, compile_s = _best([(_load, steps), (_compile, steps)], rounds)
    print(f"C loader {load_s * 1000:8.1f} ms   compile {compile_s * 1000:8.1f} ms")
    return compile_s / load_s


def _growth(small: int, large: int, rounds: int) -> float:
    small_s, large_s = _best([(_compile, small), (_compile, large)], rounds)
    print(f"small    {small_s * 1000:8.1f} ms   large   {large_s * 1000:8.1f} ms")
    return large_s / small_s


def _best(runs: Sequence[tuple[Callable[[str], object], int]], rounds: int) -> list[float]:
    """The best time of each, measured in turns so that a slow moment of the machine hits all of them.

    No text comes twice, since the compiler remembers templates. What a run gives is let go of only after the clock
    has stopped.
    """
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for index, (run, steps) in enumerate(runs):
            text = playbook(steps, next(_SERIES))
            gc.collect()
            started = time.process_time()
            kept = run(text)
            best[index] = min(best[index], time.process_time() - started)
            del kept
    return best


_SERIES = count()


def _load(text: str) -> object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _compile(text: str) -> Compilation:
    compilation = compile_playbook(text, "benchmark.yaml")
    assert compilation.playbook is not None, compilation.diagnostics[:3]
    return compilation


def _say(what: str, ratio: float, bar: float) -> None:
    print(f"{what}: {ratio:.2f} (bar {bar:g}) {'ok' if ratio <= bar else 'OVER THE BAR'}")


def _profile(text: str) -> None:
    with cProfile.Profile() as profile:
        _compile(text)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    sys.exit(main())
