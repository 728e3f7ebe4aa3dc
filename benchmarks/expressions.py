"""Evaluations a second of typical guards and bindings: ours against `compile_expression` of Jinja2's sandbox.

    python benchmarks/expressions.py            the mix, one line an expression, then the ratio of the whole
    python benchmarks/expressions.py --quick    the same in a few seconds
    python benchmarks/expressions.py --all      also minijinja with fuel, and import, parse and first-use times

Both sides run in turns in one process, timed in CPU time, and must give the same values. Exit code 1 when the ratio
is under the bar.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import gettempdir
from time import process_time

import minijinja
from jinja2 import Environment
from jinja2.sandbox import SandboxedEnvironment

from noetl.expressions.template import Template, parse

RATIO_MIN = 5.0

GUARDS = (
    "output.status == 'error' and output.error.retryable and _attempt < 3",
    "output.status == 'ok'",
    "output.http.status in [429, 500, 502, 503]",
    "output.http.status >= 500",
    "output.data.paging.hasMore",
    "not output.data.paging.hasMore",
    "event.name == 'step.done' and ctx.count > workload.limit",
    "output.data.rows | length > 0",
    "output.error is none or output.error.kind != 'timeout'",
    "ctx.page is defined and ctx.page < 10",
)
BINDINGS = (
    "ctx.page + 1",
    "output.data.rows",
    "workload.base_url ~ '/v1/users/' ~ input.user_id",
    "output.data.rows | map(attribute='id') | list",
    "output.data.rows | selectattr('active') | list | length",
    "workload.region | upper",
    "ctx.total + output.data.rows | length",
    "output.data.cursor | default('')",
    "{'id': input.user_id, 'page': ctx.page, 'tags': ['a', workload.region]}",
    "workload.names | join(', ')",
    "output.data.rows[0].name if output.data.rows else none",
)
SCOPE: Mapping[str, object] = {
    "workload": {"limit": 5, "base_url": "https://api.test", "region": "eu", "names": ["ann", "bob", "cid"]},
    "ctx": {"page": 2, "count": 7, "total": 40},
    "input": {"user_id": 17},
    "event": {"name": "step.done"},
    "_attempt": 1,
    "output": {
        "status": "error",
        "error": {"kind": "http_status", "retryable": True},
        "http": {"status": 503},
        "data": {
            "rows": [{"id": number, "name": f"n{number}", "active": number % 2 == 0} for number in range(10)],
            "paging": {"hasMore": True},
        },
    },
}


def per_second(call: Callable[[], object], seconds: float) -> float:
    count = 1
    while (elapsed := _time(call, count)) < seconds / 5:
        count *= 4
    return count / elapsed


def _time(call: Callable[[], object], count: int) -> float:
    begin = process_time()
    for _ in range(count):
        call()
    return process_time() - begin


def compare(expression: str, *, is_guard: bool, seconds: float) -> tuple[float, float]:
    """Evaluations a second, ours and theirs: the best of rounds that take turns."""
    template = parse("{{ " + expression + " }}")
    theirs = SandboxedEnvironment().compile_expression(expression)
    use = template.test if is_guard else template.evaluate
    expected = theirs(SCOPE)
    found = use(SCOPE)
    if found != (bool(expected) if is_guard else expected):
        raise SystemExit(f"{expression}: ours {found!r}, jinja2 {expected!r}")
    rounds = [
        (per_second(lambda: use(SCOPE), seconds / 3), per_second(lambda: theirs(SCOPE), seconds / 3)) for _ in range(5)
    ]
    return max(ours for ours, _ in rounds), max(other for _, other in rounds)


def run(seconds: float) -> float:
    """Prints a line for each expression and gives the ratio of the time the whole mix takes."""
    ours_s = theirs_s = 0.0
    for expression in (*GUARDS, *BINDINGS):
        ours, theirs = compare(expression, is_guard=expression in GUARDS, seconds=seconds)
        ours_s, theirs_s = ours_s + 1 / ours, theirs_s + 1 / theirs
        print(f"{ours / theirs:6.1f}x  {ours:11,.0f}/s  {theirs:9,.0f}/s  {expression}")
    print(f"ours {ours_s * 1e6:.1f} us, jinja2.sandbox {theirs_s * 1e6:.1f} us for the mix")
    return theirs_s / ours_s


def others(seconds: float) -> None:
    """The rest of the figures behind docs/adr/0001-expressions.md."""
    fuelled, parser, sandbox = minijinja.Environment(fuel=1_000_000), Environment(), SandboxedEnvironment()

    def evaluate(expression: str) -> Callable[[], object]:
        return lambda: fuelled.eval_expr(expression, **SCOPE)

    mix_s = sum(1 / per_second(evaluate(expression), seconds) for expression in GUARDS + BINDINGS)
    print(f"minijinja, fuel       {mix_s * 1e6:8.1f} us for the mix, parsed each time: it keeps no expression")
    guard = GUARDS[0]
    template = "{{ " + guard + " }}"
    steps: dict[str, Callable[[], object]] = {
        "ours, parse": lambda: Template(template),
        "ours, names": lambda: Template(template).names,
        "ours, first use": lambda: Template(template).test(SCOPE),
        "jinja2, parse": lambda: parser.parse(template),
        "jinja2, compile": lambda: sandbox.compile_expression(guard),
        "minijinja, evaluate": evaluate(guard),
    }
    for name, call in steps.items():
        print(f"{name:20}  {1e6 / per_second(call, seconds):8.1f} us for a typical guard")
    for module in ("noetl.expressions.template", "jinja2", "jinja2.sandbox", "minijinja", "msgspec"):
        print(f"import {module:27} {min(_import_s(module) for _ in range(15)) * 1000:6.1f} ms")


def _import_s(module: str) -> float:
    """A fresh interpreter with compiled modules, as an installed package has them."""
    program = f"from time import process_time as t; a = t(); import {module}; print(t() - a)"
    environment = {"PYTHONPYCACHEPREFIX": str(Path(gettempdir()) / "noetl-benchmark")}
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--all", action="store_true")
    chosen = options.parse_args()
    seconds = 0.1 if chosen.quick else 1.0
    ratio = run(seconds)
    if chosen.all:
        others(seconds)
    print(f"the mix: {ratio:.1f} times jinja2.sandbox (at least {RATIO_MIN})")
    return 0 if ratio >= RATIO_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
