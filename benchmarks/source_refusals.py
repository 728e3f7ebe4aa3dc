"""How long and how much memory the refusal of hostile YAML takes, each case in a process of its own.

    python benchmarks/source_refusals.py            all cases
    python benchmarks/source_refusals.py --quick    those that cost the most

The bars: 200 ms of processor time and 50 MB for each, interpreter and input not counted. Exit code 1 when one is over.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from noetl.playbook.source.encoding import WIDE_FILE_BYTES_MAX
from noetl.playbook.source.feeding import VALUE_BYTES_MAX
from noetl.playbook.source.read import FILE_BYTES_MAX, read_source
from noetl.playbook.source.resume import TEXT_CHARS_MAX

ELAPSED_MS_MAX = 200.0
GROWN_MB_MAX = 50.0
ROUNDS = 3
"""The best of several processes counts: on a busy machine a single one says little."""


def main() -> int:
    options = _options()
    if options.measure is not None:
        print(*measured(options.measure), sep="\t")
        return 0
    if options.write is not None:
        options.file.write_bytes(CASES[options.write]())
        return 0
    print(f"{'input':34} {'bytes':>12} {'ms':>8} {'+MB':>7}  problem")
    over = [name for name in (QUICK if options.quick else CASES) if not _is_within_bars(name)]
    print(f"over 200 ms or 50 MB: {', '.join(over) or 'none'}")
    return 1 if over else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the cases that cost the most")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("file", type=Path, nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args()


def _is_within_bars(name: str) -> bool:
    # Every process begins with the most memory of the one that started it, so this one never holds the input.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hostile.yaml"
        _child("--write", name, str(file))
        size = file.stat().st_size
        elapsed_ms, grown_mb, found = min(_runs(file))
    print(f"{name:34} {size:12,} {elapsed_ms:8.1f} {grown_mb:7.1f}  {found[:90]}", flush=True)
    return elapsed_ms <= ELAPSED_MS_MAX and grown_mb <= GROWN_MB_MAX


def _runs(file: Path) -> Iterable[tuple[float, float, str]]:
    for _ in range(ROUNDS):
        elapsed_ms, grown_mb, found = _child("--measure", str(file)).rstrip("\n").split("\t")
        yield float(elapsed_ms), float(grown_mb), found
        if float(elapsed_ms) <= ELAPSED_MS_MAX / 2:
            return


def _child(*arguments: str) -> str:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def measured(file: Path) -> tuple[float, float, str]:
    """The most memory so far is also that of the input: a file is read into just what it needs."""
    read_source("warm: up", "warm")
    read_source("warm: [up", "warm")
    data = file.read_bytes()
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    _, problems = read_source(data, "hostile.yaml")
    elapsed_ms = (time.process_time() - started) * 1000
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024
    return elapsed_ms, grown_mb, f"{problems[-1].kind}: {problems[-1].message}" if problems else "none"


def filled(head: str, part: str, tail: str = "", size: int = FILE_BYTES_MAX) -> Callable[[], bytes]:
    """A file just below a size, made when it is needed."""

    def made() -> bytes:
        first, repeated, last = head.encode(), part.encode(), tail.encode()
        return first + repeated * ((size - len(first) - len(last)) // len(repeated)) + last

    return made


def numbered(head: str, part: str, count: int) -> Callable[[], bytes]:
    return lambda: head.encode() + b"".join(part.format(number).encode() for number in range(count))


def laughs() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    return "\n".join(lines).encode()


def deep_aliases() -> bytes:
    nest = "[" * 20
    close = "]" * 20
    return "\n".join(
        [f"a0: &a0 {nest}{close}", *(f"a{n}: &a{n} {nest}*a{n - 1}{close}" for n in range(1, 900))]
    ).encode()


WIDE = WIDE_FILE_BYTES_MAX
PARTS = TEXT_CHARS_MAX
CASES: dict[str, Callable[[], bytes]] = {
    "too large": lambda: b"a: b\n" * (40_000_000 // 5),
    "nul at the end": filled("a: |\n", "  some text in a line\n", "\0"),
    "bad utf-8 at the end": lambda: b"a: " + b"x" * (FILE_BYTES_MAX - 10) + b"\xff",
    "bad utf-8 behind a euro": lambda: b"\xe2\x82\xac: " + b"x" * (FILE_BYTES_MAX - 10) + b"\xff",
    "utf-16, no mark": lambda: ("a: b\n" * 1_000_000).encode("utf-16-le"),
    "no-break spaces": filled("a:\n", "\u00a0\u00a0b: 1\n"),
    "conflict markers": filled("a: 1\n", "<<<<<<< HEAD\n"),
    "broken parts": filled("", "a: @\n", "", PARTS),
    "broken values": filled("", "a: [[x],[x],[x],[x],[x],[x]\n", "", PARTS),
    "broken items": filled("a:\n", "- a: {x: [x,x,x,x,x,x,x],\n", "", PARTS),
    "lines without a key": numbered("", "foo\nb{}: [x,x,x,x,x,x,x]\n", PARTS // 30),
    "broken at the end": filled("a:\n", "- {x: [x,x,x,x,x,x,x]}\n", "b: [", PARTS // 2),
    "utf-16": lambda: ("a: b\n" * 1_000_000).encode("utf-16"),
    "brackets": filled("", "["),
    "braces": filled("", "{"),
    "brackets on lines": filled("a: ", "[\n"),
    "flow in deep blocks": filled("".join("  " * depth + "a:\n" for depth in range(60)) + " " * 200, "["),
    "steps with flow": filled("workflow:\n", "- {step: a, tool: [{name: b, kind: noop}]}\n"),
    "tight steps": filled("workflow:\n", "- {step: a, tool: [{name: b, kind: noop}]}\n", "", 1_500_000),
    "looser steps": filled(
        "workflow:\n", "- {step: abcdef, tool: {kind: noopnoop}, desc: abcdefghi, when: abcdefghi}\n"
    ),
    "dashes": filled("", "- "),
    "question marks": filled("", "? "),
    "question marks on lines": filled("", "?\n"),
    "deep indentation": lambda: "".join(" " * n + "a:\n" for n in range(4_000)).encode(),
    "long plain key": filled("", "a", ": b"),
    "long plain value": filled("a: ", "word "),
    "long quoted value": filled('a: "', "word\n", '"'),
    "long literal": filled("a: |\n", "  x\n"),
    "long folded, blank lines": filled("a: >\n", "\n"),
    "long value, euro": filled("a: ", "word ", "\u20ac"),
    "long value, emoji": filled("a: ", "word \U0001f600"),
    "long value, emoji, small file": filled("a: ", "word ", "\U0001f600", WIDE),
    "long value, all emoji, small file": filled("a: ", "\U0001f600", "", WIDE),
    "long key, emoji, small file": filled("", "word ", "\U0001f600: x", WIDE),
    "long values, emoji, small file": filled("a: \U0001f600\nb:\n", f"- {'word ' * 190_000}\n", "", WIDE),
    "long values, euro": filled("a: \u20ac\nb:\n", f"- {'word ' * 190_000}\n"),
    "lines of values, euro": filled("a: \u20ac\nb:\n", f"- {'word ' * 190}\n"),
    "value just within": lambda: b"a: " + b"word " * (VALUE_BYTES_MAX // 5),
    "value just within, euro": lambda: "a: \u20ac".encode() + b"word " * (VALUE_BYTES_MAX // 5),
    "folded, emoji, small file": filled("a: >\n", "  word\n", "  \U0001f600", WIDE),
    "folded, next lines": filled("a: >\n", "  word\u0085", "  \u20ac"),
    "literal, line separators": filled("a: |\n", "  \u2028"),
    "literal, windows": filled("a: |\r\n", "  x\r\n"),
    "windows lines": filled("", "a: b\r\n"),
    "keys, windows lines": numbered("", "k{}: v\r\n", 800_000),
    "keys, next lines": numbered("", "k{}: v\u0085", 800_000),
    "byte order mark": filled("\ufeff", "- x\n"),
    "escapes": filled('a: "', "\\U0001F600", '"'),
    "escapes in keys": filled("a: {", '"\\x41": 1,'),
    "open quote": filled('a: "', "x\n"),
    "open bracket": filled("a: [", "\n"),
    "flow list": filled("a: [", "x,"),
    "flow pairs": filled("a: [", "x: y,"),
    "block list": filled("a:\n", "- x\n"),
    "flow list, emoji": filled("a: [\U0001f600,", "x,"),
    "anchors": numbered("a:\n", "- &a{} x\n", 700_000),
    "aliases": filled("a: &a x\nb:\n", "- *a\n"),
    "billion laughs": laughs,
    "deep aliases": deep_aliases,
    "cycle": lambda: b"a: &a [x, {b: *a}]",
    "same key": filled("", "a: 1\n"),
    "same key in flow": filled("a: {", "b,"),
    "number keys": numbered("", "{}: 1\n", 700_000),
    "tags": filled("a:\n", "- !t x\n"),
    "templates": filled("a:\n", "- {{ x }}\n"),
    "long tag": filled("a: !", "t", " x"),
    "long anchor": filled("a: &", "b", " x"),
    "long alias": filled("a: *", "b", ""),
    "long directive": filled("%TAG !", "b", "! x\n---\na: 1"),
    "long reserved directive": filled("%", "b", "\n---\na: 1"),
    "tag directives": numbered("", "%TAG !t{}! x\n", 500_000),
    "unknown directives": filled("", "%A\n"),
    "documents": filled("", "---\n"),
    "comments": filled("", "# x\n"),
    "comments, euro": filled("", "# x\n", "# \u20ac"),
    "long comment": filled("a: 1 #", "x"),
    "comments before a key": filled("a: 1\n", "# x\n", "b: 2"),
    "blank lines": filled("", "\n"),
    "carriage returns": filled("", "\r"),
    "spaces": filled("", " "),
    "line of spaces, error": filled("a:", " ", ": :"),
    "tabs": filled("a:\n", "\t"),
    "colons": filled("", ":"),
    "quotes": filled("", "'"),
    "commas": filled("a: [", ","),
}
QUICK = (
    "bad utf-8 behind a euro",
    "long value, euro",
    "long value, emoji, small file",
    "long values, euro",
    "value just within, euro",
    "keys, windows lines",
    "flow pairs",
    "open quote",
    "broken parts",
    "broken at the end",
)


if __name__ == "__main__":
    sys.exit(main())
