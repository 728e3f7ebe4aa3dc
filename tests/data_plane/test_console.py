"""What tools print is bounded: for each chunk, for each run and for each worker."""

import time

from noetl.data_plane.console import CHUNK_CHARS_MAX, RUN_CHARS_MAX, TOO_FAST, WAITING_CHARS_MAX, Printed, TaskConsole
from noetl.engine.secrets import texts_of
from noetl.ports import LogChunk


class StillClock:
    def now(self) -> float:
        return 7.0

    def monotonic(self) -> float:
        return 7.0


def console(printed: Printed, *secrets: str) -> TaskConsole:
    return TaskConsole(printed, StillClock(), "x", "run", frozenset(secrets))


def test_chunks_are_numbered_and_say_of_what_they_are() -> None:
    printed = Printed()
    own = console(printed)
    own.write("a\n")
    own.write("b\n", stream="stderr")
    own.write("")
    assert printed.take() == [
        LogChunk("x", "run", 1, 7.0, "stdout", "a\n"),
        LogChunk("x", "run", 2, 7.0, "stderr", "b\n"),
    ]
    assert printed.take() == []


def test_long_text_is_cut_into_chunks() -> None:
    printed = Printed()
    console(printed).write("x" * (2 * CHUNK_CHARS_MAX + 1))
    assert [len(chunk.text) for chunk in printed.take()] == [CHUNK_CHARS_MAX, CHUNK_CHARS_MAX, 1]


def test_a_run_keeps_so_much_and_says_that_there_was_more() -> None:
    printed = Printed()
    own = console(printed)
    for _ in range(RUN_CHARS_MAX // CHUNK_CHARS_MAX + 5):
        own.write("x" * CHUNK_CHARS_MAX)
    own.write("y")
    text = "".join(chunk.text for chunk in printed.take())
    assert text.startswith("x" * RUN_CHARS_MAX)
    assert text.endswith("[the rest is not kept: a task run may print 1048576 characters]\n")


def test_what_is_not_kept_is_not_looked_through_for_secrets() -> None:
    """Half a minute and more where it is."""
    key = "\n".join(f"{number:064x}" for number in range(400))
    own = TaskConsole(Printed(), StillClock(), "x", "run", frozenset(texts_of(key)))
    text = "a line of no interest\n" * (RUN_CHARS_MAX // 20)
    started = time.monotonic()
    for _ in range(400):
        own.write(text)
    own.end()
    assert time.monotonic() - started < 15


def test_a_worker_that_cannot_ship_keeps_no_more_than_it_may_and_says_so() -> None:
    printed = Printed()
    for number in range(2 * WAITING_CHARS_MAX // CHUNK_CHARS_MAX):
        printed.add(LogChunk("x", "run", number, 7.0, "stdout", "x" * CHUNK_CHARS_MAX))
    *chunks, last = printed.take()
    assert last.text == TOO_FAST
    assert WAITING_CHARS_MAX // 2 < sum(len(chunk.text) for chunk in chunks) < WAITING_CHARS_MAX
    assert printed.take() == []


def test_what_one_run_prints_in_a_row_goes_together() -> None:
    printed = Printed()
    one, other = console(printed), TaskConsole(printed, StillClock(), "x", "other", frozenset())
    for text in ("a\n", "b\n"):
        one.write(text)
    one.write("e\n", stream="stderr")
    other.write("c\n", stream="stderr")
    other.write("x" * CHUNK_CHARS_MAX, stream="stderr")
    found = [(chunk.task_run_id, chunk.stream, chunk.text[:4]) for chunk in printed.take()]
    assert found == [
        ("run", "stdout", "a\nb\n"),
        ("run", "stderr", "e\n"),
        ("other", "stderr", "c\n"),
        ("other", "stderr", "xxxx"),
    ]


def test_a_secret_is_masked_even_where_it_is_written_in_two_pieces() -> None:
    printed = Printed()
    own = console(printed, "hunter2")
    own.write("it is hun")
    own.write("ter2!")
    own.end()
    assert "".join(chunk.text for chunk in printed.take()) == "it is ***!"
