"""A campaign of spoiled playbooks: whatever the input, the compiler answers, in bounded time and memory.

    python -m tests.playbook.fuzz --count 50000 --seed 1

Input number i of a campaign depends on the seed and i alone. What fails is printed in its smallest form.
"""

import argparse
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

import msgspec
from jsonschema import Draft7Validator

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Diagnostic, Span
from noetl.playbook.fixes import apply_fixes
from noetl.playbook.migrate.migration import migrate
from noetl.playbook.model import decode, encode
from noetl.playbook.rules import RULES
from noetl.playbook.schema import json_schema
from noetl.playbook.source.nodes import Source
from tests.generators.choices import Seeded
from tests.generators.playbooks import playbook
from tests.generators.settings import Features
from tests.generators.writer import to_yaml
from tests.playbook.golden_playbooks import golden_playbooks
from tests.playbook.mutations import spoiled
from tests.playbook.plain_values import plain

CPU_S_MAX = 2.0
"""For one input, all checks together."""

HANG_S = 30.0
MEMORY_MB_MAX = 200
"""By which one input may raise the most memory the process ever used."""

SHRINK_TRIES_MAX = 400
CODES = frozenset(rule.code for rule in RULES)
VALIDATOR = Draft7Validator(json_schema())


class Failure(msgspec.Struct, frozen=True):
    number: int
    complaint: str
    data: bytes


def main() -> int:
    options = _options()
    failures = list(campaign(options.seed, options.count, say=lambda line: print(line, flush=True)))
    for failure in failures:
        print(f"\n--- input {failure.number} of seed {options.seed}: {failure.complaint}\n{failure.data!r}")
    print(f"{options.count:,} inputs of seed {options.seed}: {len(failures)} failures")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000, help="how many inputs")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def campaign(seed: int, count: int, say: Callable[[str], None]) -> Iterator[Failure]:
    """What fails, each kind of failure once, in its smallest form."""
    texts = base_texts(seed)
    seen: set[str] = set()
    for number in range(count):
        data = spoiled(Random(f"{seed}/{number}"), texts)
        complaint = complaint_about(data)
        if complaint is not None and _kind(complaint) not in seen:
            seen.add(_kind(complaint))
            say(f"input {number}: {complaint}")
            yield Failure(number, complaint, shrunk(data, _kind(complaint)))
        if number % 5_000 == 4_999:
            say(f"{number + 1:,} inputs")


def base_texts(seed: int) -> list[str]:
    """Playbooks of all dialects: the golden files, the examples, and generated ones."""
    small = Features(steps_max=3, tasks_max=2, nesting_max=1)
    generated = [to_yaml(playbook(Seeded(seed + n), small), Seeded(seed + n) if n % 2 else None) for n in range(60)]
    return [path.read_bytes().decode("utf-8", "replace") for path in golden_playbooks()] + generated


def complaint_about(data: bytes) -> str | None:
    """What is wrong with how the compiler treats this input, or None."""
    before_mb = _memory_mb()
    started = time.process_time()
    try:
        with _alarm():
            wrong = next(_wrongs(data), None)
    except Exception as error:  # noqa: BLE001 - any exception at all is what the campaign looks for
        return f"{type(error).__name__}: {error} at {_raised_at(error)}"
    took_s, grown_mb = time.process_time() - started, _memory_mb() - before_mb
    if took_s > CPU_S_MAX:
        return f"slow: more than {CPU_S_MAX:g} s"
    if grown_mb > MEMORY_MB_MAX:
        return f"memory: more than {MEMORY_MB_MAX} MB"
    return wrong


def _wrongs(data: bytes) -> Iterator[str]:
    compilation = compile_playbook(data, "fuzz.yaml")
    yield from _wrong_diagnostics(compilation.source, compilation.diagnostics)
    yield from _wrong_model(compilation)
    yield from _wrong_schema(compilation)
    yield from _wrong_fixes(compilation.source.text)
    yield from _wrong_migration(compilation.source.text)


def _wrong_diagnostics(source: Source, diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    spans = [found.span for found in diagnostics]
    if spans != sorted(spans):
        yield "diagnostics: not in the order of the file"
    for found in diagnostics:
        if found.code not in CODES:
            yield f"diagnostics: unknown code {found.code}"
        if not _is_inside(source, found.span):
            yield f"diagnostics: {found.code} stands outside the file"
        if not found.message or "\n" in found.message:
            yield f"diagnostics: {found.code} has no message on one line"
        if any(not 0 <= edit.start <= edit.end <= len(source.text) for edit in found.fix):
            yield f"diagnostics: a fix of {found.code} lies outside the file"


def _is_inside(source: Source, span: Span) -> bool:
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    return (1, 1) <= start <= end and all(_is_place(source, line, column) for line, column in (start, end))


def _is_place(source: Source, line: int, column: int) -> bool:
    count, _ = source.lines.position(len(source.text))
    return 1 <= line <= count and 1 <= column <= len(source.lines.line_text(line)) + 2


def _wrong_model(compilation: Compilation) -> Iterator[str]:
    if compilation.playbook is not None and encode(decode(encode(compilation.playbook))) != encode(
        compilation.playbook
    ):
        yield "model: storing it changes it"


def _wrong_schema(compilation: Compilation) -> Iterator[str]:
    root = compilation.source.root
    if root is None or compilation.document is None:
        return
    error = next(VALIDATOR.iter_errors(plain(root)), None)
    if error is not None and compilation.playbook is not None:
        yield f"schema: refuses {'/'.join(str(part) for part in error.absolute_path)}, which compiles"


def _wrong_fixes(text: str) -> Iterator[str]:
    fixed = apply_fixes(text)
    again = compile_playbook(fixed.text, "fixed.yaml")
    yield from _wrong_diagnostics(again.source, again.diagnostics)
    if apply_fixes(fixed.text).text != fixed.text:
        yield "fixes: a second round changes the text again"


def _wrong_migration(text: str) -> Iterator[str]:
    once = migrate(text)
    if migrate(once.text).text != once.text:
        yield "migration: a second one changes the text again"


def shrunk(data: bytes, kind: str) -> bytes:
    """A smaller input of which the same is said: lines are taken out, then characters."""
    tries = SHRINK_TRIES_MAX
    for parts in (data.splitlines(keepends=True), None):
        pieces = parts if parts is not None else [data[index : index + 1] for index in range(len(data))]
        size = len(pieces)
        while size > 1 and tries > 0:
            size = (size + 1) // 2
            start = 0
            while start < len(pieces) and tries > 0:
                tries -= 1
                rest = pieces[:start] + pieces[start + size :]
                if _kind(complaint_about(b"".join(rest)) or "") == kind:
                    pieces = rest
                else:
                    start += size
        data = b"".join(pieces)
    return data


def _kind(complaint: str) -> str:
    """Complaints of one kind have one cause: where an exception was raised, not what it says."""
    return complaint.rpartition(" at ")[2] if " at " in complaint else complaint.split(",", maxsplit=1)[0]


def _raised_at(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _alarm() -> Iterator[None]:
    """Ends what would never end by itself."""
    previous = signal.signal(signal.SIGVTALRM, _hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _hang(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer within {HANG_S:g} s")


if __name__ == "__main__":
    sys.exit(main())
