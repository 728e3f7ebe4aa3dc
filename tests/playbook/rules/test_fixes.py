from collections import Counter
from pathlib import Path

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.source.edits import apply_edits
from tests.playbook.rules.golden import pairs

UNREADABLE = {"NOE001", "NOE002"}


def fixable() -> list[Path]:
    return [path for path in pairs() if any(found.fix for found in diagnostics(path.read_bytes()))]


def diagnostics(data: bytes | str) -> tuple[Diagnostic, ...]:
    return compile_playbook(data, "fixed.yaml").diagnostics


def codes(data: bytes | str) -> Counter[str]:
    return Counter(found.code for found in diagnostics(data))


@pytest.mark.parametrize("path", fixable(), ids=lambda path: path.stem)
def test_a_fix_cures_what_it_is_offered_for_and_leaves_a_text_that_can_be_read(path: Path) -> None:
    source = compile_playbook(path.read_bytes(), path.name)
    before = Counter(found.code for found in source.diagnostics)
    for found in source.diagnostics:
        if found.fix:
            applied = apply_edits(source.source.text, found.fix)
            after = codes(applied.text)
            assert applied.refused == ()
            assert after[found.code] < before[found.code], found.message
            assert not UNREADABLE & (after.keys() - before.keys()), found.message
