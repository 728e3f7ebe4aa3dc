"""The limits of one request, from the task's layered spec."""

from collections.abc import Mapping

import msgspec

CONNECT_S = 10.0
READ_S = 60.0
TOTAL_S = 300.0
REDIRECTS_MAX = 10

HELD_BYTES_MAX = 100 * 1024 * 1024
"""The largest answer that is held in memory, since it becomes data."""

STORED_BYTES_MAX = 10 * 1024 * 1024 * 1024
"""The largest answer that goes to the result store as it comes."""


class Knobs(msgspec.Struct, frozen=True):
    """`response_bytes_max` is None where the author leaves it open; `redirects_max` where none are followed."""

    connect_s: float = CONNECT_S
    read_s: float = READ_S
    total_s: float = TOTAL_S
    redirects_max: int | None = REDIRECTS_MAX
    verify_tls: bool = True
    ca_file: str | None = None
    response_bytes_max: int | None = None

    def bytes_max(self, *, is_stored: bool) -> int:
        return self.response_bytes_max or (STORED_BYTES_MAX if is_stored else HELD_BYTES_MAX)


def knobs_of(spec: Mapping[str, object]) -> Knobs:
    connect_s, read_s, total_s = _times(spec.get("timeout"))
    follows = spec.get("follow_redirects") is not False
    ca_file = spec.get("ca_file")
    return Knobs(
        connect_s,
        read_s,
        total_s,
        redirects_max=_whole(spec.get("redirects_max"), REDIRECTS_MAX) if follows else None,
        verify_tls=spec.get("verify_tls") is not False,
        ca_file=ca_file if isinstance(ca_file, str) else None,
        response_bytes_max=_whole(spec.get("response_bytes_max"), None),
    )


def _times(timeout: object) -> tuple[float, float, float]:
    if isinstance(timeout, int | float):
        return min(CONNECT_S, timeout), timeout, timeout
    times = timeout if isinstance(timeout, Mapping) else {}
    connect_s, read_s = _seconds(times, "connect", CONNECT_S), _seconds(times, "read", READ_S)
    return connect_s, read_s, _seconds(times, "total", max(TOTAL_S, connect_s + read_s))


def _seconds(times: Mapping[str, object], name: str, default: float) -> float:
    found = times.get(name)
    return float(found) if isinstance(found, int | float) else default


def _whole(value: object, default: int | None) -> int | None:
    return value if isinstance(value, int) else default
