"""How long and how much memory the refusal of hostile YAML takes, each case in a process of its own.

    python benchmarks/source_refusals.py

The aim: 200 ms of processor time and 50 MB for each, interpreter and input not counted.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

from noetl.playbook.source.read import FILE_BYTES_MAX, read_source

SIZE = FILE_BYTES_MAX


def main() -> None:
    if len(sys.argv) > 1:
        print(measured(sys.argv[1]))
        return
    print(f"{'input':30} {'bytes':>12} {'ms':>8} {'+MB':>7}  problem")
    for name in CASES:
        print(
            subprocess.run([sys.executable, __file__, name], check=True, text=True, stdout=subprocess.PIPE).stdout,
            end="",
        )


def measured(name: str) -> str:
    read_source("warm: up", "warm")
    read_source("warm: [up", "warm")
    data = CASES[name]()
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    _, problems = read_source(data, name)
    elapsed_ms = (time.process_time() - started) * 1000
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024
    found = f"{problems[-1].kind}: {problems[-1].message}" if problems else "none"
    return f"{name:30} {len(data):12,} {elapsed_ms:8.1f} {grown_mb:7.1f}  {found[:90]}"


def filled(head: str, part: str, tail: str = "") -> Callable[[], bytes]:
    """A file just below the size limit, made when it is needed."""

    def made() -> bytes:
        first, repeated, last = head.encode(), part.encode(), tail.encode()
        return first + repeated * ((SIZE - len(first) - len(last)) // len(repeated)) + last

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


CASES: dict[str, Callable[[], bytes]] = {
    "too large": lambda: b"a: b\n" * (40_000_000 // 5),
    "nul at the end": filled("a: |\n", "  some text in a line\n", "\0"),
    "bad utf-8 at the end": lambda: b"a: " + b"x" * (SIZE - 10) + b"\xff",
    "utf-16": lambda: ("a: b\n" * 1_000_000).encode("utf-16"),
    "brackets": filled("", "["),
    "braces": filled("", "{"),
    "brackets on lines": filled("a: ", "[\n"),
    "dashes": filled("", "- "),
    "question marks": filled("", "? "),
    "question marks on lines": filled("", "?\n"),
    "deep indentation": lambda: "".join(" " * n + "a:\n" for n in range(4_000)).encode(),
    "long plain key": filled("", "a", ": b"),
    "long plain value": filled("a: ", "word "),
    "long quoted value": filled('a: "', "word\n", '"'),
    "long literal": filled("a: |\n", "  x\n"),
    "long folded, blank lines": filled("a: >\n", "\n"),
    "long value, emoji": filled("a: ", "word \U0001f600"),
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
    "tag directives": numbered("", "%TAG !t{}! x\n", 500_000),
    "unknown directives": filled("", "%A\n"),
    "documents": filled("", "---\n"),
    "comments": filled("", "# x\n"),
    "blank lines": filled("", "\n"),
    "carriage returns": filled("", "\r"),
    "spaces": filled("", " "),
    "line of spaces, error": filled("a:", " ", ": :"),
    "tabs": filled("a:\n", "\t"),
    "colons": filled("", ":"),
    "quotes": filled("", "'"),
    "commas": filled("a: [", ","),
}


if __name__ == "__main__":
    main()
