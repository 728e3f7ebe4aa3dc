from pathlib import Path

import pytest

from noetl.playbook.rules import RULES
from tests.playbook.rules.golden import pairs, report


@pytest.mark.parametrize("path", pairs(), ids=lambda path: path.stem)
def test_the_linter_says_exactly_what_the_golden_file_holds(path: Path) -> None:
    assert report(path) == path.with_suffix(".out").read_text(encoding="utf-8")


TOO_LARGE_TO_KEEP = {"NOE008"}


@pytest.mark.parametrize("code", sorted({rule.code for rule in RULES} - TOO_LARGE_TO_KEEP))
def test_a_rule_has_a_pair_that_hits_and_one_that_does_not(code: str) -> None:
    spoken = [
        f"[{code}]" in path.with_suffix(".out").read_text(encoding="utf-8")
        for path in pairs()
        if path.stem.startswith(code)
    ]
    assert True in spoken
    assert False in spoken
