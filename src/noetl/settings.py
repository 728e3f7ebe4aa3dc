"""What the environment says. Nothing else reads it."""

from collections.abc import Mapping


def allows_colour(environment: Mapping[str, str]) -> bool:
    """Whether a terminal may be coloured: see https://no-color.org, and some terminals cannot."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def can_move(environment: Mapping[str, str]) -> bool:
    """Whether a terminal can draw over what it shows."""
    return environment.get("TERM", "dumb") != "dumb"
