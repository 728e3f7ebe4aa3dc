import pytest

from noetl.cli.checking import Tally
from noetl.cli.reports.summary import summary
from noetl.cli.reports.text import plain


@pytest.mark.parametrize(
    ("tally", "text"),
    [
        (Tally(1), "1 file, no problems"),
        (Tally(3, 2, 1, 4), "3 files, 2 errors, 1 warning, 4 notes (show them with --info)"),
        (Tally(1, 0, 2, 0), "1 file, 2 warnings"),
        (Tally(12000, 1, 0, 1), "12,000 files, 1 error, 1 note (show them with --info)"),
    ],
)
def test_the_summary_counts_what_was_found(tally: Tally, text: str) -> None:
    assert summary(tally, plain, shows_infos=False) == text


def test_notes_that_are_shown_need_no_advice() -> None:
    assert summary(Tally(1, 0, 0, 2), plain, shows_infos=True) == "1 file, no problems, 2 notes"
