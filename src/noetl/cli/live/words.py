"""Times as people say them."""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def duration(seconds: float) -> str:
    """`2 ms`, `4.1 s`, `3 min 05 s`, `2 h 10 min`, `1 d 4 h`."""
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def moment(at: float) -> str:
    """A time as programs read it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
