import pytest

from noetl.settings import allows_colour


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({}, True),
        ({"TERM": "xterm"}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_the_environment_may_forbid_colour(environment: dict[str, str], allowed: bool) -> None:
    assert allows_colour(environment) is allowed
