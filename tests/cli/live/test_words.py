import pytest

from noetl.cli.live.words import columns, cut, duration, item_label, moment, padded, retry_reason, short_id, visit
from noetl.engine.output import Output, failed


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1.0, "0 ms"),
        (0.002, "2 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (60.0, "1 min 00 s"),
        (185.0, "3 min 05 s"),
        (3_599.99, "59 min 59 s"),
        (7_800.0, "2 h 10 min"),
        (100_800.0, "1 d 4 h"),
    ],
)
def test_a_duration_is_told_as_people_say_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_a_moment_is_told_as_programs_read_it() -> None:
    assert moment(0.25) == "1970-01-01T00:00:00.250Z"


@pytest.mark.parametrize(
    ("collection", "index", "label"),
    [
        (["/rooms"], 0, "/rooms"),
        ([7, 2.5], 1, "2.5"),
        ([{"id": 3, "name": "Ann"}], 0, "Ann"),
        ([{"name": None, "id": 3}], 0, "3"),
        ([{"other": 1}], 0, ""),
        ([[1, 2]], 0, ""),
        ([1], 1, ""),
        ({"stored": "elsewhere"}, 0, ""),
        (None, 0, ""),
    ],
)
def test_an_item_is_told_by_what_names_it(collection: object, index: int, label: str) -> None:
    assert item_label(collection, index) == label


def test_a_task_that_runs_again_is_numbered() -> None:
    assert visit("fetch#2[17].get_page/1") == "get_page"
    assert visit("fetch#2[17].get_page/7") == "get_page 7"


def test_a_retry_is_told_by_the_status_of_the_response_or_the_kind_of_the_error() -> None:
    assert retry_reason(Output(blocks={"http": {"status": 429}})) == "429"
    assert retry_reason(failed("connect", "refused")) == "connect"
    assert retry_reason(Output()) == ""


def test_the_short_name_of_an_execution_tells_its_millisecond() -> None:
    assert short_id("0193f2c4-5a6b-7000-8000-000000000000") == "0193f2c4-5a6b"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("東京東京", 8, "東京東京"),
        ("東京東京", 7, "東京東…"),
        ("東京東京", 6, "東京…"),
        ("two\nlines\r\tand", 20, "two lines  and"),
        ("\x1b[31mred\x07\u202e", 20, "[31mred"),
        ("e\u0301tude", 5, "e\u0301tude"),
        ("anything", 0, ""),
        ("anything", -3, ""),
        ("x" * 1_000_000, 3, "xx…"),
        ("\x00" * 1_000 + "x", 3, "…"),
    ],
)
def test_a_text_is_cut_to_the_places_that_it_may_take(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert columns(cut(text, width)) <= max(0, width)


def test_a_text_is_padded_by_the_places_that_it_takes() -> None:
    assert padded("東", 4) == "東  "
    assert padded("ab", 4) == "ab  "
