"""Nothing that was acknowledged is lost when a writer is killed. The long form: `python -m tests.storage.kills`."""

from pathlib import Path

from tests.storage.kills import kill_often


def test_nothing_acknowledged_is_lost_when_writers_are_killed_in_the_middle_of_commits(tmp_path: Path) -> None:
    heard, wrong = kill_often(tmp_path / "noetl.db", 4, seed=1)
    assert wrong == []
    assert heard.events
    assert heard.epochs
